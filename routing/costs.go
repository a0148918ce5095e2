package routing

import "github.com/understudy-ai/understudy/scoring"

// TierCost is what a request would cost on the model of a tier.
type TierCost struct {
	Tier         scoring.Tier `json:"tier"`
	Model        string       `json:"model"`
	Lacks        string       `json:"lacks,omitempty"` // why it can't serve the request, "" when it can
	PromptTokens int          `json:"prompt_tokens"`
	WarmTokens   int          `json:"warm_tokens"` // of the prompt, in the provider's cache by our account
	OutputTokens int          `json:"output_tokens"`
	USD          *float64     `json:"usd"` // nil: no price
}

// Costs estimates what a request would cost on the model of each tier of a
// profile, by what its conversation was like so far. It leaves no trace.
func (r *Router) Costs(req Request, profile string) []TierCost {
	s, now := r.sessions.look(req.Session)
	var costs []TierCost
	for t := scoring.Light; t <= scoring.Heavy; t++ {
		m, ok := r.cfg.Catalogue.Find(r.cfg.Profiles[profile].Model(t))
		if !ok {
			continue
		}
		c := TierCost{Tier: t, Model: m.Name, Lacks: m.lacks(&req), PromptTokens: s.traffic.prompt(&req), OutputTokens: s.traffic.answer()}
		c.WarmTokens = min(c.PromptTokens, s.warmTokens(m.Name, r.cfg.Session.CacheTTL, now))
		if m.Price != nil {
			usd := requestCost(m.Price, c.WarmTokens, c.PromptTokens-c.WarmTokens, c.OutputTokens)
			c.USD = &usd
		}
		costs = append(costs, c)
	}
	return costs
}
