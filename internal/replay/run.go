package replay

import (
	"fmt"
	"time"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
)

// Result is what a way of choosing models came to.
type Result struct {
	Name      string  `json:"name"`
	Requests  int     `json:"requests"`
	Unpriced  int     `json:"unpriced"` // of a model without a price; they are in no sum
	Refused   int     `json:"refused"`  // that no known model could serve
	CostUSD   float64 `json:"cost_usd"`
	SavedUSD  float64 `json:"saved_usd"`      // against the baseline, over the requests whose cost is known with both; see [Traffic]
	OfUSD     float64 `json:"saved_of_usd"`   // what the baseline cost for those
	LostUSD   float64 `json:"cache_lost_usd"` // of CostUSD: prompts read anew because another model had read them before
	Up        int     `json:"up"`             // changes of a conversation's model
	Down      int     `json:"down"`
	BelowTier int     `json:"below_tier"` // turns served by a model of a lower tier than they asked for
}

// chooser chooses the model of a step, nil when none can serve it, and is told
// what came of it.
type chooser interface {
	choose(*Step) *routing.Model
	served(*Step, *routing.Model, ledger.Usage)
}

// play is traffic on its way through a chooser.
type play struct {
	result   Result
	chooser  chooser
	profile  routing.Profile // says which tiers a model serves
	provider *provider
	before   map[string]*routing.Model // by session
}

func newPlay(name string, c chooser, profile routing.Profile, ttl time.Duration) *play {
	return &play{
		result: Result{Name: name}, chooser: c, profile: profile, provider: newProvider(ttl), before: make(map[string]*routing.Model),
	}
}

// run lets a chooser serve the traffic.
func run(name string, steps []Step, c chooser, profile routing.Profile, ttl time.Duration) Result {
	p := newPlay(name, c, profile, ttl)
	for i := range steps {
		p.step(&steps[i])
	}
	return p.result
}

// step serves a request and returns what it cost; false when that is not known.
func (p *play) step(s *Step) (usd float64, priced bool) {
	r := &p.result
	m := p.chooser.choose(s)
	if m == nil {
		r.Refused++
		return 0, false
	}
	r.Requests++
	u, usd, lost, priced := p.provider.answer(s, m)
	p.chooser.served(s, m, u)
	if !priced {
		r.Unpriced++
	}
	r.CostUSD += usd
	r.LostUSD += lost
	switch old := p.before[s.Request.Session]; {
	case old == nil || old == m:
	case cheaper(m, old):
		r.Down++
	default:
		r.Up++
	}
	p.before[s.Request.Session] = m
	if t, ok := rank(p.profile, m.Name); ok && t < s.Request.Score.Tier && !s.Request.Terse {
		r.BelowTier++
	}
	return usd, priced
}

// cheaper reports whether one model's prompts cost less than another's.
func cheaper(a, b *routing.Model) bool {
	return a.Price != nil && b.Price != nil && a.Price.Input < b.Price.Input
}

// routed chooses as the product does.
type routed struct {
	router *routing.Router
	now    time.Time
}

func newRouted(cfg routing.Config) (*routed, error) {
	r := &routed{}
	cfg.Clock = func() time.Time { return r.now }
	cfg.ObserveSwitch = nil
	var err error
	if r.router, err = routing.New(cfg); err != nil {
		return nil, fmt.Errorf("configuring routing: %w", err)
	}
	return r, nil
}

func (r *routed) choose(s *Step) *routing.Model {
	r.now = s.At
	d, err := r.router.Decide(s.Request)
	if err != nil {
		return nil
	}
	return d.Model
}

func (r *routed) served(s *Step, m *routing.Model, u ledger.Usage) {
	r.router.Served(&s.Request, m, u, 0)
}

// fixed is one model for everything.
type fixed struct{ model *routing.Model }

func (f fixed) choose(*Step) *routing.Model              { return f.model }
func (fixed) served(*Step, *routing.Model, ledger.Usage) {}

// byTurn takes each request's own tier, whatever the conversation had before.
type byTurn struct {
	catalogue *routing.Catalogue
	profile   routing.Profile
}

func (b byTurn) choose(s *Step) *routing.Model {
	m, _ := b.catalogue.Find(b.profile.Model(s.Request.Score.Tier))
	return m
}

func (byTurn) served(*Step, *routing.Model, ledger.Usage) {}
