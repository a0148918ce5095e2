package replay

import (
	"time"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// Step is one request of the traffic.
type Step struct {
	At      time.Time
	Request routing.Request // its InputTokens is what would have been estimated
	Usage   ledger.Usage    // what the upstream counted
	Model   string          // that served it, "" not known
	Cost    *float64        // USD that it did cost, nil not known
}

// minCached is the least prompt that is cached.
const minCached = 1024

// cached is what a model has of a conversation in its cache.
type cached struct {
	tokens int64
	at     time.Time
}

func (c cached) within(ttl time.Duration, now time.Time) int64 {
	if c.tokens < minCached || now.Sub(c.at) > ttl {
		return 0
	}
	return c.tokens
}

// provider is the simulated provider: it knows what is in its caches and sends
// the bill.
type provider struct {
	ttl   time.Duration
	cache map[[2]string]cached // by session and model
	last  map[string]cached    // by session, whichever model it was
}

func newProvider(ttl time.Duration) *provider {
	return &provider{ttl: ttl, cache: make(map[[2]string]cached), last: make(map[string]cached)}
}

// answer serves a step with a model. lost is the USD that the prompt cost more
// because another model had read the conversation before.
func (p *provider) answer(s *Step, m *routing.Model) (u ledger.Usage, usd, lost float64, priced bool) {
	key := [2]string{s.Request.Session, m.Name}
	hit := min(p.cache[key].within(p.ttl, s.At), s.Usage.Input)
	could := min(p.last[s.Request.Session].within(p.ttl, s.At), s.Usage.Input)
	seen := cached{s.Usage.Input, s.At}
	p.cache[key], p.last[s.Request.Session] = seen, seen
	u = withCache(s.Usage, hit)
	usd, priced = m.Price.Cost(u)
	if could > hit {
		warm, _ := m.Price.Cost(withCache(s.Usage, could))
		lost = usd - warm
	}
	return u, usd, lost, priced
}

// withCache is a usage of which so many prompt tokens were read from the cache,
// and the rest written to it.
func withCache(u ledger.Usage, hit int64) ledger.Usage {
	u.Cached, u.CacheWrite = hit, u.Input-hit
	return u
}

// rank is the highest tier that a model serves in a profile; false when it
// serves none.
func rank(p routing.Profile, model string) (t scoring.Tier, ok bool) {
	for t = scoring.Heavy; t >= scoring.Light; t-- {
		if p.Model(t) == model {
			return t, true
		}
	}
	return t, false
}
