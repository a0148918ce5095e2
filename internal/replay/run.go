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
	Refused   int     `json:"refused"`  // that no model could serve
	CostUSD   float64 `json:"cost_usd"`
	LostUSD   float64 `json:"cache_lost_usd"` // of CostUSD: prompts read anew because another model had read them before
	Up        int     `json:"up"`             // changes of a conversation's model
	Down      int     `json:"down"`
	BelowTier int     `json:"below_tier"` // turns served by a model of a lower tier than they asked for
}

// chooser chooses the model of a step, nil when none can serve it, and is told
// what came of it.
type chooser interface {
	choose(*Step) (m *routing.Model, named bool)
	served(*Step, *routing.Model, ledger.Usage)
}

// run lets a chooser serve the traffic.
func run(name string, steps []Step, c chooser, profile routing.Profile, ttl time.Duration) Result {
	r := Result{Name: name}
	p := newProvider(ttl)
	before := make(map[string]*routing.Model)
	for i := range steps {
		s := &steps[i]
		m, named := c.choose(s)
		if m == nil {
			r.Refused++
			continue
		}
		r.Requests++
		u, usd, lost, priced := p.answer(s, m)
		c.served(s, m, u)
		if !priced {
			r.Unpriced++
		}
		r.CostUSD += usd
		r.LostUSD += lost
		if old := before[s.Request.Session]; old != nil && old != m {
			if cheaper(m, old) {
				r.Down++
			} else {
				r.Up++
			}
		}
		before[s.Request.Session] = m
		if t, ok := rank(profile, m.Name); ok && t < s.Request.Score.Tier && !named && !s.Request.Terse {
			r.BelowTier++
		}
	}
	return r
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

func (r *routed) choose(s *Step) (*routing.Model, bool) {
	r.now = s.At
	d, err := r.router.Decide(s.Request)
	if err != nil {
		return nil, false
	}
	return d.Model, false
}

func (r *routed) served(s *Step, m *routing.Model, u ledger.Usage) {
	r.router.Served(&s.Request, m, u, 0)
}

// fixed is one model for everything.
type fixed struct{ model *routing.Model }

func (f fixed) choose(*Step) (*routing.Model, bool)      { return f.model, false }
func (fixed) served(*Step, *routing.Model, ledger.Usage) {}

// byTurn takes each request's own tier, whatever the conversation had before.
type byTurn struct {
	catalogue *routing.Catalogue
	profile   routing.Profile
}

func (b byTurn) choose(s *Step) (*routing.Model, bool) {
	m, _ := b.catalogue.Find(b.profile.Model(s.Request.Score.Tier))
	return m, false
}
func (byTurn) served(*Step, *routing.Model, ledger.Usage) {}
