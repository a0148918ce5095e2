package ledger

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func TestEntries(t *testing.T) {
	l := open(t, Config{})
	var want []string
	var all []Entry
	for i := range slice + 10 { // More than a page, many of one moment.
		e := Entry{ID: fmt.Sprint(i), Tenant: "a", Agent: "x", At: noon.Add(time.Duration(i/100) * time.Microsecond)}
		all = append(all, e)
		want = append(want, e.ID)
	}
	record(t, l, all...)
	record(t, l,
		Entry{ID: "other agent", Tenant: "a", Agent: "y", At: noon}, Entry{ID: "other tenant", Tenant: "b", Agent: "x", At: noon},
		Entry{ID: "early", Tenant: "a", Agent: "x", At: noon.Add(-time.Hour)}, Entry{ID: "late", Tenant: "a", Agent: "x", At: noon.Add(time.Hour)},
	)
	got := ids(t, l.Entries(t.Context(), Selection{Tenant: "a", Agent: "x", Since: noon, Until: noon.Add(time.Hour)}))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Entries (-want +got):\n%s", diff)
	}
	if got := ids(t, l.Entries(t.Context(), Selection{Tenant: "a"})); len(got) != len(want)+3 || got[0] != "early" {
		t.Errorf("all of a tenant are %d, from %q on, want %d from the earliest on", len(got), got[0], len(want)+3)
	}
	for range l.Entries(t.Context(), Selection{Tenant: "a"}) {
		break // Nothing is left open.
	}
}

func ids(t *testing.T, entries iter.Seq2[Entry, error]) (ids []string) {
	t.Helper()
	for e, err := range entries {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}

	return ids
}

func seq(err error, entries ...Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(Entry{}, err)
		}
	}
}

func TestWriteJSONL(t *testing.T) {
	var out strings.Builder
	if err := WriteJSONL(&out, seq(nil, full(), Entry{ID: "minimal"})); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	var got Entry
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(full(), got); diff != "" || len(lines) != 2 {
		t.Errorf("%d lines; the first (-want +got):\n%s", len(lines), diff)
	}
}

// TestWriteCSV holds that no field is left out, at any depth.
func TestWriteCSV(t *testing.T) {
	var out strings.Builder
	if err := WriteCSV(&out, seq(nil, full(), Entry{ID: "minimal"})); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(records) != 3 {
		t.Fatalf("%d records, error %v, want 3", len(records), err)
	}
	text, err := json.Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range records[0] {
		if got, want := records[1][i], gjson.GetBytes(text, name).String(); got != want || want == "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var count func(gjson.Result) int
	count = func(object gjson.Result) (n int) {
		object.ForEach(func(_, v gjson.Result) bool {
			if v.IsObject() {
				n += count(v)
			} else {
				n++
			}
			return true
		})
		return n
	}
	if fields := count(gjson.ParseBytes(text)); fields != len(records[0]) {
		t.Errorf("%d columns for %d fields", len(records[0]), fields)
	}
	for i, name := range records[0] {
		if v := records[2][i]; name == "cost_usd" && v != "" || name == "id" && v != "minimal" {
			t.Errorf("%s of an unpriced entry is %q", name, v)
		}
	}
}

func TestExportStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	var out strings.Builder
	if err := WriteJSONL(&out, seq(broken, full())); !errors.Is(err, broken) {
		t.Errorf("WriteJSONL = %v, want %v", err, broken)
	}
	if err := WriteCSV(&out, seq(broken, full())); !errors.Is(err, broken) {
		t.Errorf("WriteCSV = %v, want %v", err, broken)
	}
}

func TestParseTime(t *testing.T) {
	tests := []struct {
		name, text string
		want       time.Time
	}{
		{"duration", "90m", noon.Add(-90 * time.Minute)},
		{"days", "30d", noon.AddDate(0, 0, -30)},
		{"day", "2026-03-01", time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)},
		{"instant", "2026-03-01T10:00:00Z", time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)},
		{"nothing", "", time.Time{}},
		{"no time", "yesterday", time.Time{}},
		{"days that are none", "-3d", time.Time{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTime(tt.text, noon)
			if !got.Equal(tt.want) || (err != nil) != tt.want.IsZero() {
				t.Errorf("ParseTime(%q) = %v, %v, want %v", tt.text, got, err, tt.want)
			}
		})
	}
}
