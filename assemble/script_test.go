package assemble

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestScriptGolden plays a conversation of twenty turns while memory grows, with regenerated answers, an edited history,
// branches, a second client and a restart, and holds the bytes that go out with each request.
func TestScriptGolden(t *testing.T) {
	a := newAssembler(t, func(o *Options) { o.MaxSystemChars = 6000 })
	journal := &tape{}
	s, clock := journal.restart(t, a, day)
	var out strings.Builder
	sent := map[TurnKey]string{} // within the epoch
	block, epoch := "", 0
	ask := func(what string, turns []string, memories int) {
		t.Helper()
		clock.now = clock.now.Add(40 * time.Second)
		in := recall(memories-1, memories)
		in.Tier = []ModelTier{Small, Mid}[memories%2]
		got := plan(t, s, "ann/1", keysOf(turns...), in)
		fmt.Fprintf(&out, "===== %s: epoch %d, %d turns\n", what, got.Epoch, len(turns))
		if got.Epoch != epoch {
			fmt.Fprintf(&out, "----- system\n%s\n", got.SystemBlock)
			block, epoch, sent = got.SystemBlock, got.Epoch, map[TurnKey]string{}
		} else if got.SystemBlock != block {
			t.Errorf("%s: the system block changed", what)
		}
		for i, key := range keysOf(turns...) {
			switch before, known := sent[key]; {
			case !known:
				fmt.Fprintf(&out, "----- before turn %d\n%s\n", i+1, got.Prefixes[i])
				sent[key] = got.Prefixes[i]
			case before != got.Prefixes[i]:
				t.Errorf("%s: turn %d changed from %q to %q", what, i+1, before, got.Prefixes[i])
			}
		}
	}
	var turns []string
	for i := range 20 {
		turns = append(turns, fmt.Sprint("question ", i+1))
		ask(fmt.Sprint("turn ", i+1), turns, i+1)
		switch i {
		case 3:
			ask("regenerated", turns, 15)
		case 6:
			ask("a branch from turn 2", append(slices.Clone(turns[:2]), "another way"), i+2)
		case 9:
			s, clock = journal.restart(t, a, clock.now)
			ask("the same after a restart", turns, 16)
		case 11:
			ask("a second client on the branch", append(slices.Clone(turns[:2]), "another way", "and on"), i+1)
		case 13:
			edited := slices.Clone(turns)
			edited[4] = "question 5, edited"
			ask("history edited at turn 5", edited, 17)
		}
	}
	golden(t, "script", out.String())
	if epoch != 1 {
		t.Errorf("it took %d epochs, want 1", epoch)
	}
}
