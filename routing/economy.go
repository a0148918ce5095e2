package routing

import (
	"time"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

// traffic is what a conversation's requests were like, as its upstreams count.
// Means are over its recent requests.
type traffic struct {
	scale   float64   // upstream's tokens for each that we estimated; 0: not known yet
	output  float64   // tokens of an answer
	growth  float64   // tokens that the prompt grows by from request to request
	calls   float64   // requests of a human turn: a tool loop makes several
	current int       // requests of the newest turn so far
	pace    float64   // seconds from one human turn to the next
	began   time.Time // when the newest turn did
	misses  int       // prompts in a row that should have been found in the cache, and were not

	// What the conversation took so far: tokens that one model alone would have
	// read anew, found in its cache and answered with, and the USD that it did
	// cost. Unpriced: some of that is not known.
	fresh, read, said int64
	spent             float64
	unpriced          bool
}

const (
	// recent is the weight of the newest request in a mean.
	recent = 0.3

	// minCached is the least prompt that providers cache: OpenAI's and
	// Anthropic's documented minimum.
	minCached = 1024

	// minGainShare is the share of the cost of staying that a move must save:
	// the reckoning is no better than that.
	minGainShare = 0.05

	// maxScale bounds how far the upstream's count may be from our estimate.
	// Images are what it is far from.
	maxScale = 20

	// maxCalls bounds the requests that a horizon is reckoned over.
	maxCalls = 100
)

// turn begins a new human turn.
func (t *traffic) turn(now time.Time) {
	if !t.began.IsZero() {
		t.pace = mean(t.pace, now.Sub(t.began).Seconds())
	}
	t.began = now
	if t.current > 0 {
		t.calls = mean(t.calls, float64(t.current))
	}
	t.current = 0
}

func mean(old, sample float64) float64 {
	if old == 0 {
		return sample
	}
	return old + recent*(sample-old)
}

// Projection is what the coming turns of a conversation would cost on a model.
type Projection struct {
	Model      string  `json:"model"`
	WarmTokens int     `json:"warm_tokens"` // of the prompt, in the provider's cache by our account
	USD        float64 `json:"usd"`
}

// Economy is the reckoning of a move to a cheaper model.
type Economy struct {
	Stay         Projection `json:"stay"`
	Move         Projection `json:"move"`
	Priced       bool       `json:"priced"`        // false: a price is unknown, and the conversation stays
	Turns        int        `json:"turns"`         // human turns that are taken to ask for no more
	Requests     int        `json:"requests"`      // that they are taken to make
	PromptTokens int        `json:"prompt_tokens"` // of the first of them
	OutputTokens int        `json:"output_tokens"` // of each answer
	GainUSD      float64    `json:"gain_usd"`
	NeedUSD      float64    `json:"need_usd"` // the gain must be larger
	Returned     bool       `json:"returned"` // the conversation has gone back up before; then RiskUSD must not exceed SavedUSD
	RiskUSD      float64    `json:"risk_usd"` // what the move costs when the next turn, or one soon, goes back up
	SavedUSD     float64    `json:"saved_usd"`
	Pays         bool       `json:"pays"`
}

// economy reckons whether to leave a model, stay, for a cheaper one, move, that
// serves the tier to. top serves every turn so far.
//
// How long the coming turns ask for no more is taken from the conversation
// itself: with e turns that asked for no more than that tier, and u times that
// a harder one came after them, a stretch lasts (horizon + e) / (1 + u) turns.
// That is the rule of succession with the horizon as what is known before
// anything is seen. The first stretch may be misjudged; a conversation that was
// driven back up risks no more than what it has saved.
func (s *session) economy(stay, move, top *Model, r *Request, to scoring.Tier, cfg *SessionConfig, now time.Time) *Economy {
	e := &Economy{
		Stay: s.projection(stay, cfg, now), Move: s.projection(move, cfg, now),
		Turns: s.stretch(to, cfg.Horizon), PromptTokens: s.traffic.prompt(r), OutputTokens: s.traffic.answer(),
		Returned: s.ends[to-scoring.Light] > 0,
	}
	e.Requests = s.requests(e.Turns)
	if stay.Price == nil || move.Price == nil || top.Price == nil {
		return e
	}
	e.Priced = true
	e.Stay.USD = s.cost(stay.Price, e, e.Stay.WarmTokens, e.Requests)
	e.Move.USD = s.cost(move.Price, e, e.Move.WarmTokens, e.Requests)
	e.GainUSD = e.Stay.USD - e.Move.USD
	e.NeedUSD = max(cfg.MinGain, minGainShare*e.Stay.USD)
	e.Pays = e.GainUSD > e.NeedUSD
	if e.Returned {
		e.RiskUSD = s.risk(stay.Price, move.Price, e, cfg.CacheTTL)
		e.SavedUSD = s.traffic.alone(top.Price) - s.traffic.spent
		e.Pays = e.Pays && e.RiskUSD <= e.SavedUSD && !s.traffic.unpriced
	}
	return e
}

// stretch is how many turns are taken to ask for no more than a tier.
func (s *session) stretch(to scoring.Tier, horizon int) int {
	i := to - scoring.Light
	return max(1, (horizon+s.easy[i])/(1+s.ends[i]))
}

// risk is what a move costs at worst: when the next turn goes back up, or the
// first one that finds the cache of the model that was left cold.
func (s *session) risk(stay, move *ledger.Price, e *Economy, ttl time.Duration) float64 {
	loss := func(turns int) float64 {
		n := s.requests(turns)
		return s.cost(move, e, e.Move.WarmTokens, n) - s.cost(stay, e, e.Stay.WarmTokens, n)
	}
	lapse := 1 // turns that find it warm
	if s.traffic.pace > 0 {
		lapse = int(min(maxCalls, ttl.Seconds()/s.traffic.pace))
	}
	prompt := e.PromptTokens + int(s.traffic.growth)*s.requests(lapse+1)
	back := 0.0
	if !s.traffic.uncached() {
		back = promptCost(stay, 0, prompt) - promptCost(stay, prompt, 0)
	}
	return max(0, loss(1), loss(lapse+1)+back)
}

// alone is what the conversation so far would have cost with one model. The sum
// of its prompts is no long prompt.
func (t *traffic) alone(p *ledger.Price) float64 {
	short := *p
	short.Long = nil
	usd, _ := short.Cost(ledger.Usage{Input: t.fresh + t.read, Cached: t.read, CacheWrite: t.fresh, Output: t.said})
	return usd
}

func (s *session) projection(m *Model, cfg *SessionConfig, now time.Time) Projection {
	return Projection{Model: m.Name, WarmTokens: s.warmTokens(m.Name, cfg.CacheTTL, now)}
}

// requests is how many requests the turns of a horizon take.
func (s *session) requests(turns int) int {
	calls := max(1, s.traffic.calls)
	return min(maxCalls, max(1, int(calls*float64(turns)+0.5)))
}

// prompt estimates the tokens of a request as the upstream would count them.
func (t *traffic) prompt(r *Request) int {
	if t.scale == 0 {
		return r.InputTokens
	}
	return int(float64(r.InputTokens) * t.scale)
}

// answer is how long an answer is taken to be.
func (t *traffic) answer() int {
	if t.output == 0 {
		return typicalOutput
	}
	return int(t.output)
}

// warmTokens is how much of a conversation's prompt a model's provider still
// has in its cache.
func (s *session) warmTokens(model string, ttl time.Duration, now time.Time) int {
	if s.traffic.uncached() {
		return 0
	}
	return s.expected(model, ttl, now)
}

// uncached reports whether the conversation's prompts are not cached, whatever
// the provider could do: Anthropic's models cache only what the client marks.
// A single miss is an accident.
func (t *traffic) uncached() bool { return t.misses > 1 }

// within is how much of a prompt is in a cache that keeps it for ttl.
func (s *seen) within(ttl time.Duration, now time.Time) int {
	if s.tokens < minCached || s.at.IsZero() || now.Sub(s.at) > ttl {
		return 0
	}
	return s.tokens
}

// cost is what so many requests cost at a price when so many tokens of the
// first prompt are warm. From the second request on the model is warm,
// whichever it is, so only what the prompt grows by is new.
func (s *session) cost(p *ledger.Price, e *Economy, warm, requests int) float64 {
	var usd float64
	prompt, growth := e.PromptTokens, int(s.traffic.growth)
	warm = min(warm, prompt)
	for range requests {
		usd += requestCost(p, warm, prompt-warm, e.OutputTokens)
		if warm = prompt; s.traffic.uncached() {
			warm = 0
		}
		prompt += growth
	}
	return usd
}

// promptCost is the USD for a prompt of which so many tokens are warm. The rest
// is written to the cache where that has a price.
func promptCost(p *ledger.Price, warm, fresh int) float64 { return requestCost(p, warm, fresh, 0) }

// requestCost is the same with an answer.
func requestCost(p *ledger.Price, warm, fresh, output int) float64 {
	usd, _ := p.Cost(ledger.Usage{Input: int64(warm + fresh), Cached: int64(warm), CacheWrite: int64(fresh), Output: int64(output)})
	return usd
}

// ofConversation reports whether a request carries its conversation's prompt: a
// forced tier does, a side call or a worker's request doesn't.
func (r *Router) ofConversation(req *Request) bool {
	return !req.SideCall && r.promptRouted(req.ProcessType)
}

// Served tells what a request was like once it is answered: m is the model that
// answered, nil when nothing is known of it; usage is as its upstream counted;
// added is how many of the prompt's tokens we put there.
func (r *Router) Served(req *Request, m *Model, usage ledger.Usage, added int64) {
	if !r.ofConversation(req) || usage.Input <= 0 {
		return
	}
	r.sessions.update(req.Session, func(s *session, now time.Time) {
		if s.aside(req) {
			return
		}
		s.observe(req, m, usage, int(added), r.cfg.Session.CacheTTL, now)
		r.sessions.log(s)
	})
}

func (s *session) observe(req *Request, m *Model, u ledger.Usage, added int, ttl time.Duration, now time.Time) {
	t := &s.traffic
	input := int(u.Input)
	if m != nil {
		if expected := s.expected(m.Name, ttl, now); expected > 0 {
			if t.misses++; int(u.Cached) >= min(expected, input)/2 {
				t.misses = 0
			}
		}
		s.see(m.Name, input, now)
	}
	if req.InputTokens > 0 {
		t.scale = min(maxScale, max(1./maxScale, float64(input-added)/float64(req.InputTokens)))
	}
	if before := s.prompt.tokens; before > 0 && input-added > before {
		t.growth = mean(t.growth, float64(input-added-before))
	}
	t.output = mean(t.output, float64(u.Output))
	hit := min(int64(s.prompt.within(ttl, now)), int64(input-added))
	if t.uncached() {
		hit = 0
	}
	t.read += hit
	t.fresh += int64(input-added) - hit
	t.said += u.Output
	if usd, ok := price(m).Cost(u); ok {
		t.spent += usd
	} else {
		t.unpriced = true
	}
	t.current++
	s.prompt = seen{input - added, now}
}

func price(m *Model) *ledger.Price {
	if m == nil {
		return nil
	}
	return m.Price
}

// expected is how much of its prompt a model should have found in its cache,
// whatever became of that before.
func (s *session) expected(model string, ttl time.Duration, now time.Time) int {
	for i := range s.warm {
		if w := &s.warm[i]; w.model == model {
			return w.within(ttl, now)
		}
	}
	return 0
}

// see notes that a model has read a prompt, in the place of the model that was
// longest without one.
func (s *session) see(model string, tokens int, now time.Time) {
	at := 0
	for i := range s.warm {
		if s.warm[i].model == model {
			at = i
			break
		}
		if s.warm[i].at.Before(s.warm[at].at) {
			at = i
		}
	}
	s.warm[at] = warmth{model, seen{tokens, now}}
}

// baselineWarm is how much of the conversation the baseline would have found in
// its cache, had it always been the one that was asked; nil when that is no
// other than what the model asked finds, or not known.
func (r *Router) baselineWarm(d *Decision, req *Request, s *session, now time.Time) *int64 {
	if d.SideCall || !r.ofConversation(req) || d.Baseline == nil || d.Model == nil || s.prompt.at.IsZero() || s.traffic.uncached() {
		return nil
	}
	ttl := r.cfg.Session.CacheTTL
	warm := s.prompt.within(ttl, now)
	alike := d.Model == d.Baseline || d.Model.Price != nil && d.Model.Price.CacheRead != nil
	if s.expected(d.Model.Name, ttl, now) >= warm && (alike || warm == 0) {
		return nil
	}
	tokens := int64(warm)
	return &tokens
}
