package ambient

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestEverythingAtOnce has requests, forgetting, links and transcripts run side by side, for the race detector and for
// locks that wait for each other.
func TestEverythingAtOnce(t *testing.T) {
	s, now := testStore(t, nil)
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range 40 {
				user := fmt.Sprint("U", (worker+i)%5)
				scope, err := NewScope("default", "atlas", user, fmt.Sprint("C", i%3), i%2 == 0)
				if err != nil {
					t.Error(err)
					return
				}
				now.set(noon.Add(time.Duration(i) * time.Minute))
				s.Hear(scope, Heard{Session: "day", Placed: true, NewTurn: true, Voices: []Voice{{Name: "Name " + user, User: true, Text: "I'm here"}, {Name: "Bo"}}, At: now.now()})
				if _, err := s.Surroundings(t.Context(), scope, Moment{Session: "day", Placed: true, Opening: true, New: true, At: now.now()}); err != nil {
					t.Error(err)
				}
				switch {
				case i%10 == 3:
					_, err = s.EraseUser(t.Context(), "default", user, "")
				case i%10 == 6:
					_, err = s.Backfill(t.Context(), scope, []Uttered{{Name: "Bo", Content: "earlier"}})
				case i%10 == 9:
					_, err = s.StaleProfiles(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
}

// TestAfterClose holds that what can't be read or written any more is said to be so, and harms nobody.
func TestAfterClose(t *testing.T) {
	s, _ := testStore(t, nil)
	scope := place(t, "U1", "C1", false)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := s.Surroundings(t.Context(), scope, Moment{Session: "day", Placed: true, Opening: true, New: true, At: noon}); err == nil {
			t.Error("a closed store tells of surroundings")
		}
	}
	if s.Hear(scope, Heard{Session: "day", Placed: true, NewTurn: true, Voices: []Voice{{Name: "Sarah", User: true}}, At: noon}) {
		t.Error("a closed store says that it took note")
	}
	if _, err := s.EraseUser(t.Context(), "default", "U1", ""); err == nil {
		t.Error("a closed store says that it forgot")
	}
}
