package proxy

import (
	"sync"

	"github.com/understudy-ai/understudy/ledger"
)

// maxTrial bounds the conversations whose last arm is remembered, in two
// halves.
const maxTrial = 20_000

// trial remembers, of each conversation in the scaffold's trial, of which arm
// its newest answer was, so that a correction counts for the arm that it
// corrects. It holds two generations: when the young one is full it becomes the
// old one. The zero value is empty and safe for concurrent use.
type trial struct {
	mu         sync.Mutex
	young, old map[trialKey]trialTurn
}

type trialKey struct{ tenant, agent, session string }

// trialTurn is the human message that was answered, by its index, and the arm.
type trialTurn struct {
	human int
	arm   string
}

// settle says which arm the words of a finished request correct, and remembers
// the request's own. A turn that comes again, or an earlier one, corrects
// nothing that it follows.
func (t *trial) settle(x *exchange) {
	if x.session == "" || x.sideCall || x.human < 0 || x.entry.Outcome != ledger.OutcomeOK {
		return
	}
	key := trialKey{x.who.tenant, x.who.agent, x.session}
	t.mu.Lock()
	defer t.mu.Unlock()
	before, known := t.young[key]
	if !known {
		before, known = t.old[key]
	}
	if known && x.corrects && x.newTurn() && before.human < x.human {
		x.entry.CorrectedArm = before.arm
	}
	if !known && x.entry.ScaffoldArm == "" {
		return
	}
	if t.young == nil || len(t.young) >= maxTrial/2 {
		t.old, t.young = t.young, map[trialKey]trialTurn{}
	}
	t.young[key] = trialTurn{x.human, x.entry.ScaffoldArm}
}
