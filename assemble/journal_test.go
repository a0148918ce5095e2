package assemble

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// tape is a journal in RAM.
type tape struct {
	records [][]byte
	state   *Sessions
}

func (j *tape) Append(record []byte) { j.records = append(j.records, bytes.Clone(record)) }

func (j *tape) Rewrite(context.Context) error {
	j.records = nil
	for record := range j.state.Snapshot() {
		j.Append(record)
	}
	return nil
}

// restart returns new sessions with what the journal holds, and their clock at now.
func (j *tape) restart(t testing.TB, a *Assembler, now time.Time) (*Sessions, *clock) {
	t.Helper()
	s, c := newSessions(t, a, nil)
	c.now, j.state = now, s
	for i, record := range j.records {
		if err := s.Restore(record); err != nil {
			t.Fatalf("record %d of %d: %v", i, len(j.records), err)
		}
	}
	s.Keep(j)
	return s, c
}

// TestEpochsSurviveRestart walks two equal conversations at a time, of which one is interrupted by restarts and by
// rewritings of the journal: both must send the same bytes.
func TestEpochsSurviveRestart(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		a := newAssembler(t, func(o *Options) { o.MaxSystemChars = 600 + rng.IntN(4000) })
		steady, steadyClock := newSessions(t, a, nil)
		journal := &tape{}
		s, clock := journal.restart(t, a, day)
		var turns []string
		for step := range 80 {
			switch op := rng.IntN(10); {
			case op < 5 || len(turns) == 0:
				turns = append(turns, fmt.Sprint("turn ", step))
			case op == 5:
				turns[rng.IntN(len(turns))] = fmt.Sprint("edited ", step)
			case op == 6:
				turns = append(slices.Clone(turns[:rng.IntN(len(turns))]), fmt.Sprint("branch ", step))
			case op == 7:
				clock.now = clock.now.Add(time.Duration(rng.IntN(int(200 * time.Second))))
				steadyClock.now = clock.now
			case op == 8:
				s, clock = journal.restart(t, a, clock.now)
			case op == 9 && step%2 == 0:
				if err := journal.Rewrite(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			in := recall(rng.IntN(30), rng.IntN(30))
			in.Tier = ModelTier(rng.IntN(3) - 1)
			want, got := plan(t, steady, "ann/1", keysOf(turns...), in), plan(t, s, "ann/1", keysOf(turns...), in)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, step %d (-steady +restarted):\n%s", seed, step, diff)
			}
		}
	}
}

func TestWithdrawnStaysWithdrawn(t *testing.T) {
	a := newAssembler(t, nil)
	for _, later := range []bool{false, true} {
		journal := &tape{}
		s, _ := journal.restart(t, a, day)
		turns := keysOf("a")
		if later {
			plan(t, s, "ann/1", turns, recall(0))
			turns = keysOf("a", "b")
		}
		first, err := s.Plan(conversation("ann/1"), turns, recall(1), nil)
		if err != nil {
			t.Fatal(err)
		}
		s.Withdraw(&first)
		s, _ = journal.restart(t, a, day)
		if got := plan(t, s, "ann/1", turns, recall(2)); strings.Contains(fmt.Sprint(got), "fact number 01") {
			t.Errorf("later %v: what was withdrawn came again: %v", later, got)
		}
	}
}

func TestDroppedIsGoneFromTheJournal(t *testing.T) {
	a := newAssembler(t, nil)
	journal := &tape{}
	s, _ := journal.restart(t, a, day)
	plan(t, s, "ann/1", keysOf("a"), recall(0))
	plan(t, s, "bob/1", keysOf("a"), recall(1))
	n, err := s.Drop(t.Context(), func(whose Conversation, _ []string) bool { return whose.User == "ann" })
	if n != 1 || err != nil {
		t.Fatalf("dropped %d, error %v; want 1", n, err)
	}
	all := string(bytes.Join(journal.records, nil))
	if strings.Contains(all, "fact number 00") || !strings.Contains(all, "fact number 01") {
		t.Errorf("the journal holds %q, want bob's alone", all)
	}
}

func TestUseIsJournaledNowAndThen(t *testing.T) {
	a := newAssembler(t, nil)
	journal := &tape{}
	s, clock := journal.restart(t, a, day)
	for range 20 { // a tool loop of twenty minutes
		plan(t, s, "ann/1", keysOf("a"), recall(0))
		plan(t, s, "ann/1", keysOf("a"), recall(0))
		clock.now = clock.now.Add(time.Minute)
	}
	if n := len(journal.records); n < 5 || n > 20 {
		t.Errorf("%d records, want some", n)
	}
	before := plan(t, s, "ann/1", keysOf("a"), recall(0))
	s, _ = journal.restart(t, a, clock.now)
	if got := plan(t, s, "ann/1", keysOf("a"), recall(1)); got.Epoch != before.Epoch {
		t.Errorf("epoch %d after the restart, want %d", got.Epoch, before.Epoch)
	}
}

// FuzzRestore checks that no record brings anything down, and that what is taken can be told again.
func FuzzRestore(f *testing.F) {
	journal := &tape{}
	s, _ := journal.restart(f, newAssembler(f, nil), day)
	plan(f, s, "ann/1", keysOf("a"), fullInput(Mid))
	plan(f, s, "ann/1", keysOf("a", "b"), recall(0))
	for _, record := range journal.records {
		f.Add(record)
	}
	f.Add([]byte{journalVersion, byte(recordWithdrawn)})
	f.Fuzz(func(t *testing.T, record []byte) {
		s, _ := newSessions(t, newAssembler(t, nil), nil)
		if s.Restore(record) != nil {
			return
		}
		for again := range s.Snapshot() {
			if err := s.Restore(again); err != nil {
				t.Errorf("what was restored can't be told again: %v", err)
			}
		}
		for key := range s.byKey {
			if _, err := s.Plan(key, keysOf("a"), recall(0), nil); err != nil {
				t.Error(err)
			}
		}
	})
}
