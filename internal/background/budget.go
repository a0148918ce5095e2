package background

import (
	"context"
	"slices"
	"time"
)

// spending is what the calls for one purpose came to; guarded by Runner.mu.
type spending struct {
	calls, failed, unpriced int64
	usd                     float64
}

// expense is one call of the last hour.
type expense struct {
	at      time.Time
	usd     float64
	unknown bool
}

// Call makes a call to a model for a purpose, if the budget of the hour allows it, else it returns [ErrBudget]. call returns what
// it cost, nil when that isn't known, also when it failed. With a limit in dollars a call of unknown cost is taken to
// have used up the hour's: what can't be counted can't be bounded.
func (r *Runner) Call(ctx context.Context, purpose string, call func(context.Context) (usd *float64, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := r.allow()
	if e == nil {
		return ErrBudget
	}
	usd, err := call(ctx)
	r.book(purpose, e, usd, err)
	return err
}

// allow takes one call from the budget; nil: nothing is left of it.
func (r *Runner) allow() *expense {
	now := r.cfg.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	calls, usd, unknown := r.lastHour(now)
	if calls >= r.cfg.CallsPerHour || r.cfg.USDPerHour > 0 && (unknown || usd >= r.cfg.USDPerHour) {
		return nil
	}
	e := &expense{at: now}
	r.spent = append(r.spent, e)
	return e
}

// lastHour sums the calls of the last hour and forgets older ones. The caller holds mu.
func (r *Runner) lastHour(now time.Time) (calls int, usd float64, unknown bool) {
	old := 0
	for old < len(r.spent) && !r.spent[old].at.After(now.Add(-time.Hour)) {
		old++
	}
	r.spent = slices.Delete(r.spent, 0, old)
	for _, e := range r.spent {
		usd += e.usd
		unknown = unknown || e.unknown
	}
	return len(r.spent), usd, unknown
}

// book writes down what a call came to.
func (r *Runner) book(purpose string, e *expense, usd *float64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.calls[purpose]
	if s == nil {
		s = &spending{}
		r.calls[purpose] = s
	}
	s.calls++
	if err != nil {
		s.failed++
	}
	if usd != nil {
		s.usd, e.usd = s.usd+*usd, *usd
		return
	}
	s.unpriced++
	e.unknown = err == nil // what failed before it was answered is not billed
}
