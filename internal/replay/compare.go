package replay

import (
	"fmt"
	"math"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// Book is a set of prices: of the models for light, standard and heavy prompts.
type Book struct {
	Name   string
	Prices [3]ledger.Price
}

// Books returns the prices that synthetic conversations are reckoned with.
func Books() []Book {
	price := func(input, output, read, write float64) ledger.Price {
		p := ledger.Price{Input: input, Output: output}
		if read > 0 {
			p.CacheRead = &read
		}
		if write > 0 {
			p.CacheWrite = &write
		}
		return p
	}
	return []Book{
		{"cheap cache, far apart", [3]ledger.Price{price(0.2, 1.2, 0.02, 0.25), price(2, 12, 0.2, 2.5), price(4, 20, 0.4, 5)}},
		{"cheap cache, dear to write", [3]ledger.Price{price(1, 5, 0.1, 1.25), price(3, 15, 0.3, 3.75), price(5, 25, 0.5, 6.25)}},
		{"cheap cache, close together", [3]ledger.Price{price(1, 4, 0.1, 0), price(1.5, 6, 0.15, 0), price(2.5, 10, 0.25, 0)}},
		{"dear cache", [3]ledger.Price{price(0.15, 0.6, 0.075, 0), price(1.1, 4.4, 0.55, 0), price(2.5, 10, 1.25, 0)}},
		{"no cache", [3]ledger.Price{price(0.1, 0.4, 0, 0), price(1, 4, 0, 0), price(5, 20, 0, 0)}},
		{"no cache for light", [3]ledger.Price{price(0.05, 0.2, 0, 0), price(1, 4, 0.1, 0), price(5, 20, 0.5, 0)}},
	}
}

// world is a book's models and a profile of them.
type world struct {
	catalogue *routing.Catalogue
	profile   routing.Profile
	cfg       routing.Config
}

func newWorld(b Book, session routing.SessionConfig) (*world, error) {
	w := &world{profile: routing.Profile{Light: "light", Standard: "standard", Heavy: "heavy"}}
	var models []routing.Model
	for t := scoring.Light; t <= scoring.Heavy; t++ {
		models = append(models, routing.Model{Name: w.profile.Model(t), Price: &b.Prices[t-scoring.Light]})
	}
	var err error
	if w.catalogue, err = routing.NewCatalogue(models, &ledger.PriceList{}); err != nil {
		return nil, fmt.Errorf("making the models: %w", err)
	}
	session.Max = 1
	w.cfg = routing.Config{
		Catalogue: w.catalogue, Explicit: routing.ExplicitCheaper, Profile: "synthetic", Profiles: map[string]routing.Profile{"synthetic": w.profile},
		ProcessTypes: map[string]string{"channel": "standard"}, PromptRouted: []string{"channel"}, Session: session,
	}
	return w, nil
}

// Comparison is what a conversation cost by the policy, by the best single
// model that is good enough for each of its turns, and by a change of model
// whenever a turn asks for another one.
type Comparison struct {
	Policy, Fixed, EachTurn Result
}

// Ratio is the policy's cost by that of the best single model.
func (c Comparison) Ratio() float64 { return c.Policy.CostUSD / c.Fixed.CostUSD }

// compare plays one conversation.
func (w *world) compare(steps []Step) (Comparison, error) {
	ttl := w.cfg.Session.CacheTTL
	policy, err := newRouted(w.cfg)
	if err != nil {
		return Comparison{}, err
	}
	c := Comparison{
		Policy:   run("policy", steps, policy, w.profile, ttl),
		EachTurn: run("each turn", steps, byTurn{w.catalogue, w.profile}, w.profile, ttl),
		Fixed:    Result{CostUSD: math.Inf(1)},
	}
	for _, m := range w.catalogue.All() {
		if r := run(m.Name, steps, fixed{m}, w.profile, ttl); r.BelowTier == 0 && r.CostUSD < c.Fixed.CostUSD {
			c.Fixed = r
		}
	}
	return c, nil
}

// Tally sums up conversations of one kind.
type Tally struct {
	Kind      string  `json:"kind"`
	Random    bool    `json:"random"`
	Sessions  int     `json:"sessions"`
	PolicyUSD float64 `json:"policy_usd"`
	FixedUSD  float64 `json:"fixed_usd"` // the best single model for each conversation, known afterwards
	TurnUSD   float64 `json:"each_turn_usd"`
	Worst     float64 `json:"worst"`           // largest policy cost by fixed cost
	WorstTurn float64 `json:"worst_each_turn"` // the same of a change with each turn
	Over      int     `json:"over_1_percent"`  // conversations that cost over 1 % more than the best single model
	Idle      int     `json:"without_saving"`  // of a kind that has to save: those that did not
	BelowTier int     `json:"below_tier"`      // turns served below their tier
	Switches  int     `json:"switches"`
	LostUSD   float64 `json:"cache_lost_usd"`
}

func (t *Tally) add(k Kind, c Comparison) {
	t.Sessions++
	t.PolicyUSD += c.Policy.CostUSD
	t.FixedUSD += c.Fixed.CostUSD
	t.TurnUSD += c.EachTurn.CostUSD
	t.Worst = max(t.Worst, c.Ratio())
	t.WorstTurn = max(t.WorstTurn, c.EachTurn.CostUSD/c.Fixed.CostUSD)
	if c.Ratio() > 1.01 {
		t.Over++
	}
	if k.Saves && c.Ratio() >= 1 {
		t.Idle++
	}
	t.BelowTier += c.Policy.BelowTier
	t.Switches += c.Policy.Up + c.Policy.Down
	t.LostUSD += c.Policy.LostUSD
}

// Synthesize plays conversations of each kind, with each book's prices and each
// pair of tiers; seeds of them, from first on. done is told of each one that is
// over; its error ends the play.
func Synthesize(session routing.SessionConfig, first uint64, seeds int, done func() error) ([]Tally, error) {
	var worlds []*world
	for _, b := range Books() {
		w, err := newWorld(b, session)
		if err != nil {
			return nil, err
		}
		worlds = append(worlds, w)
	}
	pairs := [][2]scoring.Tier{{scoring.Light, scoring.Standard}, {scoring.Light, scoring.Heavy}, {scoring.Standard, scoring.Heavy}}
	var tallies []Tally
	for _, k := range Kinds() {
		t := Tally{Kind: k.Name, Random: k.Random}
		for _, pair := range pairs {
			for seed := range uint64(seeds) {
				steps := k.Generate(first+seed, pair[0], pair[1])
				for _, w := range worlds {
					c, err := w.compare(steps)
					if err != nil {
						return nil, err
					}
					t.add(k, c)
					if err := done(); err != nil {
						return nil, err
					}
				}
			}
		}
		tallies = append(tallies, t)
	}
	return tallies, nil
}

// Conversations is how many [Synthesize] plays for so many seeds.
func Conversations(seeds int) int { return len(Kinds()) * len(Books()) * 3 * seeds }
