package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// full is an entry with every field set, so that one that isn't kept shows.
func full() Entry {
	return Entry{
		ID: "id", At: noon.Add(123456 * time.Microsecond), Tenant: "tenant", Agent: "agent", User: "user",
		Session: "session", Channel: "channel", ProcessType: "branch",
		RequestedModel: "auto", RoutedModel: "routed", AnsweredModel: "answered", BaselineModel: "baseline",
		Profile: "eco", Tier: "light", Shape: "draft", Reason: "tier light, 日本 \x00\n", Score: -0.125, Switched: "up", Background: "extractor",
		Streamed: true, Status: 200, Outcome: OutcomeOK,
		Usage:      Usage{Input: 5, Cached: 1, CacheWrite: 2, CacheWriteHour: 1, Output: 4, Reasoning: 3},
		UsageKnown: true, InjectedMemoryTokens: 6, InjectedScaffoldTokens: 7, WarmTokens: ptr(int64(8)), RetryCost: 0.5,
		ScaffoldArm: ArmHeldOut, Truncated: true, CorrectedArm: ArmApplied, Disputed: true,
		Cost: ptr(1.000000001), Baseline: ptr(3.0), Priced: true,
		Saved:    Savings{Routing: 2.75, Memory: -0.125, Scaffold: -0.0625, Cache: -0.062500001, Retries: -0.25, Background: -0.25},
		Overhead: 9 * time.Microsecond, FirstByte: 10 * time.Millisecond, Total: 11 * time.Second,
		MemoriesUsed: 12, FailOpen: "memory",
	}
}

func record(t *testing.T, l *Ledger, entries ...Entry) {
	t.Helper()
	for _, e := range entries {
		l.Record(e)
	}
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestGet(t *testing.T) {
	for v, i := reflect.ValueOf(full()), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("full() leaves %s unset", v.Type().Field(i).Name)
		}
	}
	minimal := Entry{ID: "minimal", Tenant: "tenant"}
	unpriced := full()
	unpriced.ID, unpriced.Priced, unpriced.UsageKnown, unpriced.Score = "unpriced", false, false, math.NaN()

	l := open(t, Config{})
	record(t, l, full(), minimal, unpriced)

	minimal.At = noon // The clock's.
	unpriced.Cost, unpriced.Baseline, unpriced.Saved, unpriced.Usage, unpriced.Score = nil, nil, Savings{}, Usage{}, 0
	for _, want := range []Entry{full(), minimal, unpriced} {
		got, err := l.Get(t.Context(), "tenant", want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Get(%q) (-want +got):\n%s", want.ID, diff)
		}
	}
	for _, key := range [][2]string{{"tenant", "other"}, {"other", "id"}} {
		if _, err := l.Get(t.Context(), key[0], key[1]); !errors.Is(err, ErrNotFound) {
			t.Errorf("Get(%q) = %v, want ErrNotFound", key, err)
		}
	}
}

// TestZeroIsKnown writes amounts of 0 in a batch that has no other.
func TestZeroIsKnown(t *testing.T) {
	l := open(t, Config{})
	want := Entry{ID: "free", Tenant: "a", At: noon, Cost: ptr(0.0), Baseline: ptr(0.0), Priced: true, WarmTokens: ptr(int64(0))}
	record(t, l, want)
	got, err := l.Get(t.Context(), "a", "free")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Get (-want +got):\n%s", diff)
	}
}

// TestSets holds that the columns that are always written are those that have
// no default of 0.
func TestSets(t *testing.T) {
	l := open(t, Config{})
	rows, err := l.db.Reader.QueryContext(t.Context(), "SELECT name FROM pragma_table_info('requests') WHERE dflt_value IS NULL")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	want := columnSet(0)
	names := strings.Split(columns, ",")
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(names, func(n string) bool { return strings.TrimSpace(n) == name })
		want |= 1 << i
	}
	if alwaysWritten != want || len(names) != width {
		t.Errorf("always written: %b, without a default: %b; %d columns, width %d", alwaysWritten, want, len(names), width)
	}
}

func TestRecent(t *testing.T) {
	l := open(t, Config{})
	record(t, l,
		Entry{ID: "old", Tenant: "a", At: noon.Add(-time.Hour)},
		Entry{ID: "new", Tenant: "a", At: noon},
		Entry{ID: "other", Tenant: "b", At: noon},
		Entry{ID: "same time, later", Tenant: "a", At: noon},
	)
	tests := []struct {
		name   string
		tenant string
		limit  int
		want   []string
	}{
		{"all", "a", 10, []string{"same time, later", "new", "old"}},
		{"newest", "a", 2, []string{"same time, later", "new"}},
		{"own alone", "b", 10, []string{"other"}},
		{"nobody", "c", 10, nil},
		{"negative", "a", -1, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, err := l.Recent(t.Context(), test.tenant, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.ID)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Recent(%q, %d) (-want +got):\n%s", test.tenant, test.limit, diff)
			}
		})
	}
}

// traffic is a priced and an unpriced entry of one agent, a priced one of
// another a day later, and one of another tenant.
func traffic() []Entry {
	entries := []Entry{
		{ID: "1", Tenant: "a", Agent: "x", RoutedModel: "cheap", Tier: "light", Profile: "eco", Channel: "c1", At: noon, InjectedMemoryTokens: 100, ScaffoldArm: ArmApplied, Truncated: true, Total: 2 * time.Millisecond},
		{ID: "2", Tenant: "a", Agent: "x", RoutedModel: "odd", Tier: "heavy", Profile: "eco", Channel: "c2", At: noon, ScaffoldArm: ArmHeldOut, CorrectedArm: ArmApplied, Switched: "down"},
		{ID: "3", Tenant: "a", Agent: "y", RoutedModel: "cheap", Tier: "light", Profile: "premium", Channel: "c1", At: noon.Add(24 * time.Hour)},
		{ID: "4", Tenant: "b", Agent: "x", RoutedModel: "cheap", At: noon},
	}
	for i := range entries {
		e := &entries[i]
		e.Outcome, e.UsageKnown, e.Usage = OutcomeOK, true, Usage{Input: 1000, Cached: 500, Output: 10, Reasoning: 5}
		price := cheap
		if e.RoutedModel == "odd" {
			price = nil
		}
		Settle(e, price, dear, nil)
	}

	return entries
}

func TestStats(t *testing.T) {
	l := open(t, Config{})
	record(t, l, traffic()...)

	type sum struct {
		Key                string
		Requests, Unpriced int64
	}
	tests := []struct {
		name  string
		query StatsQuery
		total int64
		want  []sum
	}{
		{"no groups", StatsQuery{Tenant: "a"}, 3, []sum{}},
		{"agent", StatsQuery{Tenant: "a", GroupBy: "agent"}, 3, []sum{{"x", 2, 1}, {"y", 1, 0}}},
		{"model", StatsQuery{Tenant: "a", GroupBy: "model"}, 3, []sum{{"cheap", 2, 0}, {"odd", 1, 1}}},
		{"tier", StatsQuery{Tenant: "a", GroupBy: "tier"}, 3, []sum{{"heavy", 1, 1}, {"light", 2, 0}}},
		{"profile", StatsQuery{Tenant: "a", GroupBy: "profile"}, 3, []sum{{"eco", 2, 1}, {"premium", 1, 0}}},
		{"channel", StatsQuery{Tenant: "a", GroupBy: "channel"}, 3, []sum{{"c1", 2, 0}, {"c2", 1, 1}}},
		{"day", StatsQuery{Tenant: "a", GroupBy: "day"}, 3, []sum{{"2026-03-18", 2, 1}, {"2026-03-19", 1, 0}}},
		{"one agent", StatsQuery{Tenant: "a", Agent: "x", GroupBy: "day"}, 2, []sum{{"2026-03-18", 2, 1}}},
		{"since", StatsQuery{Tenant: "a", Since: noon.Add(1)}, 3, []sum{}}, // Kept to the microsecond.
		{"since later", StatsQuery{Tenant: "a", Since: noon.Add(time.Second)}, 1, []sum{}},
		{"until is not included", StatsQuery{Tenant: "a", Until: noon.Add(24 * time.Hour)}, 2, []sum{}},
		{"other tenant", StatsQuery{Tenant: "b", GroupBy: "agent"}, 1, []sum{{"x", 1, 0}}},
		{"nobody", StatsQuery{Tenant: "c", GroupBy: "agent"}, 0, []sum{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			stats, err := l.Stats(t.Context(), test.query)
			if err != nil {
				t.Fatal(err)
			}
			got := []sum{}
			for _, g := range stats.Groups {
				got = append(got, sum{g.Key, g.Requests, g.Unpriced})
			}
			if diff := cmp.Diff(test.want, got); diff != "" || stats.Total.Requests != test.total {
				t.Errorf("Stats(%+v): %d requests, want %d; groups (-want +got):\n%s", test.query, stats.Total.Requests, test.total, diff)
			}
		})
	}

	if _, err := l.Stats(t.Context(), StatsQuery{GroupBy: "user; DROP TABLE requests"}); !errors.Is(err, ErrGroupBy) {
		t.Errorf("Stats with an unknown grouping = %v, want ErrGroupBy", err)
	}
}

func TestStatsShape(t *testing.T) {
	l := open(t, Config{})
	record(t, l, traffic()...)
	stats, err := l.Stats(t.Context(), StatsQuery{Tenant: "a", Agent: "x", GroupBy: "agent"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(stats)
	if err != nil {
		t.Fatal(err)
	}
	// Request 1 alone is priced: 1000 tokens of prompt, half of them cached,
	// 100 of them memory, and 10 of answer.
	const sum = `"requests":2,"cost_usd":0.0006,"baseline_usd":0.001635,` +
		`"saved":{"routing":0.00109,"memory":-0.000055,"scaffold":0,"cache":0,"retries":0,"background":0},` +
		`"overspent":{"routing":0,"memory":0.000055,"scaffold":0,"cache":0,"retries":0,"background":0},"unpriced":1,"disputed":0,` +
		`"tokens":{"input":2000,"cached":1000,"cache_write":0,"output":20,"reasoning":10,"injected_memory":100,"injected_scaffold":0},` +
		`"cache_hit_share":0.5,"tiers":{"heavy":1,"light":1},"switches":{"down":1},"outcomes":{"ok":2},` +
		`"scaffold":{"applied":{"requests":1,"output":10,"truncated":1,"corrected":1,"cost_usd":0.0006},"held_out":{"requests":1,"output":10,"truncated":0,"corrected":0,"cost_usd":0}},` +
		`"background":{"calls":0,"tokens":0,"cost_usd":0},` +
		`"latency_ms":{"overhead":{"p50":0,"p95":0,"p99":0},"first_byte":{"p50":0,"p95":0,"p99":0},"total":{"p50":1.92,"p95":2.0352,"p99":2.04544}}`
	want := `{"total":{` + sum + `},"groups":[{"key":"x",` + sum + `}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}

	none, err := l.Stats(t.Context(), StatsQuery{Tenant: "nobody"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(none.Groups); err != nil || string(got) != "[]" {
		t.Errorf("no groups are %s, error %v, want []", got, err)
	}
}

// The amounts of many entries add up to the last digit, too.
func TestStatsSavedIsTheDifference(t *testing.T) {
	l := open(t, Config{})
	entries := make([]Entry, 1000)
	for i := range entries {
		entries[i] = Entry{
			ID: fmt.Sprint(i), Outcome: OutcomeOK, UsageKnown: true, InjectedMemoryTokens: int64(i % 37),
			Usage: Usage{Input: int64(100 + i), Cached: int64(i % 100), Output: int64(i % 13)},
		}
		Settle(&entries[i], cheap, dear, nil)
	}
	record(t, l, entries...)
	stats, err := l.Stats(t.Context(), StatsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	total := stats.Total
	if got, want := toNano(total.Saved.Total()), toNano(total.BaselineUSD)-toNano(total.CostUSD); got != want || got == 0 {
		t.Errorf("Σ saved = %d, baseline − cost = %d, in billionths of a dollar", got, want)
	}
}
