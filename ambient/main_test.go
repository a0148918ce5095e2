package ambient

import (
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when tests begin.
var noon = time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)

// clock is time that only a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// testStore opens a store whose clock stands at noon.
func testStore(t testing.TB, edit func(*Config)) (*Store, *clock) {
	t.Helper()
	now := &clock{at: noon}
	cfg := Config{Path: filepath.Join(t.TempDir(), "ambient.db"), Clock: now.now, People: People{
		Min: 2, Max: 5, Tokens: 400, StaleAfter: time.Hour, Interval: 5 * time.Minute, PerPass: 10, Words: 100,
	}}
	if edit != nil {
		edit(&cfg)
	}
	s, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, now
}

// place is the scope of a request of agent "atlas".
func place(t testing.TB, user, channel string, private bool) Scope {
	t.Helper()
	scope, err := NewScope("default", "atlas", user, channel, private)
	if err != nil {
		t.Fatal(err)
	}
	return scope
}

// around asks for the surroundings of a placed request.
func around(t testing.TB, s *Store, scope Scope, m Moment) View {
	t.Helper()
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Placed = true
	if m.At.IsZero() {
		m.At = s.cfg.Clock()
	}
	v, err := s.Surroundings(t.Context(), scope, m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
