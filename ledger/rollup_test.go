package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// clock is one that a test moves.
type clock struct{ at atomic.Int64 }

func newClock(at time.Time) *clock {
	c := new(clock)
	c.at.Store(at.UnixNano())

	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// anyOf picks one of a few.
func anyOf[T any](r *rand.Rand, few ...T) T { return few[r.IntN(len(few))] }

// randomTraffic is n entries of two tenants within some days before noon.
func randomTraffic(r *rand.Rand, n int, days float64) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		e := randomEntry(r)
		e.ID, e.Tenant, e.Agent = fmt.Sprint(i), anyOf(r, "a", "a", "b"), anyOf(r, "x", "y", "")
		e.At = noon.Add(-time.Duration(r.Float64() * days * 24 * float64(time.Hour)))
		e.RoutedModel, e.Tier, e.Profile = anyOf(r, "cheap", "dear", "odd"), anyOf(r, "light", "standard", "heavy", ""), anyOf(r, "eco", "")
		e.Channel, e.Switched, e.ScaffoldArm = anyOf(r, "c1", "c2", "c3"), anyOf(r, "", "", "up", "down", "level"), anyOf(r, "", ArmApplied, ArmHeldOut)
		e.Truncated, e.CorrectedArm = anyOf(r, true, false), anyOf(r, "", ArmApplied, ArmHeldOut)
		e.Overhead, e.FirstByte, e.Total = time.Duration(r.Int64N(1e7)), time.Duration(r.Int64N(1e10)), time.Duration(r.Int64N(1e12))
		Settle(&e, map[string]*Price{"cheap": cheap, "dear": dear}[e.RoutedModel], dear, nil)
		entries[i] = e
	}

	return entries
}

// addedUp is what Stats has to say, worked out from the entries.
func addedUp(entries []Entry, q StatsQuery) Stats {
	var total sums
	groups := make(map[string]*sums)
	for i := range entries {
		e := &entries[i]
		at := e.At.Truncate(time.Microsecond)
		outside := !q.Since.IsZero() && at.Before(q.Since.Truncate(time.Microsecond)) || !q.Until.IsZero() && !at.Before(q.Until.Truncate(time.Microsecond))
		if e.Tenant != q.Tenant || q.Agent != "" && e.Agent != q.Agent || outside {
			continue
		}
		kept := *e
		kept.sane()
		total.count(&kept)
		key := e.group(q.GroupBy)
		if groups[key] == nil {
			groups[key] = new(sums)
		}
		groups[key].count(&kept)
	}

	return statsOf(groups, q.GroupBy != "")
}

// TestStatsOfRollups compares Stats with the plain sum over random traffic, as
// rows are rolled up: not at all, in part, and after a restart.
func TestStatsOfRollups(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	entries := randomTraffic(r, 3000, 4)
	time1 := newClock(noon)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path, Clock: time1.now})

	check := func(when string, upto int) {
		t.Helper()
		for range 60 {
			q := StatsQuery{Tenant: anyOf(r, "a", "b"), Agent: anyOf(r, "", "", "x", "y"), GroupBy: anyOf(r, "", "agent", "model", "tier", "profile", "channel", "day")}
			edge := func() time.Time { return noon.Add(-time.Duration(r.Float64() * 100 * float64(time.Hour))) }
			if r.IntN(3) > 0 {
				q.Since = anyOf(r, edge(), edge().Truncate(time.Hour), noon.Add(-time.Minute))
			}
			if r.IntN(3) > 0 {
				q.Until = anyOf(r, edge(), edge().Truncate(time.Hour), q.Since.Add(10*time.Minute))
			}
			got, err := l.Stats(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(addedUp(entries[:upto], q), got); diff != "" {
				t.Fatalf("seed %d, %s: Stats(%+v) (-want +got):\n%s", seed, when, q, diff)
			}
		}
	}

	record(t, l, entries[:1000]...)
	check("nothing rolled up but the first batch", 1000)
	time1.advance(time.Minute)
	record(t, l, entries[1000:2000]...)
	record(t, l, entries[500:600]...) // Again.
	check("in part", 2000)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, Config{Path: path, Clock: time1.now})
	check("after a restart", 2000)
	record(t, l, entries[1500:]...) // Some of them again.
	time1.advance(time.Minute)
	record(t, l)
	check("all", 3000)
}

// TestCrashLosesNoSums counts rows that were written and not rolled up.
func TestCrashLosesNoSums(t *testing.T) {
	entries := randomTraffic(rand.New(rand.NewPCG(1, 2)), 200, 2)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path})
	record(t, l, entries...)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	// As if the process had been killed before it rolled any of them up.
	conn := outsider(t, path)
	exec(t, conn, "DELETE FROM rollups")
	exec(t, conn, "UPDATE rolled SET upto = 0")
	l = open(t, Config{Path: path})
	var rolled int
	if err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM rollups").Scan(&rolled); err != nil || rolled == 0 {
		t.Errorf("%d roll-ups after the restart, error %v", rolled, err)
	}
	q := StatsQuery{Tenant: "a", GroupBy: "model"}
	got, err := l.Stats(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(addedUp(entries, q), got); diff != "" {
		t.Errorf("Stats after the restart (-want +got):\n%s", diff)
	}
}

// TestRetention holds that single entries go and their sums stay.
func TestRetention(t *testing.T) {
	entries := randomTraffic(rand.New(rand.NewPCG(3, 4)), 500, 3)
	time1 := newClock(noon.Add(-3 * 24 * time.Hour))
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path, Clock: time1.now, Retention: 48 * time.Hour})
	record(t, l, entries...)
	for range 72 { // The writer keeps house after it wrote.
		time1.advance(time.Hour)
		record(t, l, entries[0])
	}
	record(t, l)
	young := 0
	for _, e := range entries {
		if !e.At.Before(noon.Add(-48 * time.Hour)) {
			young++
		}
	}
	if n := countRows(t, path); n != young {
		t.Errorf("%d rows are left, want the %d of the last two days", n, young)
	}
	for _, q := range []StatsQuery{
		{Tenant: "a"},
		{Tenant: "a", GroupBy: "day"},
		{Tenant: "a", Agent: "x", GroupBy: "channel", Since: noon.Add(-60 * time.Hour)}, // To the hour.
		{Tenant: "a", Since: noon.Add(-30*time.Hour - time.Minute)},                     // To the microsecond.
	} {
		got, err := l.Stats(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(addedUp(entries, q), got); diff != "" {
			t.Errorf("Stats(%+v) (-want +got):\n%s", q, diff)
		}
	}
}

// TestHoursBecomeDays holds that what is long ago is kept by the day, with the
// same sums.
func TestHoursBecomeDays(t *testing.T) {
	entries := randomTraffic(rand.New(rand.NewPCG(5, 6)), 1000, 10)
	time1 := newClock(noon)
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path, Clock: time1.now})
	record(t, l, entries...)
	time1.advance(30 * 24 * time.Hour) // The first five of ten days are now long ago.
	record(t, l, entries[0])
	record(t, l, entries[0])

	spans := map[int64]int64{}
	rows, err := outsider(t, path).QueryContext(t.Context(), "SELECT span, min(start) FROM rollups GROUP BY span")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var span, start int64
		if err := rows.Scan(&span, &start); err != nil {
			t.Fatal(err)
		}
		spans[span] = start
	}
	border := noon.Add(-5 * 24 * time.Hour).Truncate(24 * time.Hour).Unix()
	if spans[day] == 0 || spans[day]%day != 0 || spans[hour] < border {
		t.Errorf("the first roll-ups by span are %v, want days, and hours from %d on", spans, border)
	}
	midnight := noon.Add(-7 * 24 * time.Hour).Truncate(24 * time.Hour)
	for _, q := range []StatsQuery{
		{Tenant: "a", GroupBy: "day"},
		{Tenant: "b", GroupBy: "agent"},
		{Tenant: "a", GroupBy: "model", Since: midnight},
		{Tenant: "a", Agent: "x", GroupBy: "tier", Until: midnight},
		{Tenant: "a", GroupBy: "day", Since: midnight.Add(7*time.Hour + time.Minute)}, // A part of a day counts as the whole,
		{Tenant: "a", Until: midnight.Add(7*time.Hour - time.Minute)},                 // also where its rows are still there.
		{Tenant: "a", Agent: "x", Since: midnight.Add(time.Minute), Until: midnight.Add(2 * time.Minute)},
	} {
		got, err := l.Stats(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		whole := q
		whole.Since = q.Since.Truncate(24 * time.Hour)
		if until := q.Until.Truncate(24 * time.Hour); until.Before(q.Until) {
			whole.Until = until.Add(24 * time.Hour)
		}
		if diff := cmp.Diff(addedUp(entries, whole), got); diff != "" {
			t.Errorf("Stats(%+v) (-want +got):\n%s", q, diff)
		}
	}
}

func TestSumsEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var want, got sums
	for _, e := range randomTraffic(r, 50, 1) {
		want.count(&e)
		var one sums
		one.count(&e)
		if err := addEncoded(got.counters(), one.encode()); err != nil {
			t.Fatal(err)
		}
	}
	if got != want {
		t.Errorf("decoded and added one by one: %+v, want %+v", got, want)
	}
	for name, data := range map[string][]byte{"cut": {0x80}, "zeros cut": {0}, "too long": (&sums{requests: 1}).encode()[:1:1]} {
		if name == "too long" {
			for range len(got.counters()) {
				data = append(data, 2)
			}
		}
		if err := addEncoded(new(sums).counters(), data); err == nil {
			t.Errorf("%s: %x was read", name, data)
		}
	}
}

func FuzzSums(f *testing.F) {
	f.Add((&sums{requests: 1, total: histogram{3: 4}}).encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		var s, again sums
		if addEncoded(s.counters(), data) != nil {
			return
		}
		if err := addEncoded(again.counters(), s.encode()); err != nil || again != s {
			t.Errorf("%x decodes to %+v and, written again, to %+v, error %v", data, s, again, err)
		}
	})
}

func TestPercentile(t *testing.T) {
	var none, h histogram
	for d := time.Duration(1); d <= 1000; d++ {
		h.observe(d * time.Millisecond)
	}
	tests := []struct {
		name  string
		h     *histogram
		share float64
		want  time.Duration
	}{
		{"of nothing", &none, 0.5, 0},
		{"half", &h, 0.5, 500 * time.Millisecond},
		{"95 %", &h, 0.95, 950 * time.Millisecond},
		{"99 %", &h, 0.99, 990 * time.Millisecond},
		{"all", &h, 1, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.h.percentile(tt.share)
			if off := got - tt.want; off.Abs() > tt.want/8 {
				t.Errorf("percentile(%v) = %v, want %v within an eighth", tt.share, got, tt.want)
			}
		})
	}
}

// TestBuckets holds that every duration falls into the bucket whose borders
// are around it.
func TestBuckets(t *testing.T) {
	for _, d := range []time.Duration{-1, 0, 999, 1000, 1249, 1250, 1999, 2000, 7 * time.Microsecond, time.Second, 59 * time.Minute} {
		b := bucketOf(d)
		us := float64(max(0, d.Microseconds()))
		if us < floorOf(b) || us >= floorOf(b+1) && d > 0 {
			t.Errorf("%v is in bucket %d, from %v to %v µs", d, b, floorOf(b), floorOf(b+1))
		}
	}
	if b := bucketOf(100 * time.Hour); b != numBuckets-1 {
		t.Errorf("the last bucket takes what is longer, not %d", b)
	}
}

// BenchmarkStatsOfAYear reads a year of a million requests a day, by twenty
// agents, in a hundred channels, as it is kept: 35 days of hours, then days.
func BenchmarkStatsOfAYear(b *testing.B) {
	time1 := newClock(noon)
	l := open(b, Config{Clock: time1.now})
	r := rand.New(rand.NewPCG(9, 10))
	sample := make([]sums, 50)
	for i := range sample {
		for _, e := range randomTraffic(r, 400, 1) {
			sample[i].count(&e)
		}
	}
	year := func(write func(start, span int64)) {
		last := noon.Truncate(24 * time.Hour).Unix()
		for d := range int64(365) {
			if start := last - d*day; d > 35 {
				write(start, day)
			} else {
				for h := range int64(24) {
					write(start+h*hour, hour)
				}
			}
		}
	}
	year(func(start, span int64) {
		rolls := make(map[rollKey]*sums)
		add := func(dimension, agent, key string) {
			rolls[rollKey{"t", dimension, agent, key}] = &sample[r.IntN(len(sample))]
		}
		add(overall, "", "")
		for c := range 100 {
			add("channel", "", fmt.Sprint("channel", c))
		}
		for m := range 5 {
			add("model", "", fmt.Sprint("model", m))
		}
		for a := range 20 {
			agent := fmt.Sprint("agent", a)
			add(byAgent, agent, "")
			for m := range 5 {
				add("agent model", agent, fmt.Sprint("model", m))
			}
			for c := range 5 {
				add("agent channel", agent, fmt.Sprint("channel", 5*a+c))
			}
		}
		if err := l.transact("filling", func(ctx context.Context, tx *sql.Tx) error {
			for k, s := range rolls { // addRollups would add to the samples
				if _, err := tx.ExecContext(ctx, "INSERT INTO rollups VALUES (?, ?, ?, ?, ?, ?, ?)", k.tenant, k.dimension, k.agent, start, span, k.key, s.encode()); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	})
	for _, q := range []StatsQuery{
		{Tenant: "t"},
		{Tenant: "t", GroupBy: "day"},
		{Tenant: "t", GroupBy: "model"},
		{Tenant: "t", GroupBy: "agent"},
		{Tenant: "t", GroupBy: "channel"},
		{Tenant: "t", GroupBy: "channel", Agent: "agent7", Since: noon.Add(-7 * 24 * time.Hour)},
	} {
		b.Run(fmt.Sprintf("by=%s,agent=%s", q.GroupBy, q.Agent), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Stats(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestOlderFile opens a file of the first schema: its rows are counted, and
// priced as they were.
func TestOlderFile(t *testing.T) {
	first, err := migrations.ReadFile("migrations/0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	old, err := sqlite.Open(t.Context(), path, fstest.MapFS{"0001_init.sql": {Data: first}})
	if err != nil {
		t.Fatal(err)
	}
	const row = `INSERT INTO requests VALUES (?, ?, 'a', 'x', '', '', 'c', 'channel', 'auto', 'cheap', 'cheap', 'dear', 'eco', 'light', '', 'score', 0,
		0, 200, 'ok', 1, 1000, 0, 0, 10, 0, 0, 0, NULL, 0, ?, ?, ?, 0, 0, 0, 0, 1000, 2000, 3000, 0, '')`
	for id, money := range map[string][]any{"priced": {1_000_000, 3_000_000, 2_000_000}, "unpriced": {nil, nil, nil}} {
		if _, err := old.Writer.ExecContext(t.Context(), row, append([]any{id, noon.UnixMicro()}, money...)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(t.Context(), path); !errors.Is(err, ErrOlder) {
		t.Errorf("OpenReader = %v, want %v", err, ErrOlder)
	}
	l := open(t, Config{Path: path})
	stats, err := l.Stats(t.Context(), StatsQuery{Tenant: "a", GroupBy: "channel"})
	if err != nil {
		t.Fatal(err)
	}
	if s := stats.Total; s.Requests != 2 || s.Unpriced != 1 || s.CostUSD != 0.001 || s.Saved.Total() != 0.002 || stats.Groups[0].Key != "c" {
		t.Errorf("the sums of an older file's rows are %+v", s)
	}
	if e, err := l.Get(t.Context(), "a", "unpriced"); err != nil || e.Priced || e.Saved != (Savings{}) {
		t.Errorf("an unpriced row is now %+v, error %v", e, err)
	}
}
