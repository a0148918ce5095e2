package ambient

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// says has somebody say something in a place, as a finished request.
func says(t testing.TB, s *Store, scope Scope, session, name, text string, others ...Voice) {
	t.Helper()
	voices := append(others, Voice{Name: name, User: true, Text: text})
	h := Heard{Session: session, Process: "channel", Placed: true, Platform: "slack", UserName: name, Words: text, Voices: voices, NewTurn: true, At: s.cfg.Clock()}
	if !s.Hear(scope, h) {
		t.Fatal("the queue is full")
	}
}

// texts are the lines of groups.
func texts(groups []Group) (out []string) {
	for _, g := range groups {
		for _, l := range g.Lines {
			out = append(out, l.Text)
		}
	}
	return out
}

func TestParticipants(t *testing.T) {
	s, now := testStore(t, func(c *Config) {
		c.Known = func(_ context.Context, w Whom) []Known {
			if w.User == "U1" {
				return []Known{{"preference", "Prefers short answers"}}
			}
			if len(w.Names) == 1 && w.Names[0] == "Sarah Chen" {
				return []Known{{"fact", "Sarah Chen owns real-time sync"}}
			}
			return nil
		}
	})
	sarah, priya := place(t, "U1", "C1", false), place(t, "U2", "C1", false)
	says(t, s, sarah, "day", "Sarah Chen", "The reconnect fix is in review.")

	opening := Moment{Session: "day", Platform: "slack", Opening: true, Voices: []Voice{{Name: "Sarah Chen", User: true}}}
	if v := around(t, s, sarah, opening); v.Participants != nil {
		t.Errorf("one person is listed as %q", texts(v.Participants))
	}
	now.set(noon.Add(time.Minute))
	says(t, s, priya, "day", "Priya", "I'm setting up the NATS benchmark. It runs tonight.")
	now.set(noon.Add(2 * time.Minute))

	v := around(t, s, sarah, opening)
	want := []string{
		"**Sarah Chen** — Prefers short answers Sarah Chen owns real-time sync.",
		"**Priya** — says: “I'm setting up the NATS benchmark”.",
	}
	want[0] = "**Sarah Chen** — Prefers short answers. Sarah Chen owns real-time sync."
	if diff := cmp.Diff(want, texts(v.Participants)); diff != "" {
		t.Errorf("for Sarah (-want +got):\n%s", diff)
	}
	if g := v.Participants[0]; g.Live || g.Total != 2 {
		t.Errorf("the opening's group has live %v, total %d", g.Live, g.Total)
	}
	v = around(t, s, priya, Moment{Session: "day", Platform: "slack", Voices: []Voice{{Name: "Priya", User: true}}})
	want = []string{want[1], "**Sarah Chen** — Sarah Chen owns real-time sync."}
	if diff := cmp.Diff(want, texts(v.Participants)); diff != "" {
		t.Errorf("for Priya (-want +got):\n%s", diff)
	}
	if !v.Participants[0].Live {
		t.Error("who joins later is frozen with what was said before")
	}
	if v := around(t, s, priya, Moment{Session: "another", Platform: "slack", Opening: true}); v.Participants != nil {
		t.Errorf("another conversation has %q", texts(v.Participants))
	}
}

// TestParticipantsAreCut holds that the most recent are shown and the rest counted.
func TestParticipantsAreCut(t *testing.T) {
	s, now := testStore(t, func(c *Config) { c.People.Tokens = 60 })
	for i := range 9 {
		now.set(noon.Add(time.Duration(i) * time.Minute))
		says(t, s, place(t, fmt.Sprint("U", i), "C1", false), "day", fmt.Sprint("Nr ", string(rune('A'+i))), strings.Repeat("word ", 40))
	}
	v := around(t, s, place(t, "U0", "C1", false), Moment{Session: "day", Opening: true})
	got := texts(v.Participants)
	if len(got) != 5 || v.Participants[0].Total != 9 || !strings.HasPrefix(got[0], "**Nr I**") || !strings.HasPrefix(got[4], "**Nr E**") {
		t.Errorf("of 9 people %q are shown of %d", got, v.Participants[0].Total)
	}
	tokens := 0
	for _, text := range got {
		tokens += s.cfg.Tokens(text)
	}
	if tokens > 60 {
		t.Errorf("they take %d tokens", tokens)
	}
}

// TestParticipantsSurviveARestart holds that they do for a day.
func TestParticipantsSurviveARestart(t *testing.T) {
	first, _ := testStore(t, nil)
	sarah := place(t, "U1", "C1", false)
	says(t, first, sarah, "day", "Sarah", "Deploy at four.", Voice{Name: "Bo", Text: "when?"})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, now := testStore(t, func(c *Config) { c.Path = first.cfg.Path })
	now.set(noon.Add(23 * time.Hour))
	if got := texts(around(t, second, sarah, Moment{Session: "day"}).Participants); len(got) != 2 {
		t.Errorf("after 23 hours there are %q", got)
	}
	now.set(noon.Add(25 * time.Hour))
	if got := texts(around(t, second, sarah, Moment{Session: "day"}).Participants); got != nil {
		t.Errorf("after 25 hours there are %q", got)
	}
}
