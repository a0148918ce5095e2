package routing

import (
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

// health knows which models failed lately. It is the breaker: one failure
// opens it for the cooldown, after which the next request is the probe. Safe
// for concurrent use; it holds at most one entry for each model.
type health struct {
	clock func() time.Time
	mu    sync.Mutex
	until map[string]time.Time
}

func newHealth(clock func() time.Time) *health {
	return &health{clock: clock, until: make(map[string]time.Time)}
}

// report notes how a model did.
func (h *health) report(model string, f Failure, retryAfter time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f == Healthy {
		delete(h.until, model)
		return
	}
	if d := f.cooldown(retryAfter); d > 0 {
		h.until[model] = h.clock().Add(d)
	}
}

// cooling reports whether a model is to be left alone.
func (h *health) cooling(model string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	until, ok := h.until[model]
	return ok && h.clock().Before(until)
}
