package assemble

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// clock is a clock that stands until it is moved.
type clock struct{ now time.Time }

func (c *clock) time() time.Time { return c.now }

func newSessions(t testing.TB, a *Assembler, change func(*SessionOptions)) (*Sessions, *clock) {
	t.Helper()
	c := &clock{now: day}
	opts := DefaultSessionOptions()
	opts.Clock = c.time
	if change != nil {
		change(&opts)
	}
	s, err := NewSessions(a, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// keysOf returns the keys of a conversation's human turns, each of which an answer follows.
func keysOf(turns ...string) []TurnKey {
	var out []TurnKey
	for i, text := range turns {
		out = append(out, KeyOf(2*i, text))
	}
	return out
}

// planned is a plan in full.
type planned struct {
	Assembled
	Prefixes map[int]string
	Epoch    int
}

// conversation is that of a user in a session, "ann/1"; without a slash of nobody in particular.
func conversation(key string) Conversation {
	if user, session, ok := strings.Cut(key, "/"); ok {
		return Conversation{Tenant: "acme", Agent: "bot", User: user, Session: session}
	}
	return Conversation{Tenant: "acme", Agent: "bot", Session: key}
}

// plan asks for a plan with all that is known, and checks that its sums are those of its account.
func plan(t testing.TB, s *Sessions, key string, turns []TurnKey, in Input) planned {
	t.Helper()
	p, err := s.Plan(conversation(key), turns, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := planned{Assembled: p.Account(), Prefixes: map[int]string{}, Epoch: p.Epoch}
	for _, prefix := range p.Prefixes {
		got.Prefixes[prefix.Turn] = prefix.Text
	}
	if p.FramesUsed != got.Debug.FramesUsed || p.Memories != len(got.FrameIDs) || p.TotalChars != got.Debug.TotalChars ||
		p.Scaffold != got.Scaffold || p.SystemBlock != got.SystemBlock || p.UserPrefix != got.UserPrefix {
		t.Errorf("plan %+v differs from its account %+v", p, got)
	}
	return got
}

// recall is an input in which a search found the frames numbered so.
func recall(numbers ...int) Input {
	in := Input{ScanSafe: true, Tier: Small, Shape: "compare", ShapeConfidence: 0.9}
	in.State = frames("decision", 1)
	for _, n := range numbers {
		in.Recalled = append(in.Recalled, frames("fact", n+1)[n])
	}
	return in
}

func TestPlanKeepsBytes(t *testing.T) {
	s, clock := newSessions(t, newAssembler(t, nil), nil)
	one := plan(t, s, "k", keysOf("a"), recall(0, 1))
	if got := sectionLines(one.SystemBlock, "# Recalled memory"); len(got) != 2 {
		t.Fatalf("first turn recalls %q, want two frames in the system block:\n%s", got, one.SystemBlock)
	}
	if want := map[int]string{0: one.UserPrefix}; one.UserPrefix == "" || !cmp.Equal(want, one.Prefixes) {
		t.Fatalf("first turn's prefixes = %v, want its scaffold alone", one.Prefixes)
	}

	clock.now = clock.now.Add(time.Minute)
	later := recall(1, 2)
	later.State = frames("decision", 3) // memory grew meanwhile
	two := plan(t, s, "k", keysOf("a", "b"), later)
	if two.SystemBlock != one.SystemBlock || two.Epoch != one.Epoch {
		t.Errorf("the system block changed:\n%s", cmp.Diff(one.SystemBlock, two.SystemBlock))
	}
	if two.Prefixes[0] != one.Prefixes[0] {
		t.Errorf("the first turn's prefix changed:\n%s", cmp.Diff(one.Prefixes[0], two.Prefixes[0]))
	}
	want := openTag + "\n" + framing + "\n\n# Recalled memory\n- [fact, 2026-03-16] fact number 02 stands.\n\n" +
		"# Response format\n" + scaffolds["compare"].small + "\n" + closeTag
	if diff := cmp.Diff(want, two.Prefixes[1]); diff != "" {
		t.Errorf("second turn's prefix (-want +got):\n%s", diff)
	}
	if two.Debug.FramesUsed != 4 || !cmp.Equal(two.FrameIDs, []string{"decision-00", "fact-00", "fact-01", "fact-02"}) {
		t.Errorf("frames used = %d %v, want 4", two.Debug.FramesUsed, two.FrameIDs)
	}

	t.Run("asked again", func(t *testing.T) { // a retry, a regenerated answer, the next step of a tool loop
		again := recall(5, 6)
		again.Tier, again.Shape = Frontier, "draft"
		got := plan(t, s, "k", keysOf("a", "b"), again)
		if diff := cmp.Diff(two.Prefixes, got.Prefixes); diff != "" || got.SystemBlock != one.SystemBlock {
			t.Errorf("bytes changed:\n%s", diff)
		}
	})
	t.Run("asked again in a fixed format", func(t *testing.T) {
		fixed := recall(2)
		fixed.FormatFixed = true
		got := plan(t, s, "k", keysOf("a", "b"), fixed)
		if got.Scaffold != "" || got.Debug.ScaffoldApplied || strings.Contains(got.Prefixes[1], "Response format") {
			t.Errorf("scaffold = %q in\n%s", got.Scaffold, got.Prefixes[1])
		}
		want := openTag + "\n" + framing + "\n\n# Recalled memory\n- [fact, 2026-03-16] fact number 02 stands.\n" + closeTag
		if got.Prefixes[1] != want {
			t.Errorf("prefix = %q, want %q", got.Prefixes[1], want)
		}
		first := plan(t, s, "k", keysOf("a"), fixed)
		if len(first.Prefixes) != 0 || first.Debug.ScaffoldApplied {
			t.Errorf("first turn's prefixes = %v, want none", first.Prefixes)
		}
	})
	t.Run("branch", func(t *testing.T) { // from the first turn, where fact 2 was never shown
		got := plan(t, s, "k", keysOf("a", "c"), recall(2))
		if got.Prefixes[0] != one.Prefixes[0] || !strings.Contains(got.Prefixes[1], "fact number 02") {
			t.Errorf("prefixes = %v", got.Prefixes)
		}
	})
	t.Run("edited history", func(t *testing.T) {
		got := plan(t, s, "k", keysOf("A", "b", "d"), recall(3))
		if _, there := got.Prefixes[0]; there || got.Prefixes[1] != two.Prefixes[1] {
			t.Errorf("prefixes = %v, want none for the edited turn and the old one for the next", got.Prefixes)
		}
		again := plan(t, s, "k", keysOf("A"), recall(4))
		if len(again.Prefixes) != 0 {
			t.Errorf("prefixes = %v, want none: the turn went out without one", again.Prefixes)
		}
	})
	t.Run("another conversation", func(t *testing.T) {
		got := plan(t, s, "k2", keysOf("a", "b"), recall(7))
		if got.Epoch == one.Epoch || !strings.Contains(got.SystemBlock, "fact number 07") || len(got.Prefixes) != 1 {
			t.Errorf("got epoch %d, prefixes %v", got.Epoch, got.Prefixes)
		}
	})
	t.Run("the operator's texts changed", func(t *testing.T) {
		edited := recall(0)
		edited.Identity, edited.Edition = []IdentityFile{{"SOUL.md", "You are Ada."}}, 7
		before := plan(t, s, "k3", keysOf("a"), recall(0))
		got := plan(t, s, "k3", keysOf("a"), edited)
		if got.Epoch == before.Epoch || !strings.Contains(got.SystemBlock, "You are Ada.") {
			t.Errorf("epoch %d after %d, block:\n%s", got.Epoch, before.Epoch, got.SystemBlock)
		}
		if again := plan(t, s, "k3", keysOf("a"), edited); again.Epoch != got.Epoch {
			t.Errorf("epoch %d, want %d: nothing changed since", again.Epoch, got.Epoch)
		}
	})
	t.Run("cold", func(t *testing.T) {
		clock.now = clock.now.Add(5*time.Minute + 1)
		got := plan(t, s, "k", keysOf("a", "b", "e"), recall(8))
		if got.Epoch == one.Epoch || !strings.Contains(got.SystemBlock, "fact number 08") || len(got.Prefixes) != 1 {
			t.Errorf("got epoch %d, prefixes %v", got.Epoch, got.Prefixes)
		}
		if s.Len() != 1 {
			t.Errorf("%d conversations are kept, want only the one in use", s.Len())
		}
	})
}

func TestPlanWithoutHumanTurn(t *testing.T) {
	s, _ := newSessions(t, newAssembler(t, nil), nil)
	for range 2 {
		got := plan(t, s, "k", nil, recall(0))
		if got.SystemBlock == "" || len(got.Prefixes) != 0 || got.UserPrefix != "" || got.Debug.ScaffoldApplied {
			t.Errorf("got %+v, want a system block alone", got)
		}
	}
}

func TestPlanAfresh(t *testing.T) {
	whole, _ := newSessions(t, newAssembler(t, systemPlacement), nil)
	epoch, _ := newSessions(t, newAssembler(t, nil), nil)
	for name, plan := range map[string]func(in Input) planned{
		"system placement": func(in Input) planned { return plan(t, whole, "k", keysOf("a", "b"), in) },
		"no key":           func(in Input) planned { return plan(t, epoch, "", keysOf("a", "b"), in) },
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 2 {
				got := plan(recall(n))
				if !strings.Contains(got.SystemBlock, fmt.Sprintf("fact number %02d", n)) || got.Epoch != 0 {
					t.Errorf("epoch %d, system block:\n%s", got.Epoch, got.SystemBlock)
				}
				if text := got.SystemBlock + got.Prefixes[1]; strings.Count(text, "# Response format") != 1 {
					t.Errorf("want one scaffold:\n%s", text)
				}
			}
		})
	}
	if got := plan(t, whole, "k", keysOf("a"), recall(0)); len(got.Prefixes) != 0 {
		t.Errorf("system placement has prefixes %v", got.Prefixes)
	}
	if whole.Len()+epoch.Len() != 0 {
		t.Errorf("%d conversations are kept, want none", whole.Len()+epoch.Len())
	}
}

func TestEpochEndsWhenFull(t *testing.T) {
	const budget = 700
	s, _ := newSessions(t, newAssembler(t, func(o *Options) { o.MaxSystemChars = budget }), nil)
	var turns []string
	epochs := map[int]int{} // turns by epoch
	for i := range 40 {
		turns = append(turns, fmt.Sprint("turn ", i))
		got := plan(t, s, "k", keysOf(turns...), recall(2*i, 2*i+1))
		epochs[got.Epoch]++
		if got.Debug.TotalChars > budget {
			t.Errorf("turn %d: %d characters, want at most %d", i, got.Debug.TotalChars, budget)
		}
		total := len([]rune(got.SystemBlock))
		for _, p := range got.Prefixes {
			total += len([]rune(p))
		}
		if total != got.Debug.TotalChars {
			t.Errorf("turn %d: total chars = %d, want %d", i, got.Debug.TotalChars, total)
		}
	}
	if len(epochs) < 3 {
		t.Errorf("epochs = %v, want several", epochs)
	}
	for number, n := range epochs {
		if n < minEpochTurns && number != len(epochs) {
			t.Errorf("epoch %d served %d turns, want at least %d", number, n, minEpochTurns)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	a := newAssembler(t, nil)
	t.Run("by number", func(t *testing.T) {
		s, _ := newSessions(t, a, func(o *SessionOptions) { o.MaxSessions = 3 })
		first := plan(t, s, "0", keysOf("a"), recall(0))
		for i := 1; i < 10; i++ {
			plan(t, s, fmt.Sprint(i), keysOf("a"), recall(0))
			if got := plan(t, s, "0", keysOf("a"), recall(1)); got.Epoch != first.Epoch {
				t.Fatalf("the conversation in use was dropped after %d others", i)
			}
		}
		if s.Len() != 3 {
			t.Errorf("%d conversations are kept, want 3", s.Len())
		}
	})
	t.Run("by bytes", func(t *testing.T) {
		const limit = 20_000
		s, _ := newSessions(t, a, func(o *SessionOptions) { o.MaxBytes = limit })
		for i := range 200 {
			plan(t, s, fmt.Sprint(i%50), keysOf("a", fmt.Sprint(i)), recall(i))
			if s.bytes > limit || s.bytes < 0 {
				t.Fatalf("%d bytes are kept, want at most %d", s.bytes, limit)
			}
		}
		if s.Len() == 0 {
			t.Error("nothing is kept")
		}
		if _, err := s.Drop(t.Context(), func(Conversation, []string) bool { return true }); err != nil {
			t.Error(err)
		}
		if s.bytes != 0 || s.Len() != 0 || s.recent.Len() != 0 {
			t.Errorf("%d bytes in %d conversations remain, want none", s.bytes, s.Len())
		}
	})
	t.Run("larger than the whole", func(t *testing.T) {
		s, _ := newSessions(t, a, func(o *SessionOptions) { o.MaxBytes = 1 })
		if got := plan(t, s, "k", keysOf("a"), recall(0)); got.SystemBlock == "" || s.Len() != 0 || s.bytes != 0 {
			t.Errorf("%d conversations and %d bytes are kept, want none", s.Len(), s.bytes)
		}
	})
}

func TestDrop(t *testing.T) {
	s, _ := newSessions(t, newAssembler(t, nil), nil)
	plan(t, s, "ann/1", keysOf("a"), recall(0))
	plan(t, s, "ann/2", keysOf("a"), recall(1))
	plan(t, s, "bob/1", keysOf("a"), recall(2))
	plan(t, s, "bob/1", keysOf("a", "b"), recall(3))
	carries := func(id string) func(Conversation, []string) bool {
		return func(_ Conversation, ids []string) bool { return slices.Contains(ids, id) }
	}
	tests := []struct {
		name  string
		match func(Conversation, []string) bool
		want  int
	}{
		{"a frame in a prefix", carries("fact-03"), 1},
		{"a frame in a block", carries("fact-00"), 1},
		{"a frame that is gone", carries("fact-00"), 0},
		{"a user", func(whose Conversation, _ []string) bool { return whose.User == "ann" }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := s.Drop(t.Context(), tt.match); got != tt.want || err != nil {
				t.Errorf("dropped %d, error %v; want %d", got, err, tt.want)
			}
		})
	}
	if got := plan(t, s, "bob/1", keysOf("a", "b"), recall(9)); strings.Contains(fmt.Sprint(got), "fact number 03") {
		t.Errorf("the dropped frame came again: %v", got)
	}
}

// TestPlanProperties walks through random conversations, in which histories are edited, answers regenerated and
// branches taken while memory grows, and checks what has to hold at each step.
func TestPlanProperties(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		budget := 600 + rng.IntN(4000)
		s, clock := newSessions(t, newAssembler(t, func(o *Options) { o.MaxSystemChars = budget }), nil)
		var turns []string
		memories := 1
		type sent struct {
			epoch int
			turn  TurnKey
		}
		blocks := map[int]string{} // by epoch
		prefixes := map[sent]string{}
		for step := range 120 {
			switch op := rng.IntN(10); {
			case op < 5 || len(turns) == 0:
				turns = append(turns, fmt.Sprintf("turn %d.%d", seed, step))
			case op == 5: // edit an earlier turn in place
				turns[rng.IntN(len(turns))] = fmt.Sprintf("edited %d", step)
			case op == 6: // branch
				turns = append(slices.Clone(turns[:rng.IntN(len(turns))]), fmt.Sprintf("branch %d", step))
			case op == 7:
				clock.now = clock.now.Add(time.Duration(rng.IntN(int(4 * time.Minute))))
			case op == 8:
				memories += rng.IntN(5)
			} // else regenerate
			in := recall(rng.IntN(memories), rng.IntN(memories), rng.IntN(memories))
			in.Tier = ModelTier(rng.IntN(3) - 1)
			got := plan(t, s, "k", keysOf(turns...), in)

			if block, ok := blocks[got.Epoch]; ok && block != got.SystemBlock {
				t.Fatalf("seed %d, step %d: the system block changed within epoch %d", seed, step, got.Epoch)
			}
			blocks[got.Epoch] = got.SystemBlock
			if got.Debug.TotalChars > budget {
				t.Fatalf("seed %d, step %d: %d characters, want at most %d", seed, step, got.Debug.TotalChars, budget)
			}
			for i, turn := range keysOf(turns...) {
				k := sent{got.Epoch, turn}
				if before, ok := prefixes[k]; ok && before != got.Prefixes[i] {
					t.Fatalf("seed %d, step %d: turn %d changed from %q to %q", seed, step, i, before, got.Prefixes[i])
				}
				prefixes[k] = got.Prefixes[i]
			}
			if got.UserPrefix != got.Prefixes[len(turns)-1] {
				t.Fatalf("seed %d, step %d: the newest prefix is %q, want %q", seed, step, got.Prefixes[len(turns)-1], got.UserPrefix)
			}
		}
	}
}

// TestPlanConcurrently sends each turn of several conversations many times at once.
func TestPlanConcurrently(t *testing.T) {
	s, _ := newSessions(t, newAssembler(t, nil), nil)
	const conversations, turns, requests = 4, 6, 8
	for turn := range turns {
		var plans [conversations][requests]planned
		var wg sync.WaitGroup
		for c := range conversations {
			for r := range requests {
				wg.Go(func() {
					var texts []string
					for i := range turn + 1 {
						texts = append(texts, fmt.Sprint(c, i))
					}
					plans[c][r] = plan(t, s, fmt.Sprint(c), keysOf(texts...), recall(turn, 10+r))
				})
			}
		}
		wg.Wait()
		for c := range conversations {
			for r := range requests {
				if diff := cmp.Diff(plans[c][0], plans[c][r]); diff != "" {
					t.Fatalf("conversation %d, turn %d: requests 0 and %d differ:\n%s", c, turn, r, diff)
				}
			}
		}
	}
}

func TestNewSessionsRejects(t *testing.T) {
	a := newAssembler(t, nil)
	tests := []struct {
		name      string
		assembler *Assembler
		change    func(*SessionOptions)
		want      string
	}{
		{"no TTL", a, func(o *SessionOptions) { o.CacheTTL = 0 }, "cache TTL is 0s"},
		{"no sessions", a, func(o *SessionOptions) { o.MaxSessions = 0 }, "0 sessions"},
		{"no bytes", a, func(o *SessionOptions) { o.MaxBytes = -1 }, "-1 bytes"},
		{"no clock", a, func(o *SessionOptions) { o.Clock = nil }, "clock is missing"},
		{"no assembler", nil, func(*SessionOptions) {}, "assembler or clock is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			opts := DefaultSessionOptions()
			tt.change(&opts)
			if _, err := NewSessions(tt.assembler, opts); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewSessions(%+v) = %v, want an error with %q", opts, err, tt.want)
			}
		})
	}
}
