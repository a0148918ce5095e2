package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

// tape is a journal in RAM.
type tape struct{ records [][]byte }

func (t *tape) Append(record []byte) { t.records = append(t.records, slices.Clone(record)) }

// restart is a router as it is after a restart.
func (t *tape) restart(tb testing.TB, change func(*Config)) *Router {
	tb.Helper()
	r := newTestRouter(tb, change)
	for _, record := range t.records {
		if err := r.Restore(record); err != nil {
			tb.Fatal(err)
		}
	}
	r.Keep(t)
	return r
}

// A router that is restarted again and again decides as one that runs on.
func TestSessionsOutliveARestart(t *testing.T) {
	forSequences(func(seed uint64, requests []Request) {
		clock := &fakeClock{now: time.Unix(1_800_000_000, 0)}
		change := func(c *Config) { c.Clock = clock.Now }
		journal := &tape{}
		r, steady := journal.restart(t, change), newTestRouter(t, change)
		for i, req := range requests {
			switch (i + int(seed)) % 7 {
			case 3:
				r = journal.restart(t, change)
			case 5: // the journal is rewritten
				fresh := &tape{}
				for record := range r.Snapshot() {
					fresh.Append(record)
				}
				journal.records = fresh.records
			}
			clock.advance(time.Duration(i*i) * time.Second)
			d, err := r.Decide(req)
			want, wantErr := steady.Decide(req)
			if diff := cmp.Diff(outcomeOf(want), outcomeOf(d)); diff != "" || (err == nil) != (wantErr == nil) {
				t.Fatalf("seed %d, request %d (-steady +restarted): %s", seed, i, diff)
			}
			if diff := cmp.Diff(want.Economy, d.Economy); diff != "" {
				t.Fatalf("seed %d, request %d: the reckoning (-steady +restarted): %s", seed, i, diff)
			}
			usage := ledger.Usage{Input: int64(req.InputTokens), Cached: int64(req.InputTokens / 2), Output: 100}
			for _, router := range []*Router{r, steady} {
				router.Served(&req, d.Model, usage, 0)
			}
		}
	})
}

func TestRestoreLeavesOut(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	journal := &tape{}
	r := journal.restart(t, func(c *Config) { c.Clock = clock.Now })
	for _, session := range []string{"a", "b", "c"} {
		req := request("auto", heavy)
		req.Session = session
		decide(t, r, req)
		clock.advance(10 * time.Minute)
	}
	clock.advance(5 * time.Minute)
	tests := []struct {
		name   string
		change func(*Config)
		want   int
	}{
		{"all are within the idle time", func(c *Config) { c.Session.Idle = time.Hour }, 3},
		{"two are", nil, 2},
		{"there is room for one", func(c *Config) { c.Session.Max = 1 }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			again := (&tape{slices.Clone(journal.records)}).restart(t, func(c *Config) {
				c.Clock = clock.Now
				if tt.change != nil {
					tt.change(c)
				}
			})
			if n := again.Sessions(); n != tt.want {
				t.Errorf("%d sessions restored, want %d", n, tt.want)
			}
			req := request("auto", light)
			req.Session, req.Turn = "c", "2"
			if d := decide(t, again, req); d.Reason != reasonHeld {
				t.Errorf("the newest conversation's next turn: %s, want held", d.Reason)
			}
		})
	}
}

// A session's record is bounded, however long the names are that a client makes
// up: it is what a session takes in RAM, less a constant.
func TestRecordsAreBounded(t *testing.T) {
	journal := &tape{}
	r := journal.restart(t, nil)
	for i := range 50 {
		req := request("auto", scoring.Light+scoring.Tier(i%3))
		req.Session, req.Turn = strings.Repeat("k", 32), fmt.Sprintf("%032d", i)
		if req.Model = "auto"; i%2 == 1 {
			req.Model = strings.Repeat("x", 100_000)
		}
		if d, err := r.Decide(req); err == nil {
			r.Served(&req, d.Model, ledger.Usage{Input: 1 << 40, Output: 1 << 40}, 0)
		}
	}
	for _, record := range journal.records {
		if len(record) > 512 {
			t.Fatalf("a record takes %d bytes", len(record))
		}
	}
	if s, _ := r.sessions.look(strings.Repeat("k", 32)); len(s.named) > maxName {
		t.Errorf("a name of %d bytes is kept", len(s.named))
	}
}

// What can't be a record is refused, and leaves a router that works.
func FuzzRestore(f *testing.F) {
	journal := &tape{}
	r := journal.restart(f, nil)
	decide(f, r, request("auto", heavy))
	for _, record := range journal.records {
		f.Add(record)
		f.Add(record[:len(record)/2])
	}
	f.Add([]byte{})
	f.Add([]byte{4})
	f.Fuzz(func(t *testing.T, record []byte) {
		r := newTestRouter(t, nil)
		if err := r.Restore(record); err != nil && r.Sessions() > 0 {
			t.Errorf("a record that was refused left a session: %v", err)
		}
		for range 2 {
			for record := range r.Snapshot() {
				if err := r.Restore(record); err != nil {
					t.Errorf("a record of our own is refused: %v", err)
				}
			}
		}
		req := request("auto", light)
		for _, key := range r.sessions.keys() {
			req.Session = key
			d := decide(t, r, req)
			r.Served(&req, d.Model, ledger.Usage{Input: 2000, Output: 5}, 0)
		}
	})
}
