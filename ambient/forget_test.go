package ambient

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestEraseUser holds that nothing of an erased user is left, in RAM or in the bytes of the file, nor of those who are
// known by that user's name alone; and that what others said stays.
func TestEraseUser(t *testing.T) {
	s, now := testStore(t, nil)
	const secret = "zebra-crossing"
	sarah, bo := place(t, "U-sarah-17", "C1", false), place(t, "U2", "C1", false)
	says(t, s, sarah, "day", "Žarah Okonkwo", "I'm on the "+secret+" today.", Voice{Name: "Bo", Text: "fine"})
	says(t, s, place(t, "U-sarah-17", "P1", true), "board", "Žarah Okonkwo", "A private "+secret)
	says(t, s, place(t, "U-sarah-17", "", false), "alone", "Žarah Okonkwo", "Alone with the "+secret)
	says(t, s, bo, "day", "Bo", "I prefer walking.", Voice{Name: "Žarah Okonkwo", Text: secret + " again"})
	talks(t, s, place(t, "U-sarah-17", "C2", false), "zoo", "Žarah Okonkwo", "the "+secret)
	if _, err := s.Backfill(t.Context(), place(t, "", "C1", false), []Uttered{{Name: "Žarah Okonkwo", Content: "old " + secret}, {Name: "Bo", Content: "old walk"}}); err != nil {
		t.Fatal(err)
	}
	for range paragraphEvents { // so that a digest has it
		_, err := s.Record(t.Context(), []Posted{{place(t, "", "C1", false), Event{Type: Decision, Name: "ŽARAH Okonkwo", Summary: "by name, the " + secret}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Record(t.Context(), []Posted{{sarah, Event{Type: Outcome, Name: "Žarah Okonkwo", Summary: "shipped the " + secret}}, {bo, Event{Type: Outcome, Name: "Bo", Summary: "walked"}}})
	if err != nil {
		t.Fatal(err)
	}
	all := func() string {
		v := around(t, s, bo, Moment{Session: "day", Opening: true, New: true})
		return strings.Join(slices.Concat(lines(v.Working), lines(v.Channels), lines(v.Participants), lines(v.Conversation)), "\n")
	}
	before := all()
	if strings.Count(before, secret) < 4 || !strings.Contains(before, "Žarah Okonkwo") {
		t.Fatalf("before there is only\n%s", before)
	}

	worker := briefKey{"default", "atlas", "U2", Everybody, "worker"}
	s.keepBriefing(worker, []Group{{Lines: []Line{{Text: "They wrote of the " + secret}}}}, noon)
	erased, err := s.EraseUser(t.Context(), "default", "U-sarah-17", "")
	if err != nil || erased.Rows < 10 {
		t.Fatalf("EraseUser erases %d rows, %v", erased.Rows, err)
	}
	after := all()
	if strings.Contains(after, secret) || strings.Contains(after, "Žarah") {
		t.Errorf("afterwards prompts say\n%s", after)
	}
	for _, want := range []string{"walked", "old walk"} {
		if !strings.Contains(after, want) {
			t.Errorf("of others %q is gone:\n%s", want, after)
		}
	}
	if groups, found, err := s.briefing(t.Context(), worker); found || err != nil {
		t.Errorf("a worker is still told %v, %v", groups, err)
	}
	late := Heard{Session: "day", Placed: true, NewTurn: true, Platform: "slack", Voices: []Voice{{Name: "Žarah Okonkwo", User: true, Text: secret}}, At: noon}
	s.Hear(sarah, late)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(s.cfg.Path + suffix)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		for _, word := range []string{secret, "Okonkwo", "okonkwo", "žarah", "U-sarah-17"} {
			if strings.Contains(string(raw), word) {
				t.Errorf("the file%s still has %q", suffix, word)
			}
		}
	}
	for _, tt := range []struct {
		name, session string
		shown         []string
		want          bool
	}{
		{"a conversation of theirs", "alone", nil, true},
		{"one that shows them", "x", []string{"human/" + humanID("default", "slack", "U-sarah-17", false)}, true},
		{"one that shows what they said elsewhere", "x", []string{"channel/" + humanID("default", "slack", "U-sarah-17", false) + "/C2/2026"}, true},
		{"a worker's", "worker", nil, true},
		{"one of others", "x", []string{"human/" + humanID("default", "slack", "U2", false)}, false},
	} {
		if got := erased.Told(tt.session, tt.shown); got != tt.want {
			t.Errorf("%s was told: %v, want %v", tt.name, got, tt.want)
		}
	}
	now.set(noon.Add(time.Minute))
}

// TestEraseUserOfOneAgent holds that the others know of the user what they knew.
func TestEraseUserOfOneAgent(t *testing.T) {
	s, _ := testStore(t, nil)
	sarah := place(t, "U1", "C1", false)
	echo, err := NewScope("default", "echo", "U1", "C1", false)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []Scope{sarah, echo} {
		says(t, s, scope, "day", "Sarah", "I'm here.", Voice{Name: "Bo", Text: "me too"})
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.EraseUser(t.Context(), "default", "U1", "echo"); err != nil {
		t.Fatal(err)
	}
	want := []string{"**Sarah** — says “I'm here”.", "**Bo** — last said “me too”."}
	if got := texts(around(t, s, sarah, Moment{Session: "day", Opening: true}).Participants); len(got) != 2 || !slices.Contains(got, want[0]) {
		t.Errorf("the other agent knows (-want +got):\n%s", cmp.Diff(want, got))
	}
	if got := texts(around(t, s, echo, Moment{Session: "day", Opening: true}).Participants); got != nil {
		t.Errorf("the one agent still knows %q", got)
	}
}

// TestEraseLinkedUser holds that who was linked to an erased human is one of those left.
func TestEraseLinkedUser(t *testing.T) {
	s, _ := testStore(t, nil)
	ids := map[string]string{}
	for _, user := range []string{"U1", "U2", "U3"} {
		says(t, s, place(t, user, "C1", false), "day", "Name "+user, "hello")
		ids[user] = humanID("default", "slack", user, false)
	}
	for _, user := range []string{"U2", "U3"} {
		if _, err := s.Link(t.Context(), "default", ids[user], ids["U1"]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.EraseUser(t.Context(), "default", "U1", ""); err != nil {
		t.Fatal(err)
	}
	page, err := s.Humans(t.Context(), "default", "", 0, "")
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("Humans = %v, %v", page, err)
	}
	if a, b := page.Items[0], page.Items[1]; a.Person != b.Person || a.Person == ids["U1"] {
		t.Errorf("they are the persons %s and %s", a.Person, b.Person)
	}
}

// TestEraseMade forgets a memory: its event, the digests that hold it, and profiles are made anew without it.
func TestEraseMade(t *testing.T) {
	knows := []Known{{Content: "Wants the zebra deal"}}
	var path string
	s, now := eventStore(t, func(c *Config) {
		path = c.Path
		c.Known = func(context.Context, Whom) []Known { return knows }
	})
	here := place(t, "sarah", "eng", false)
	learn := func(id, content string) {
		t.Helper()
		if !s.HearLearned(here, Learned{ID: id, Type: "decision", Content: content, Session: "day", At: now.now()}) {
			t.Fatal("the queue is full")
		}
	}
	at(t, now, "2026-03-17 10:00")
	says(t, s, here, "day", "Sarah", "The zebra deal is on", Voice{Name: "Bo", Text: "hi"})
	learn("m1", "The zebra deal is on")
	now.set(now.now().Add(time.Minute))
	learn("m2", "The move is on")
	at(t, now, "2026-03-18 09:30")
	learn("m3", "The zebra contract is signed")
	for i := range 14 {
		learn(fmt.Sprint("n", i), fmt.Sprint("Step ", i))
	}
	told := func() string {
		m := Moment{Session: "day", Platform: "slack", Opening: true, Voices: []Voice{{Name: "Sarah", User: true}, {Name: "Bo"}}}
		v := around(t, s, here, m)
		return strings.Join(slices.Concat(texts(v.Working), texts(v.Participants)), "\n")
	}
	channels := func() string {
		return strings.Join(texts(around(t, s, place(t, "bo", "ops", false), Moment{}).Channels), "\n")
	}
	if got := channels(); !strings.Contains(got, "zebra") {
		t.Fatalf("before, of channels it is told %q", got)
	}
	if got := told(); strings.Count(got, "zebra") != 5 { // two digests, and the profiles of both for everybody, and of Sarah for herself
		t.Fatalf("before, it is told %d times:\n%s", strings.Count(got, "zebra"), got)
	}
	knows = nil
	for _, id := range []string{"m1", "m3", "none"} {
		if _, err := s.EraseMade(t.Context(), "default", "atlas", Forgotten{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	if got := told(); strings.Contains(got, "zebra") || !strings.Contains(got, "The move is on") || !strings.Contains(got, "Step 1") {
		t.Errorf("after:\n%s", got)
	}
	if got := channels(); strings.Contains(got, "zebra") {
		t.Errorf("after, of channels it is told %q", got)
	}
	if inFile(t, path, "zebra") {
		t.Error("its bytes are in the file")
	}
}
