package ambient

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Of what was said there goes what a forgotten memory was learned from, and what says the same, in the agent's channels and
// of the tenant alone.
func TestUnsay(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	tests := []struct {
		name string
		gone Forgotten
		want []string // what is left, as people said it and as channels' last words
	}{
		{"by its moment", Forgotten{ID: "m", Words: "Eats figs every day", Said: []time.Time{at(0)}}, []string{"say dates", "say nothing, I eat", "chat I EAT figs, always"}},
		{"by its words", Forgotten{ID: "m", Words: "I eat figs."}, []string{"say figs for me", "say dates", "say nothing, I eat"}},
		{"too few words", Forgotten{ID: "m", Words: "figs"}, []string{"say figs for me", "say dates", "say nothing, I eat", "chat I EAT figs, always"}},
		{"nothing", Forgotten{ID: "m", Words: "I eat plums all day", Said: []time.Time{at(99)}}, []string{"say figs for me", "say dates", "say nothing, I eat", "chat I EAT figs, always"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var path string
			s, now := testStore(t, func(c *Config) { path = c.Path })
			talk := func(scope Scope, seconds int, text string) {
				now.set(at(seconds))
				talks(t, s, scope, scope.channel, "Ann", text)
			}
			other, err := NewScope("default", "echo", "U1", "say", false)
			if err != nil {
				t.Fatal(err)
			}
			talk(place(t, "U1", "say", false), 0, "say figs for me")
			talk(place(t, "U1", "say", false), 1, "say dates")
			talk(place(t, "U1", "say", false), 2, "say figs for me") // again, since there was no answer
			talk(place(t, "U1", "say", false), 3, "say nothing, I eat")
			talk(place(t, "U2", "chat", false), 4, "chat I EAT figs, always")
			talk(other, 0, "say I eat figs to echo")
			if err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := s.EraseMade(t.Context(), "default", "atlas", tt.gone); err != nil {
				t.Fatal(err)
			}
			left := func(query, agent string) (out []string) {
				rows, err := s.db.Reader.QueryContext(t.Context(), query, agent)
				if err != nil {
					t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var text string
					if err := rows.Scan(&text); err != nil {
						t.Fatal(err)
					}
					out = append(out, text)
				}
				return out
			}
			if diff := cmp.Diff(tt.want, slices.Compact(left("SELECT text FROM (SELECT text, min(seq) AS seq FROM sayings WHERE agent = ? GROUP BY text) ORDER BY seq", "atlas"))); diff != "" {
				t.Errorf("sayings (-want +got):\n%s", diff)
			}
			for _, topic := range left("SELECT topic FROM channels WHERE agent = ? AND topic <> ''", "atlas") {
				if !slices.Contains(tt.want, topic) {
					t.Errorf("a channel's last words are %q", topic)
				}
			}
			if got := left("SELECT text FROM sayings WHERE agent = ?", "echo"); len(got) != 1 {
				t.Errorf("the other agent knows %q", got)
			}
			for _, text := range []string{"say figs for me", "I EAT figs"} {
				held := slices.ContainsFunc(tt.want, func(w string) bool { return strings.Contains(w, text) })
				if inFile(t, path, text) && !held {
					t.Errorf("the bytes of %q are in the file", text)
				}
			}
		})
	}
}

// What took a memory's place no longer says so when that one is forgotten, in events, digests and bytes, whether it names it
// or has its words; a model's digest that was under way is not kept.
func TestUnsayBefore(t *testing.T) {
	for _, tt := range []struct {
		name string
		gone Forgotten
		want []string // IDs of events
	}{
		{"by the memory that took its place", Forgotten{ID: "old", SupersededBy: "new"}, []string{"new"}},
		{"by its words", Forgotten{ID: "old", Words: "We pay with zebra coins"}, []string{"new"}},
		{"another's", Forgotten{ID: "old", Words: "We pay with shells", SupersededBy: "unknown"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan struct{})
			answer := make(chan string)
			var path string
			s, now := eventStore(t, func(c *Config) {
				path = c.Path
				c.Background = Background{CallsPerHour: 9, Ask: func(_ context.Context, q Question) (Reply, error) {
					if q.Purpose != "digest" {
						return Reply{}, nil
					}
					asked <- struct{}{}
					return Reply{Text: <-answer}, nil
				}}
			})
			here := place(t, "U1", "eng", false)
			learn := func(l Learned) {
				l.Session, l.At, l.Name = "day", now.now(), "Ann"
				if !s.HearLearned(here, l) {
					t.Fatal("the queue is full")
				}
			}
			learn(Learned{ID: "new", Type: "decision", Content: "We pay with gold", Was: "We pay with zebra coins (since Monday: 2026-03-16)."})
			for range paragraphEvents - 1 {
				learn(Learned{Type: "decision", Content: "A step"})
			}
			if err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			now.set(noon.Add(2 * time.Minute))
			worked := make(chan struct{})
			go func() { defer close(worked); s.Work(t.Context()) }()
			<-asked
			others, err := s.EraseMade(t.Context(), "default", "atlas", tt.gone)
			if err != nil {
				t.Fatal(err)
			}
			answer <- "They paid with zebra coins before."
			<-worked
			if diff := cmp.Diff(tt.want, others); diff != "" {
				t.Errorf("events that had words of it (-want +got):\n%s", diff)
			}
			told := strings.Join(texts(around(t, s, here, Moment{Session: "x", Opening: true}).Working), "\n")
			if strings.Contains(told, "zebra") != (tt.want == nil) || tt.want != nil && !strings.Contains(told, "We pay with gold") {
				t.Errorf("it is told\n%s", told)
			}
			if inFile(t, path, "zebra") != (tt.want == nil) {
				t.Errorf("its bytes are in the file: %v", tt.want != nil)
			}
		})
	}
}
