package ambient

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestNotesGather holds when a message in a channel is told of, and when it is written: one of somebody who was there
// before is told of at once and written with others; one of which the file may know more is written at once.
func TestNotesGather(t *testing.T) {
	eng, ops, board := place(t, "U1", "eng", false), place(t, "U1", "ops", false), place(t, "U1", "board", true)
	tests := []struct {
		name   string
		scope  Scope
		where  string // the conversation
		who    string
		told   []string // of other channels, at once
		people []string // at once
		rows   int      // in the file at once, of what was said
	}{
		{
			"somebody who was there", eng, "eng", "Sarah",
			[]string{"[eng, 12:01] Sarah: now", "[ops, 12:00] Sarah: before"},
			[]string{"Sarah", "Bo"},
			0,
		},
		{
			"by another name", eng, "eng", "Sarah Chen",
			[]string{"[eng, 12:01] Sarah Chen: now", "[ops, 12:00] Sarah: before"},
			[]string{"Sarah Chen", "Bo"},
			1,
		},
		{
			"a channel that is new", place(t, "U1", "dev", false), "eng", "Sarah",
			[]string{"[dev, 12:01] Sarah: now", "[eng, 12:00] Bo: before", "[ops, 12:00] Sarah: before"},
			[]string{"Sarah", "Bo"},
			1,
		},
		{
			"a conversation that is new", eng, "other", "Sarah",
			[]string{"[eng, 12:01] Sarah: now", "[ops, 12:00] Sarah: before"},
			[]string{"Bo", "Sarah"},
			1,
		},
		{"a channel that is private now", place(t, "U1", "ops", true), "eng", "Sarah", []string{"[eng, 12:00] Bo: before"}, []string{"Bo", "Sarah"}, 1},
		{
			"a channel that was private", place(t, "U1", "board", false), "eng", "Sarah",
			[]string{"[eng, 12:00] Bo: before", "[ops, 12:00] Sarah: before"},
			[]string{"Sarah", "Bo"},
			0,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, now := testStore(t, nil)
				asking := place(t, "U9", "elsewhere", false)
				told := func() (channels, people []string) {
					v, err := s.Surroundings(t.Context(), asking, Moment{Placed: true, At: now.now()})
					if err != nil {
						t.Error(err)
					}
					present, err := s.present(t.Context(), eng, &Moment{Session: "eng", At: now.now()})
					if err != nil {
						t.Error(err)
					}
					for _, p := range present {
						people = append(people, p.human.Name)
					}
					return lines(v.Channels), people
				}
				written := func() (n int) {
					err := s.db.Reader.QueryRowContext(t.Context(), `SELECT count(*) FROM sayings WHERE text = 'now'`).Scan(&n)
					if err != nil {
						t.Error(err)
					}
					return n
				}
				for _, scope := range []Scope{ops, board, eng} {
					talks(t, s, scope, "", "Sarah", "before")
				}
				now.set(noon.Add(time.Second))
				talks(t, s, place(t, "U2", "eng", false), "", "Bo", "before")
				if err := s.Sync(t.Context()); err != nil {
					t.Fatal(err)
				}
				told() // RAM is loaded
				now.set(noon.Add(time.Minute))
				h := Heard{Session: tt.where, Placed: true, NewTurn: true, Platform: "slack", Voices: []Voice{{Name: tt.who, User: true, Text: "now"}}, At: now.now()}
				if !s.Hear(tt.scope, h) {
					t.Fatal("the queue is full")
				}
				for _, at := range []time.Duration{0, maxWait} {
					time.Sleep(at) // the clock of synctest
					synctest.Wait()
					channels, people := told()
					if diff := cmp.Diff(tt.told, channels); diff != "" {
						t.Errorf("after %v other channels are told of as (-want +got):\n%s", at, diff)
					}
					if diff := cmp.Diff(tt.people, people); diff != "" {
						t.Errorf("after %v people are told of as (-want +got):\n%s", at, diff)
					}
					if n, want := written(), max(tt.rows, min(1, int(at))); n != want {
						t.Errorf("after %v %d rows are written, want %d", at, n, want)
					}
				}
				s.streets.drop(func(agentKey, *street) bool { return true })
				s.rooms.drop(func(roomKey, *room) bool { return true })
				channels, people := told()
				if diff := cmp.Diff([][]string{tt.told, tt.people}, [][]string{channels, people}); diff != "" {
					t.Errorf("the file tells of them as (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestNewerNoteStays writes a message of a channel after a newer one was told to RAM.
func TestNewerNoteStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, now := testStore(t, nil)
		eng := place(t, "U1", "eng", false)
		told := func() []string {
			v, err := s.Surroundings(t.Context(), place(t, "U9", "elsewhere", false), Moment{Session: "eng", Placed: true, At: now.now()})
			if err != nil {
				t.Error(err)
			}
			return lines(v.Channels)
		}
		talks(t, s, eng, "", "Sarah", "first")
		synctest.Wait()
		told() // RAM is loaded
		tx, err := s.db.Writer.Begin()
		if err != nil {
			t.Fatal(err)
		}
		talks(t, s, eng, "", "Sarah", "second")
		time.Sleep(maxWait)
		synctest.Wait() // the writer has it, and waits for the file
		now.set(noon.Add(time.Minute))
		talks(t, s, eng, "", "Sarah", "third")
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var topic string
		if err := s.db.Reader.QueryRowContext(t.Context(), `SELECT topic FROM channels`).Scan(&topic); err != nil || topic != "second" {
			t.Errorf("the file has %q, error %v, want the second message", topic, err)
		}
		if diff := cmp.Diff([]string{"[eng, 12:01] Sarah: third"}, told()); diff != "" {
			t.Errorf("told of (-want +got):\n%s", diff)
		}
	})
}

// TestStepsGather holds that a worker's step is written with others, and what begins or ends its run at once.
func TestStepsGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, now := testStore(t, nil)
		open := place(t, "U1", "eng", false)
		tests := []struct {
			name        string
			at          time.Duration
			newTurn     bool
			final       bool
			failed      string
			wantWritten bool // at once
			wantRuns    []string
		}{
			{"begins", 0, true, false, "", true, []string{"[worker] Run the suite, under way since 12:00"}},
			{"goes on", 2 * time.Minute, false, false, "", false, []string{"[worker] Run the suite, under way since 12:00"}},
			{"goes on still", 4 * time.Minute, false, false, "", false, []string{"[worker] Run the suite, under way since 12:00"}},
			{"fails", 5 * time.Minute, false, false, "timeout", true, []string{"[worker] Run the suite, under way since 12:00"}},
			{"ends", 6 * time.Minute, false, true, "", true, []string{"[worker] Run the suite, ended 12:06"}},
		}
		for _, tt := range tests {
			now.set(noon.Add(tt.at))
			if !s.Hear(open, Heard{Session: "w", Process: "worker", Words: "Run the suite", NewTurn: tt.newTurn, Final: tt.final, Failed: tt.failed, At: now.now()}) {
				t.Fatal("the queue is full")
			}
			synctest.Wait()
			v, err := s.Surroundings(t.Context(), place(t, "U2", "ops", false), Moment{Placed: true, At: now.now().Add(4 * time.Minute)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.wantRuns, lines(v.Status[1:])); diff != "" {
				t.Errorf("%s: runs (-want +got):\n%s", tt.name, diff)
			}
			var last int64
			if err := s.db.Reader.QueryRowContext(t.Context(), `SELECT last FROM runs`).Scan(&last); err != nil || (last == now.now().UnixMilli()) != tt.wantWritten {
				t.Errorf("%s: the file has %v, error %v; written %t", tt.name, time.UnixMilli(last).UTC(), err, tt.wantWritten)
			}
		}
	})
}
