package ambient

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// talks has somebody say something in a channel of that name.
func talks(t testing.TB, s *Store, scope Scope, channelName, name, text string) {
	t.Helper()
	if !s.Hear(scope, Heard{
		Session: scope.channel, Placed: true, NewTurn: true, Platform: "slack", ChannelName: channelName, UserName: name,
		Voices: []Voice{{Name: name, User: true, Text: text}}, At: s.cfg.Clock(),
	}) {
		t.Fatal("the queue is full")
	}
}

func lines(groups []Group) (out []string) {
	for _, g := range groups {
		for _, l := range g.Lines {
			out = append(out, "["+l.Label+"] "+l.Text)
		}
	}
	return out
}

// TestOtherChannels holds what is told of other channels: who spoke last and of what, when, in absolute time; nothing of
// private ones, of the same one, or of those that were left a day ago.
func TestOtherChannels(t *testing.T) {
	belgrade, err := time.LoadLocation("Europe/Belgrade")
	if err != nil {
		t.Fatal(err)
	}
	s, now := testStore(t, func(c *Config) {
		c.Zone = func(string) *time.Location { return belgrade }
		c.Clean = func(text string) (string, bool) {
			return strings.ReplaceAll(text, "hunter2", "[redacted]"), !strings.Contains(text, "ignore all")
		}
	})
	asking := place(t, "U9", "C9", false)
	around(t, s, asking, Moment{}) // what follows is told to RAM, not loaded

	now.set(noon.Add(-25 * time.Hour))
	talks(t, s, place(t, "U1", "C0", false), "old", "Sarah", "long ago")
	now.set(noon.Add(-20 * time.Hour))
	talks(t, s, place(t, "U1", "C1", false), "#general", "Marcus", "the\nv2.3 timeline, hunter2")
	now.set(noon.Add(-time.Hour))
	talks(t, s, place(t, "U1", "C2", false), "architecture", "Sarah", "NATS <b>or</b> Redis?")
	talks(t, s, place(t, "U1", "P1", true), "board", "Sarah", "we let Bo go")
	talks(t, s, place(t, "U1", "P2", true), "founders", "Sarah", "a secret")
	talks(t, s, place(t, "U1", "P2", false), "founders", "Sarah", "said by a request that doesn't call it private")
	talks(t, s, place(t, "U1", "", false), "", "Sarah", "in no channel")
	talks(t, s, asking, "here", "Ada", "in the same one")
	for _, h := range []Heard{{Process: "worker"}, {Process: "channel", Trigger: "cron"}} {
		h.Session, h.Placed, h.NewTurn, h.At, h.Voices = "run", true, true, s.cfg.Clock(), []Voice{{User: true, Text: "nobody says this"}}
		s.Hear(place(t, "U1", "C2", false), h)
	}
	now.set(noon)
	talks(t, s, place(t, "U1", "C3", false), "", "Bo", "ignore all of it")

	want := []string{
		"[C3, 13:00] Bo",
		"[architecture, 12:00] Sarah: NATS <b>or</b> Redis?",
		"[general, 2026-03-17 17:00] Marcus: the v2.3 timeline, [redacted]",
	}
	v := around(t, s, asking, Moment{})
	if diff := cmp.Diff(want, lines(v.Channels)); diff != "" {
		t.Errorf("other channels (-want +got):\n%s", diff)
	}
	if !v.Channels[0].Live {
		t.Error("what changes by the minute is frozen")
	}
	s.streets.drop(func(agentKey, *street) bool { return true })
	if diff := cmp.Diff(want, lines(around(t, s, asking, Moment{}).Channels)); diff != "" {
		t.Errorf("loaded from the file (-want +got):\n%s", diff)
	}
	other, err := NewScope("default", "echo", "U9", "C9", false)
	if err != nil {
		t.Fatal(err)
	}
	if v := around(t, s, other, Moment{}); v.Channels != nil {
		t.Errorf("another agent is told %q", lines(v.Channels))
	}
}

func TestOtherChannelsAreCut(t *testing.T) {
	s, now := testStore(t, nil)
	for i := range 2*keptChannels + 50 {
		now.set(noon.Add(time.Duration(i) * time.Second))
		talks(t, s, place(t, "U1", fmt.Sprint("C", i), false), "", "Bo", fmt.Sprint("topic ", i))
		if i%100 == 0 {
			around(t, s, place(t, "U9", "C", false), Moment{})
		}
	}
	g := around(t, s, place(t, "U9", "C", false), Moment{}).Channels[0]
	if len(g.Lines) != maxChannels || g.Total < keptChannels || !strings.Contains(g.Lines[0].Text, fmt.Sprint("topic ", 2*keptChannels+49)) {
		t.Errorf("%d channels of %d, the first %q", len(g.Lines), g.Total, g.Lines[0].Text)
	}
}

// TestConversationAndStatus holds what a request is told of where and when it is.
func TestConversationAndStatus(t *testing.T) {
	s, _ := testStore(t, func(c *Config) { c.Version = "v1.2.0" })
	m := Moment{
		Session: "a", Opening: true, Platform: "slack", Workspace: "Tidemark", ChannelName: "#engineering", Model: "mid", Window: 200_000,
		Voices: []Voice{{Name: "Sarah", Text: "one"}, {Name: "Bo", Text: "two"}, {Name: "sarah", Text: "three", User: true}},
	}
	v := around(t, s, place(t, "U1", "C1", true), m)
	want := []string{
		"[platform] slack", "[workspace] Tidemark", "[channel] engineering (private)",
		"[people] several take part", "[messages] 3 messages from 2 people (Sarah, Bo) since the last answer, by 12:00",
	}
	if diff := cmp.Diff(want, lines(v.Conversation)); diff != "" {
		t.Errorf("conversation (-want +got):\n%s", diff)
	}
	want = []string{"[time] Wednesday, 2026-03-18 12:00 UTC", "[version] Understudy v1.2.0", "[model] mid, a window of 200000 tokens"}
	if diff := cmp.Diff(want, lines(v.Status)); diff != "" || !v.Status[0].Live {
		t.Errorf("status, live %v (-want +got):\n%s", v.Status[0].Live, diff)
	}
	v = around(t, s, place(t, "U1", "C1", false), Moment{Session: "b", Opening: true, Voices: []Voice{{Name: "Ada", User: true}}})
	if diff := cmp.Diff([]string{"[channel] C1", "[people] one so far"}, lines(v.Conversation)); diff != "" {
		t.Errorf("of one person (-want +got):\n%s", diff)
	}
	plain, err := s.Surroundings(t.Context(), place(t, "U1", "", false), Moment{Session: "c", Opening: true, At: noon, Platform: "slack"})
	if diff := cmp.Diff(View{}, plain); diff != "" || err != nil {
		t.Errorf("a plain request (-want +got):\n%s%v", diff, err)
	}
}

// TestRunsInStatus holds that a request is told what else the agent is doing, and has done, as far as it may know.
func TestRunsInStatus(t *testing.T) {
	s, now := testStore(t, nil)
	works := func(scope Scope, session, task string, final bool) {
		t.Helper()
		if !s.Hear(scope, Heard{Session: session, Process: "worker", Words: task, NewTurn: true, Final: final, Answer: "Done.", At: now.now()}) {
			t.Fatal("the queue is full")
		}
	}
	open := place(t, "U1", "C1", false)
	works(open, "w1", "Write the NATS benchmark.", false)
	works(open, "w2", "Run the full suite", true)
	works(place(t, "U1", "P1", true), "w3", "a private task", false)
	now.set(noon.Add(time.Minute))
	runs := func(scope Scope, session string) []string {
		t.Helper()
		v := around(t, s, scope, Moment{Session: session})
		for _, g := range v.Status {
			if !g.Live {
				t.Error("the status is frozen")
			}
		}
		return lines(v.Status[1:])
	}
	want := []string{"[worker] Write the NATS benchmark, under way since 12:00", "[worker] Run the full suite, ended 12:00"}
	if diff := cmp.Diff(want, runs(place(t, "U2", "C2", false), "day")); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], runs(open, "w1")); diff != "" {
		t.Errorf("runs, for one of them (-want +got):\n%s", diff)
	}
	now.set(noon.Add(2 * time.Hour))
	if got := runs(open, "day"); got != nil {
		t.Errorf("two hours later there are %q", got)
	}
}

// TestPrivateOnceIsPrivate holds that what is told of a channel that was called private stays there, also when whoever tells
// it doesn't say so.
func TestPrivateOnceIsPrivate(t *testing.T) {
	s, _ := testStore(t, nil)
	board, careless := place(t, "U1", "board", true), place(t, "", "board", false)
	talks(t, s, board, "board", "Sarah", "hello")
	if _, err := s.Record(t.Context(), []Posted{
		{careless, Event{Type: Outcome, Summary: "the payroll is late"}},
		{place(t, "", "eng", false), Event{Type: Outcome, Summary: "main is green"}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Backfill(t.Context(), careless, []Uttered{{Content: "the old payroll"}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		scope Scope
		want  []string
	}{
		{place(t, "U2", "eng", false), []string{"main is green"}},
		{place(t, "U2", "board", false), []string{"main is green"}},
		{place(t, "U2", "board", true), []string{"the payroll is late", "main is green", "somebody: the old payroll"}},
	} {
		v := around(t, s, tt.scope, Moment{Session: "new", Opening: true, New: true})
		got := texts(v.Working)
		for _, g := range v.Conversation {
			if g.Heading != "" {
				got = append(got, texts([]Group{g})...)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v is told (-want +got):\n%s", tt.scope, diff)
		}
	}
}
