package ambient

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkSurroundings is what a request waits for: one of a busy channel, one that nobody asks surroundings for.
func BenchmarkSurroundings(b *testing.B) {
	s, now := testStore(b, nil)
	for i := range 200 {
		now.set(noon.Add(time.Duration(i) * time.Minute))
		user := i % 50
		scope := place(b, fmt.Sprint("U", user), fmt.Sprint("C", user%20), false)
		says(b, s, scope, fmt.Sprint("S", user%20), fmt.Sprint("Name of ", user), fmt.Sprint("I'm on task ", i, " of the release."), Voice{Name: "Bo", Text: "fine"})
	}
	if err := s.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name  string
		scope Scope
		m     Moment
	}{
		{"channel", place(b, "U1", "C1", false), Moment{Session: "S1", Placed: true, Opening: true, Platform: "slack", Voices: []Voice{{Name: "Name of 1", User: true}}}},
		{"plain", place(b, "U1", "", false), Moment{Session: "S1", Opening: true}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			bb.m.At = now.now()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Surroundings(b.Context(), bb.scope, bb.m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
