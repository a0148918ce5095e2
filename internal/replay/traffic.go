package replay

import (
	"maps"
	"math"
	"slices"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
)

// Names of the results of [Traffic] that are no profile's.
const (
	Baseline   = "baseline"   // each request's named model, else its process type's
	Recorded   = "recorded"   // the models that did answer, where that is known
	Configured = "configured" // as the configuration decides
)

// Traffic lets each way of choosing serve the steps: the baseline, the models
// that did, the configuration as it is, and each profile as if every request
// had asked for "auto" with it. All are reckoned alike, so that they can be
// compared with each other; what was really paid is another thing. done is told
// of each step; its error ends the play.
func Traffic(cfg routing.Config, steps []Step, done func() error) ([]Result, error) {
	configured, err := newRouted(cfg)
	if err != nil {
		return nil, err
	}
	named := func(s *Step) *routing.Model {
		if _, virtual := routing.Virtual(s.Request.Model); virtual || s.Request.Model == "" {
			m, _ := configured.router.Default(s.Request.ProcessType)
			return m
		}
		m, _ := cfg.Catalogue.Billed(s.Request.Model)
		return m
	}
	ways := []way{{Baseline, cfg.Profile, given{named}}, {Configured, cfg.Profile, configured}}
	if slices.ContainsFunc(steps, func(s Step) bool { return s.Model != "" }) {
		recorded := func(s *Step) *routing.Model {
			m, _ := cfg.Catalogue.Billed(s.Model)
			return m
		}
		ways = slices.Insert(ways, 1, way{Recorded, cfg.Profile, given{recorded}})
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Profiles)) {
		r, err := newRouted(cfg)
		if err != nil {
			return nil, err
		}
		ways = append(ways, way{name, name, as{r, name}})
	}
	var results []Result
	var base []float64 // what each step costs by the baseline, the first way; NaN: not known
	for _, w := range ways {
		p := newPlay(w.name, w.chooser, cfg.Profiles[w.profile], cfg.Session.CacheTTL)
		for i := range steps {
			usd, priced := p.step(&steps[i])
			if !priced {
				usd = math.NaN()
			}
			if w.name == Baseline {
				base = append(base, usd)
			}
			if saved := base[i] - usd; !math.IsNaN(saved) {
				p.result.SavedUSD += saved
				p.result.OfUSD += base[i]
			}
			if err := done(); err != nil {
				return nil, err
			}
		}
		results = append(results, p.result)
	}
	return results, nil
}

// way is a way of choosing.
type way struct {
	name, profile string // profile: which of its tiers a model serves
	chooser
}

// Plays is how often [Traffic] goes through the steps, at most.
func Plays(cfg routing.Config) int { return 3 + len(cfg.Profiles) }

// given is a model for each step that doesn't depend on the others.
type given struct{ of func(*Step) *routing.Model }

func (g given) choose(s *Step) *routing.Model            { return g.of(s) }
func (given) served(*Step, *routing.Model, ledger.Usage) {}

// as asks for a profile in every step.
type as struct {
	*routed
	profile string
}

func (a as) choose(s *Step) *routing.Model {
	other := *s
	other.Request.Model, other.Request.Profile, other.Request.Forced = "auto", a.profile, false
	return a.routed.choose(&other)
}
