package ambient

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// busy fills a week with events of three audiences, and today with 600.
func busy(b *testing.B, s *Store, now *clock) {
	b.Helper()
	scopes := []Scope{place(b, "sarah", "eng", false), place(b, "marcus", "board", true), place(b, "sarah", "", false)}
	types := EventTypes()
	for day := range 8 {
		events := 60
		if day == 7 {
			events = 200
		}
		at := time.Date(2026, 3, 11+day, 7, 0, 0, 0, time.UTC)
		for i := range events {
			now.set(at.Add(time.Duration(i) * 2 * time.Minute))
			var posted []Posted
			for _, scope := range scopes {
				posted = append(posted, Posted{scope, Event{
					Type: types[i%len(types)], Name: "Sarah Chen", Session: "s",
					Summary: fmt.Sprintf("Step %d of day %d: the event bus takes %d messages a second on the new broker", i, day, i*1000),
				}})
			}
			if _, err := s.Record(b.Context(), posted); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkWorkingMemory renders the section as a request does.
func BenchmarkWorkingMemory(b *testing.B) {
	s, now := testStore(b, nil)
	busy(b, s, now)
	for _, bb := range []struct {
		name    string
		scope   Scope
		opening bool
	}{
		{"busy day, three audiences", place(b, "sarah", "board", true), true},
		{"busy day, later turn", place(b, "sarah", "board", true), false},
		{"nothing to tell", func() Scope { s, _ := NewScope("other", "agent", "ann", "", false); return s }(), true},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				var v View
				if err := s.workingMemory(b.Context(), &v, bb.scope, &Moment{At: now.now(), Opening: bb.opening}); err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
			}
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
		})
	}
}

// BenchmarkRecord writes events, each with all that follows from it.
func BenchmarkRecord(b *testing.B) {
	s, now := testStore(b, nil)
	scope := place(b, "sarah", "eng", false)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		now.set(now.now().Add(20 * time.Second))
		if !s.note(scope, Event{Type: Decision, Summary: fmt.Sprintf("Decision %d about the event bus", i)}) {
			if err := s.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHear is what the writer does for a message in a channel.
func BenchmarkHear(b *testing.B) {
	s, now := testStore(b, nil)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i++
		now.set(noon.Add(time.Duration(i) * time.Second))
		user := i % 50
		says(b, s, place(b, fmt.Sprint("U", user), fmt.Sprint("C", user%20), false), fmt.Sprint("S", user%20), fmt.Sprint("Name of ", user), fmt.Sprint("I'm on task ", i, " of the release."))
		if i%500 == 0 {
			if err := s.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkNote is what the request pays for the note of a message in a channel, with the writer held up so that its work
// counts for nothing. notes/s is with the writing.
func BenchmarkNote(b *testing.B) {
	s, now := testStore(b, nil)
	ann := place(b, "U1", "eng", false)
	talks(b, s, ann, "eng", "Ann", "hello")
	around(b, s, ann, Moment{Session: "eng"})
	h := Heard{
		Session: "eng", Placed: true, NewTurn: true, Platform: "slack", ChannelName: "eng", UserName: "Ann",
		Voices: []Voice{{Name: "Ann", User: true, Text: "The release is on Thursday, then."}}, At: now.now(),
	}
	hold := func() *sql.Tx {
		tx, err := s.db.Writer.Begin()
		if err != nil {
			b.Fatal(err)
		}
		return tx
	}
	let := func(tx *sql.Tx) {
		if err := errors.Join(tx.Rollback(), s.Sync(b.Context())); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	tx, n, began := hold(), 0, time.Now()
	for b.Loop() {
		if n++; !s.Hear(ann, h) {
			b.StopTimer()
			let(tx)
			tx = hold()
			b.StartTimer()
		}
	}
	let(tx)
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "notes/s")
}
