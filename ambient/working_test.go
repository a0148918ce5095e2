package ambient

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// eventStore opens a store that redacts a word and refuses a phrase.
func eventStore(t testing.TB, edit func(*Config)) (*Store, *clock) {
	t.Helper()
	return testStore(t, func(c *Config) {
		c.Clean = func(text string) (string, bool) {
			return strings.ReplaceAll(text, "hunter2", "[redacted]"), !strings.Contains(text, "Ignore all previous")
		}
		if edit != nil {
			edit(c)
		}
	})
}

// at sets a clock.
func at(t testing.TB, now *clock, text string) {
	t.Helper()
	when, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	now.set(when)
}

// tell records events, each "type: summary", a second apart.
func tell(t testing.TB, s *Store, now *clock, scope Scope, events ...string) {
	t.Helper()
	for _, text := range events {
		typ, summary, _ := strings.Cut(text, ": ")
		got, err := s.Record(t.Context(), []Posted{{scope, Event{Type: EventType(typ), Summary: summary}}})
		if err != nil || got[0].Outcome != stored {
			t.Fatalf("Record(%q) = %v, %v", text, got, err)
		}
		now.set(now.now().Add(time.Second))
	}
}

// working renders the section as an opening prompt or a later turn has it.
func working(t testing.TB, s *Store, now *clock, scope Scope, opening bool) string {
	t.Helper()
	v, err := s.Surroundings(t.Context(), scope, Moment{At: now.now(), Opening: opening, Process: "channel", Mode: "ambient"})
	if err != nil {
		t.Fatal(err)
	}
	return text(v.Working)
}

// text writes groups for a test to look at.
func text(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		b.WriteString("## " + g.Heading)
		if g.Live {
			b.WriteString(" (live)")
		}
		b.WriteByte('\n')
		for _, l := range g.Lines {
			b.WriteString("[" + l.Label + "] " + l.Text + "\n")
		}
		if g.Total > 0 {
			fmt.Fprintf(&b, "(%d of %d)\n", len(g.Lines), g.Total)
		}
	}
	return b.String()
}

// TestWorkingMemoryOfAWeek plays some days and holds the section as it is at noon of the last.
func TestWorkingMemoryOfAWeek(t *testing.T) {
	s, now := eventStore(t, nil)
	here := place(t, "sarah", "eng", false)
	at(t, now, "2026-03-16 10:00")
	tell(t, s, now, here, "decision: Eight stories go into the sprint", "task_update: The board is groomed")
	at(t, now, "2026-03-17 11:00")
	tell(t, s, now, here, "outcome: CI takes six minutes", "cron_executed: Nightly report", "cron_executed: Health check")
	at(t, now, "2026-03-18 09:10")
	tell(t, s, now, here, "decision: Benchmark both before the move", "worker_completed: Benchmark scaffolding")
	at(t, now, "2026-03-18 13:30")
	tell(t, s, now, here, "task_update: LAT-892 is in progress")
	at(t, now, "2026-03-18 15:12")
	tell(t, s, now, here, "branch_completed: Presence API looks fine")
	want := `## Today (Wednesday, March 18)
[09:10-13:30] Decision: Benchmark both before the move. Worker done: Benchmark scaffolding. Task: LAT-892 is in progress.
## Since 13:30 (live)
[15:12 branch done] Presence API looks fine
## Yesterday (Tuesday, March 17)
[3 events] Outcome: CI takes six minutes. 2 cron runs: Health check; Nightly report.
## This Week
[Monday, March 16] Decision: Eight stories go into the sprint. Task: The board is groomed.
`
	if diff := cmp.Diff(want, working(t, s, now, here, true)); diff != "" {
		t.Errorf("Working Memory (-want +got):\n%s", diff)
	}
}

// TestOwnEventsHaveTheMemorysWords holds that a user is not told in other words
// what a memory of theirs says.
func TestOwnEventsHaveTheMemorysWords(t *testing.T) {
	for _, tt := range []struct {
		name, channel, want string
	}{
		{"in no channel", "", "We decided to use NATS."},
		{"in a channel", "eng", "Sarah: We decided to use NATS."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, now := eventStore(t, nil)
			scope := place(t, "sarah", tt.channel, false)
			if !s.HearLearned(scope, Learned{Type: "decision", Content: "We decided to use NATS.", Name: "Sarah", At: now.now()}) {
				t.Fatal("HearLearned = false")
			}
			if err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			v := around(t, s, scope, Moment{At: now.now(), Opening: true, Process: "channel", Mode: "ambient"})
			if len(v.Working) != 1 || v.Working[0].Lines[0].Text != tt.want {
				t.Errorf("told %+v, want %q", v.Working, tt.want)
			}
		})
	}
}
