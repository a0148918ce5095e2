package routing

import (
	"maps"
	"sync"
	"time"
)

// Failure is how a model failed a request before its first byte.
type Failure int

// The failures. Each but Overflow sends the model into a cooldown.
const (
	Healthy     Failure = iota
	RateLimited         // 429
	Overloaded          // 5xx, 529
	TimedOut            // connected, and silent for too long
	Unreachable         // no connection, or one that broke
	Refused             // 401, 403 or 404 for a model that we chose and the client did not
	Overflow            // the prompt does not fit the model's window
)

// String is the label of the failure in metrics.
func (f Failure) String() string {
	return [...]string{"healthy", "rate_limited", "overloaded", "timeout", "unreachable", "refused", "overflow"}[f]
}

// How long a model is left alone. A rate limit's own Retry-After counts, up to
// maxCooldown; a refused model will not mend by itself soon.
const (
	cooldownLimit = 60 * time.Second
	cooldownFault = 15 * time.Second
	maxCooldown   = 10 * time.Minute
)

func (f Failure) cooldown(retryAfter time.Duration) time.Duration {
	switch f {
	case RateLimited:
		if retryAfter > 0 {
			return min(retryAfter, maxCooldown)
		}
		return cooldownLimit
	case Refused:
		return cooldownLimit
	case Overloaded, TimedOut, Unreachable:
		return cooldownFault
	}
	return 0
}

// health knows which models failed lately, and for whom: a caller's own key may
// be wrong or used up without the model being at fault. It is the breaker: one
// failure opens it for the cooldown, after which the next request is the probe.
// Safe for concurrent use.
type health struct {
	clock  func() time.Time
	mu     sync.Mutex
	until  map[served]time.Time
	absent map[string]time.Time // models that their upstream doesn't list, and until when that is believed
}

// served is a model as an account gets it.
type served struct{ account, model string }

// maxCooling bounds the cooldowns kept; beyond it those that are over go.
const maxCooling = 10_000

func newHealth(clock func() time.Time) *health {
	return &health{clock: clock, until: make(map[served]time.Time), absent: make(map[string]time.Time)}
}

// report notes how a model did.
func (h *health) report(s served, f Failure, retryAfter time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := f.cooldown(retryAfter)
	switch {
	case f == Healthy:
		delete(h.until, s)
		delete(h.absent, s.model)
	case f == Refused && !h.absent[s.model].IsZero():
		h.absent[s.model] = h.clock().Add(absentFor)
	case d > 0:
		h.until[s] = h.clock().Add(d)
		h.prune()
	}
}

// prune drops what is over, and all of it should that not be enough.
func (h *health) prune() {
	if len(h.until) <= maxCooling {
		return
	}
	now := h.clock()
	maps.DeleteFunc(h.until, func(_ served, until time.Time) bool { return !now.Before(until) })
	if len(h.until) > maxCooling {
		clear(h.until)
	}
}

// absentFor is how long an unlisted model is passed over. Then a request tries
// it: the list may have been read before it was complete. If it is refused, the
// time begins anew.
const absentFor = 10 * time.Minute

// avoid says why a model is to be left alone, "" when it is not.
func (h *health) avoid(s served) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until, ok := h.absent[s.model]; ok && h.clock().Before(until) {
		return fellAbsent
	}
	if until, ok := h.until[s]; ok && h.clock().Before(until) {
		return fellCooling
	}
	return ""
}

// list notes whether a model's upstream lists it.
func (h *health) list(model string, listed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if listed {
		delete(h.absent, model)
	} else {
		h.absent[model] = h.clock().Add(absentFor)
	}
}
