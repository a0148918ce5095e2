package memory

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestForgetUserUnderWay learns, after a user was forgotten, what was said
// before: a request may be answered late.
func TestForgetUserUnderWay(t *testing.T) {
	for _, agent := range []string{"bot", ""} {
		for _, capture := range []Capture{CaptureTurns, CaptureFacts} {
			s := openStore(t, func(cfg *Config) { cfg.Capture = capture })
			ann, bob := scopeOf(t, "ann"), scopeOf(t, "bob")
			if n, err := s.ForgetUser(t.Context(), "acme", "ann", agent); n != 0 || err != nil {
				t.Fatalf("ForgetUser = %d, %v", n, err)
			}
			for _, e := range []Exchange{
				{Scope: ann, At: noon.Add(-time.Minute), UserText: "We decided to rent a cello."},
				{Scope: ann, At: noon.Add(time.Minute), UserText: "We decided to rent a harp."},
				{Scope: bob, At: noon.Add(-time.Minute), UserText: "We decided to rent a drum."},
				{Scope: scopeOf(t, ""), At: noon.Add(-time.Minute), UserText: "We decided to rent a hall."},
			} {
				s.Learn(e)
			}
			settle(t, s)
			want := []string{"We decided to rent a hall.", "We decided to rent a harp."}
			if diff := cmp.Diff(want, contents(list(t, s, ann, Filter{}))); diff != "" {
				t.Errorf("forgotten with agent %q, %s (-want +got):\n%s", agent, capture, diff)
			}
			if got := list(t, s, bob, Filter{Text: "drum"}); len(got) != 1 {
				t.Errorf("of another user there is %v", contents(got))
			}
			if page, err := s.Users(t.Context(), "acme", "ann", "", 0, ""); err != nil || len(page.Items) != 1 || page.Items[0].Memories != 1 {
				t.Errorf("held of the user: %+v, %v", page.Items, err)
			}
		}
	}
}

// TestForgetDated replays, a day later, words with a date that depends on the
// day, after they were forgotten.
func TestForgetDated(t *testing.T) {
	for _, capture := range []Capture{CaptureTurns, CaptureFacts} {
		for _, whole := range []bool{false, true} {
			s := openStore(t, func(cfg *Config) { cfg.Capture = capture })
			ann := scopeOf(t, "ann")
			const words = "Yesterday we launched the beta of Heron."
			learn := func(at time.Time, text string) []string {
				s.Learn(Exchange{Scope: ann, At: at, UserText: text})
				settle(t, s)
				return contents(list(t, s, ann, Filter{}))
			}
			learn(noon, words)
			got := list(t, s, ann, Filter{})
			if len(got) != 1 {
				t.Fatalf("learned %v, want one", contents(got))
			}
			var err error
			if whole {
				_, err = s.ForgetUser(t.Context(), "acme", "ann", "bot")
			} else {
				_, err = s.Forget(t.Context(), ann, got[0].ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := learn(noon.Add(24*time.Hour), words); len(got) != 0 {
				t.Errorf("%s, user %v: a day later it is %q again", capture, whole, got)
			}
			if out := add(t, s, ann, NewItem{Type: Event, Content: got[0].Content}); out.Outcome != Stored {
				t.Errorf("adding it on purpose: %+v, want it stored", out)
			}
		}
	}
}

func TestUndated(t *testing.T) {
	tests := []struct{ name, content, want string }{
		{"day", "We met yesterday. (yesterday: 2026-03-17)", "We met yesterday."},
		{"week", "I fly next week. (next week: week of 2026-03-23)", "I fly next week."},
		{"month", "I quit last month. (last month: 2026-02)", "I quit last month."},
		{"two", "I fly tomorrow, we met last week. (tomorrow: 2026-03-19; last week: week of 2026-03-09)", "I fly tomorrow, we met last week."},
		{"a date and a person's own", "We met Ann (tomorrow: 2026-03-19; her number: home)", "We met Ann (tomorrow: 2026-03-19; her number: home)"},
		{"a person's own", "We met Ann (her number: home)", "We met Ann (her number: home)"},
		{"no date", "We met (twice)", "We met (twice)"},
		{"nothing", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := undated(test.content); got != test.want {
				t.Errorf("undated(%q) = %q, want %q", test.content, got, test.want)
			}
		})
	}
}

// TestForgottenTells holds what forgetting a memory tells others that may have its words.
func TestForgottenTells(t *testing.T) {
	at := func(day int) time.Time {
		return time.UnixMilli(time.Date(2026, 3, day, 9, 0, 0, 0, time.UTC).UnixMilli())
	}
	for _, tt := range []struct {
		name    string
		capture Capture
		want    []time.Time
	}{
		{"turns are kept", CaptureTurns, []time.Time{at(2), at(3), at(4)}},
		{"turns aren't kept", CaptureFacts, []time.Time{at(2), at(4)}}, // the first time and the last
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := openStore(t, func(cfg *Config) { cfg.Capture = tt.capture })
			ann := scopeOf(t, "ann")
			for day := 2; day <= 4; day++ {
				s.Learn(Exchange{Scope: ann, At: at(day), UserText: fmt.Sprintf("On day %d. I live in Berlin.", day)})
			}
			s.Learn(Exchange{Scope: ann, At: at(5), UserText: "I live in Lisbon."})
			settle(t, s)
			ids := map[string]string{}
			for _, item := range list(t, s, ann, Filter{}) {
				ids[item.Content] = item.ID
			}
			got, err := s.Forget(t.Context(), ann, ids["I live in Berlin."])
			if err != nil {
				t.Fatalf("of %v: %v", ids, err)
			}
			want := Forgotten{ID: ids["I live in Berlin."], Words: "I live in Berlin.", SupersededBy: ids["I live in Lisbon."], Said: tt.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Forget (-want +got):\n%s", diff)
			}
		})
	}
}
