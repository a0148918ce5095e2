package ambient

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// What the model fails on steps aside: the others are worded at once, and it is tried again, ever more rarely, until it goes well.
func TestFailingTextsStepAside(t *testing.T) {
	tests := []struct {
		name    string
		purpose string
		prepare func(t *testing.T, s *Store, now *clock, word string) // of what the model is asked about
	}{
		{"digests", "digest", func(t *testing.T, s *Store, now *clock, word string) {
			for range paragraphEvents {
				if _, err := s.Record(t.Context(), []Posted{{place(t, "", word, true), Event{Type: Outcome, Summary: "the " + word + " ran", At: now.now()}}}); err != nil {
					t.Fatal(err)
				}
			}
		}},
		{"profiles", "profile", func(t *testing.T, s *Store, now *clock, word string) {
			says(t, s, place(t, "U-"+word, "C1", false), "day", "Name "+word, "I'm on the "+word)
			now.set(now.now().Add(-time.Second)) // those seen last come first
		}},
		{"knowledge", "knowledge", func(_ *testing.T, s *Store, _ *clock, word string) { s.KnowledgeChanged("default", "atlas", word) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			var broken, fine int
			mended := false
			o := &oracle{says: func(q Question) (string, error) {
				switch {
				case q.Purpose != tt.purpose:
				case strings.Contains(q.Text, "poison"):
					if broken++; !mended {
						return "", errors.New("status 500")
					}
				default:
					fine++
				}
				return "Some words.", nil
			}}
			s, now := testStore(t, func(c *Config) {
				held := Held{Version: 1}
				holding(o, &held)(c)
				c.Held = func(_ context.Context, _, _, user string) (Held, error) {
					return Held{Version: 1, Lines: []string{"[fact] The " + user + "."}}, nil
				}
				c.Background.CallsPerHour = 10_000
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
				c.People.PerPass = 2
			})
			for _, word := range []string{"poison", "poison-two", "bread", "wine"} {
				tt.prepare(t, s, now, word)
			}
			if err := s.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			work := func(minutes int) {
				for range minutes {
					now.set(now.now().Add(time.Minute))
					s.Work(t.Context())
				}
			}
			work(11)
			if fine < 2 || broken < 2 {
				t.Errorf("in eleven minutes the model was asked about %d of what goes well and %d of what fails, want all", fine, broken)
			}
			work(5 * 60)
			if broken < 6 || broken > 2*15 {
				t.Errorf("in five hours it was asked %d times about what fails; want it ever more rarely", broken)
			}
			if got := s.SetAside(); got != int64(broken) {
				t.Errorf("SetAside() = %d, want %d", got, broken)
			}
			if !strings.Contains(log.String(), "purpose="+tt.purpose) {
				t.Errorf("the log says nothing of %s:\n%s", tt.purpose, log.String())
			}
			mended = true
			before := broken
			work(3 * 60)
			if broken != before+2 {
				t.Errorf("once it is mended it is asked %d times more, want twice", broken-before)
			}
		})
	}
}
