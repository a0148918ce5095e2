package eval

import (
	"errors"
	"fmt"
)

// ErrClaim says that a condition was not what it claims to be.
var ErrClaim = errors.New("the condition was not what it claims")

// holdTo compares what a condition claims with what the proxy did. primed says
// that there was something to remember. An evaluation whose small model ran as
// a mid-size one, or whose "memory on" recalled nothing, measures something
// else than it says.
func holdTo(c *Condition, a Applied, primed bool) error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if a.FailOpen != "" {
		bad("step %s failed, so the prompt went out as it came", a.FailOpen)
	}
	if a.Model != c.Model {
		bad("model %q answered, not %q", a.Model, c.Model)
	}
	if c.Assembler && c.Tier != "" && a.ModelTier != c.Tier {
		bad("the prompt was assembled for a %q model, not a %q one", a.ModelTier, c.Tier)
	}
	if !c.Assembler && (a.InjectedTokens > 0 || a.Frames > 0 || a.Scaffold) {
		bad("the assembler is off, yet %d tokens were added", a.InjectedTokens)
	}
	if !c.Memory && a.Memories > 0 {
		bad("memory is off, yet %d memories were used", a.Memories)
	}
	if c.Memory && primed && a.Memories == 0 {
		bad("memory is on and holds something, yet nothing of it was used")
	}
	if !c.Scaffold && a.Scaffold {
		bad("the scaffold is off, yet there was one")
	}
	if c.Scaffold && a.HeldOut {
		bad("the scaffold is on, yet one that was due was held out")
	}
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("condition %s: %w: %w", c.Code, ErrClaim, errors.Join(wrong...))
}
