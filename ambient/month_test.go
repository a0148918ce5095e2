package ambient

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
	_ "time/tzdata"
)

// This file plays a month of a company: 50 people in 20 channels, three agents
// in three zones, clocks that change in the middle.

const (
	monthEvents   = 100_000
	monthPeople   = 50
	monthChannels = 20
	monthPrivate  = 6 // of the channels
	monthAlone    = 5 // of the people: they write to agents alone, too
)

// monthZones is where the agents' days begin. In the month's first week clocks
// go forward in New York, in its last one in Berlin, and in Kolkata never.
var monthZones = map[string]string{"rook": "Europe/Berlin", "wren": "America/New_York", "lark": "Asia/Kolkata"}

var (
	monthBegin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	monthEnd   = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
)

// month is a month being played.
type month struct {
	s     *Store
	now   *clock
	zones map[string]*time.Location
	rand  *rand.Rand
	want  map[string]int // events of each day, by agent, audience and day
	halls map[hall]Scope // who may read what was heard there
	last  map[hall]time.Time
}

func playMonth(t testing.TB, events int, edit func(*Config)) *month {
	t.Helper()
	m := &month{
		zones: map[string]*time.Location{}, rand: rand.New(rand.NewPCG(1, 2)),
		want: map[string]int{}, halls: map[hall]Scope{}, last: map[hall]time.Time{},
	}
	for agent, name := range monthZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		m.zones[agent] = zone
	}
	m.s, m.now = testStore(t, func(cfg *Config) {
		cfg.Zone = func(agent string) *time.Location { return m.zones[agent] }
		if edit != nil {
			edit(cfg)
		}
	})
	// What happens within half an hour is told together: in each zone midnight
	// is between two halves.
	const slot = 30 * time.Minute
	slots := int(monthEnd.Sub(monthBegin) / slot)
	for i := range slots {
		from := monthBegin.Add(time.Duration(i) * slot)
		m.now.set(from.Add(slot - time.Second))
		m.tell(t, from, events*(i+1)/slots-events*i/slots)
	}
	return m
}

// tell tells of some events of half an hour, and of who spoke.
func (m *month) tell(t testing.TB, from time.Time, n int) {
	t.Helper()
	posted := make([]Posted, n)
	for i := range posted {
		agent := slices.Sorted(maps.Keys(m.zones))[m.rand.IntN(len(m.zones))]
		person, place := m.rand.IntN(monthPeople), m.rand.IntN(monthChannels)
		user, channel := fmt.Sprintf("user%d", person), fmt.Sprintf("channel%d", place)
		if person < monthAlone && i%2 == 0 {
			place, channel = monthChannels, ""
		}
		scope, err := NewScope("acme", agent, user, channel, place < monthPrivate)
		if err != nil {
			t.Fatal(err)
		}
		at := from.Add(time.Duration(i) * 29 * time.Minute / time.Duration(n))
		posted[i] = Posted{scope, Event{
			Type: kinds[m.rand.IntN(len(kinds))].typ, Name: "Person " + user, At: at,
			Summary: fmt.Sprintf("ticket %d of %s was looked at and handed on to the next in line", m.rand.IntN(100_000), user),
		}}
		h := hall{"acme", agent, scope.Audience()}
		m.want[dayKey(h, at.In(m.zones[agent]).Format(time.DateOnly))]++
		m.halls[h], m.last[h] = scope, at
		if m.rand.IntN(10) == 0 {
			m.s.Hear(scope, Heard{
				Session: "of " + channel + user, Process: "channel", Placed: true, Platform: "slack", ChannelName: channel, UserName: "Person " + user,
				Words: "How is the ticket?", Voices: []Voice{{Name: "Person " + user, User: true, Text: "How is the ticket?"}}, NewTurn: true, At: at,
			})
		}
	}
	results, err := m.s.Record(t.Context(), posted)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Outcome != stored {
			t.Fatalf("an event is %s: %s", r.Outcome, r.Reason)
		}
	}
}

func dayKey(h hall, day string) string { return fmt.Sprintf("%s %s %s", h.agent, h.audience, day) }

// ask has somebody ask in each hall, so that the days that are over are closed.
func (m *month) ask(t testing.TB) {
	t.Helper()
	for _, scope := range m.halls {
		around(t, m.s, scope, Moment{Session: "asks", Process: "channel", Opening: true})
	}
	if err := m.s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// count is a number that a query finds.
func (m *month) count(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	if err := m.s.db.Reader.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// days reads how many events each day's summary tells of.
func (m *month) days(t testing.TB) map[string]int {
	t.Helper()
	rows, err := m.s.db.Reader.QueryContext(t.Context(), "SELECT agent, audience, day, events FROM digests WHERE kind = 'day'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got := map[string]int{}
	for rows.Next() {
		var h hall
		var day string
		var n int
		if err := rows.Scan(&h.agent, &h.audience, &day, &n); err != nil {
			t.Fatal(err)
		}
		if _, twice := got[dayKey(h, day)]; twice {
			t.Errorf("%s has two summaries", dayKey(h, day))
		}
		got[dayKey(h, day)] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return got
}

// bytes is what the store takes on disk.
func (m *month) bytes(t testing.TB) (n int64) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(m.s.cfg.Path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// TestMonth plays a fortieth of the month's events; the benchmark plays all.
func TestMonth(t *testing.T) {
	const cache = 32 << 10 // less than all that is asked for
	m := playMonth(t, monthEvents/40, func(cfg *Config) { cfg.CacheBytes = cache })
	m.now.set(monthEnd.Add(24 * time.Hour)) // the month is over everywhere
	m.ask(t)
	if got := m.days(t); !maps.Equal(got, m.want) {
		for day, n := range m.want {
			if got[day] != n {
				t.Errorf("the summary of %s tells of %d events, want %d", day, got[day], n)
			}
		}
		t.Fatalf("%d days have summaries, want %d", len(got), len(m.want))
	}
	if held := m.s.feeds.held(); held > cache {
		t.Errorf("%d bytes are held in RAM, want %d at most", held, cache)
	}
	if lost := m.s.Lost(); lost > 0 {
		t.Errorf("%d writes were lost", lost)
	}

	// Ten days later events of the month's first ten days are gone, summaries are not.
	m.now.set(monthEnd.Add(10 * 24 * time.Hour))
	m.tell(t, m.now.now().Add(-30*time.Minute), 1)
	limit := m.now.now().Add(-30 * 24 * time.Hour).UnixMilli()
	if old, young := m.count(t, "SELECT count(*) FROM events WHERE at < ?", limit), m.count(t, "SELECT count(*) FROM events"); old > 0 || young < monthEvents/40/2 {
		t.Errorf("%d events are older than 30 days and %d are there", old, young)
	}
	if got := len(m.days(t)); got < len(m.want)-1 {
		t.Errorf("%d days have summaries, want %d still", got, len(m.want)-1)
	}
	if people := m.count(t, "SELECT count(*) FROM humans"); people != monthPeople {
		t.Errorf("%d people are known, want %d", people, monthPeople)
	}
}

// BenchmarkMonth asks for the surroundings of all kinds of requests at the end of
// a whole month. Beside percentiles of all, which tell of the machine's other work,
// too, it reports what the costliest kind takes at its best.
func BenchmarkMonth(b *testing.B) {
	m := playMonth(b, monthEvents, nil)
	m.now.set(monthEnd.Add(-time.Second))
	m.ask(b)
	var scopes []Scope
	for _, h := range slices.SortedFunc(maps.Keys(m.halls), func(x, y hall) int { return m.last[x].Compare(m.last[y]) }) {
		scopes = append(scopes, m.halls[h])
	}
	var took []time.Duration
	best := make([]time.Duration, 2*len(scopes))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		kind := i % len(best)
		began := time.Now()
		_, err := m.s.Surroundings(b.Context(), scopes[kind/2], Moment{
			Session: "bench", Process: "channel", Placed: true, Opening: kind%2 == 0, Words: "What happened?", At: monthEnd.Add(-time.Second),
		})
		d := time.Since(began)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, d)
		if best[kind] == 0 || d < best[kind] {
			best[kind] = d
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(slices.Max(best).Microseconds()), "costliest-µs")
	b.ReportMetric(float64(m.bytes(b))/(1<<20), "file-MB")
	b.ReportMetric(float64(m.count(b, "SELECT count(*) FROM digests")), "digests")
	b.ReportMetric(float64(m.s.feeds.bytes)/(1<<20), "RAM-MB")
}
