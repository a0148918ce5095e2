package routing

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

// cachedModels are a dear and a cheap model with the usual discount for what
// is read from the cache, one that has none, and one without a price.
func cachedModels() []Model {
	price := func(input, output, read float64) *ledger.Price {
		return &ledger.Price{Input: input, Output: output, CacheRead: &read}
	}
	return []Model{
		{Name: "small", Price: price(2, 12, 0.2)},
		{Name: "mid", Price: price(2, 12, 0.2)},
		{Name: "large", Price: price(4, 20, 0.4)},
		{Name: "tiny", Price: price(0.2, 1.2, 0.02)},
		{Name: "coder", Price: &ledger.Price{Input: 2, Output: 10}},
		{Name: "unpriced"},
	}
}

// talk is a conversation with a router and a clock.
type talk struct {
	t      *testing.T
	r      *Router
	clock  *fakeClock
	tokens int // of the prompt
	turn   int
}

func newTalk(t *testing.T, change func(*Config)) *talk {
	clock := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	r := newTestRouter(t, func(c *Config) {
		c.Catalogue, c.Clock, c.Session.MinGain = newTestCatalogue(t, cachedModels()...), clock.Now, 0.001
		if change != nil {
			change(c)
		}
	})
	return &talk{t: t, r: r, clock: clock, tokens: 20_000}
}

// next is another turn of the conversation, answered by whatever was chosen.
func (k *talk) next(req Request, cached func(expected int) int) Decision {
	k.t.Helper()
	k.turn++
	req.Turn, req.InputTokens = fmt.Sprint(k.turn), k.tokens
	d := decide(k.t, k.r, req)
	s, now := k.r.sessions.look(req.Session)
	hit := s.expected(d.Model.Name, 5*time.Minute, now)
	if cached != nil {
		hit = cached(hit)
	}
	k.r.Served(&req, d.Model, ledger.Usage{Input: int64(k.tokens), Cached: int64(hit), Output: 300}, 0)
	k.tokens += 500
	k.clock.advance(20 * time.Second)
	return d
}

// A long prompt in the dear model's cache keeps a conversation there when the
// other model is half as dear: what its cache would cost to fill is more than
// three turns save. When the cache is cold, the move pays.
func TestStayOrMove(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		pause  time.Duration // before the second light turn
		cached func(int) int
		want   string // model and reason of the second light turn
	}{
		{"a warm cache is worth more", nil, 0, nil, "large stay"},
		{"a cold one nothing", nil, 6 * time.Minute, nil, "small score"},
		{"a much cheaper model pays even so", func(c *Config) { c.Profiles["balanced"] = Profile{"tiny", "mid", "large"} }, 0, nil, "tiny score"},
		{"a longer horizon", func(c *Config) { c.Session.Horizon = 30 }, 0, nil, "small score"},
		{"a longer life of the cache", func(c *Config) { c.Session.CacheTTL = time.Hour }, 6 * time.Minute, nil, "large stay"},
		{"a gain that must be larger", func(c *Config) { c.Session.MinGain = 10 }, 6 * time.Minute, nil, "large stay"},
		{"no cache that could be lost", func(c *Config) { c.Catalogue.byName["large"].Price.CacheRead = nil }, 0, nil, "small score"},
		{"a cache that is never hit", nil, 0, func(int) int { return 0 }, "small score"},
		{"an unknown price to move to", func(c *Config) { c.Profiles["balanced"] = Profile{"unpriced", "unpriced", "large"} }, time.Hour - 31*time.Minute, nil, "large stay"},
		{"an unknown price to leave", func(c *Config) { c.Profiles["balanced"] = Profile{"small", "mid", "unpriced"} }, 6 * time.Minute, nil, "unpriced stay"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk(t, tt.change)
			for range 3 {
				k.next(request("auto", heavy), tt.cached)
			}
			if d := k.next(request("auto", light), tt.cached); d.Reason != reasonHeld || d.Economy != nil {
				t.Fatalf("the first light turn: %s, %+v, want held and no reckoning yet", d.Reason, d.Economy)
			}
			k.clock.advance(tt.pause)
			d := k.next(request("auto", light), tt.cached)
			if got := d.Model.Name + " " + d.Reason; got != tt.want {
				t.Errorf("the second light turn: %s, want %s; %+v", got, tt.want, d.Economy)
			}
			if d.Economy == nil || d.Economy.Pays != (d.Reason == reasonScore) {
				t.Errorf("reckoning %+v, want one that says so", d.Economy)
			}
		})
	}
}

// A model that the client named serves the tiers whose own models are dearer.
// It is then the one whose cache a move would lose.
func TestStayOnTheNamedModel(t *testing.T) {
	k := newTalk(t, func(c *Config) {
		dear := Model{Name: "dear", Price: &ledger.Price{Input: 40, Output: 200}}
		c.Catalogue = newTestCatalogue(t, append(cachedModels(), dear)...)
		c.Profiles["balanced"] = Profile{Light: "small", Standard: "mid", Heavy: "dear"}
	})
	for range 3 {
		if d := k.next(request("large", heavy), nil); d.Model.Name != "large" {
			t.Fatalf("a hard turn goes to %s, want the named model", d.Model.Name)
		}
	}
	k.next(request("large", light), nil)
	d := k.next(request("large", light), nil)
	if d.Economy == nil || d.Economy.Stay.Model != "large" || d.Economy.Stay.WarmTokens == 0 || d.Economy.Pays || d.Model.Name != "large" {
		t.Errorf("the second light turn goes to %s by %+v, want to stay with large's warm cache", d.Model.Name, d.Economy)
	}
	k.clock.advance(6 * time.Minute)
	if d = k.next(request("large", light), nil); d.Model.Name != "small" {
		t.Errorf("with a cold cache it goes to %s, want small", d.Model.Name)
	}
}

// What is passed over is not reckoned with.
func TestEconomyPassesOver(t *testing.T) {
	k := newTalk(t, func(c *Config) { c.Profiles["balanced"] = Profile{"tiny", "mid", "large"} })
	tiny, _ := k.r.cfg.Catalogue.Find("tiny")
	for range 3 {
		k.next(request("auto", heavy), nil)
	}
	k.next(request("auto", light), nil)
	k.r.Listed(tiny, false)
	if d := k.next(request("auto", light), nil); d.Model.Name != "large" || d.Economy == nil || d.Economy.Move.Model != "mid" {
		t.Errorf("got %s, %+v, want to stay with large for what mid would cost", d.Model.Name, d.Economy)
	}
}

// TestEconomyNumbers works one reckoning out by hand.
func TestEconomyNumbers(t *testing.T) {
	c := newTestCatalogue(t, cachedModels()...)
	large, _ := c.Find("large")
	mid, _ := c.Find("mid")
	now := time.Unix(1_800_000_000, 0)
	s := session{
		traffic: traffic{scale: 1.2, output: 250, growth: 1_000, calls: 2},
		warm: [maxWarm]warmth{
			{"large", seen{11_000, now.Add(-time.Minute)}},
			{"mid", seen{5_000, now.Add(-5 * time.Minute)}},
			{"tiny", seen{9_000, now.Add(-5*time.Minute - 1)}},
		},
	}
	cfg := SessionConfig{CacheTTL: 5 * time.Minute, Horizon: 2, MinGain: 0.001}
	got := s.economy(large, mid, large, &Request{InputTokens: 10_000}, standard, &cfg, now)
	// Four requests of 12,000 to 15,000 tokens with 250 of answer each.
	const (
		stay = (11_000*0.4 + 1_000*4 + (12_000+13_000+14_000)*0.4 + 3*1_000*4 + 4*250*20) / 1e6
		move = (5_000*0.2 + 7_000*2 + (12_000+13_000+14_000)*0.2 + 3*1_000*2 + 4*250*12) / 1e6
	)
	want := &Economy{
		Stay: Projection{"large", 11_000, stay}, Move: Projection{"mid", 5_000, move}, Priced: true,
		Turns: 2, Requests: 4, PromptTokens: 12_000, OutputTokens: 250, GainUSD: stay - move, NeedUSD: 0.05 * stay, Pays: true,
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-12 })
	if diff := cmp.Diff(want, got, near); diff != "" {
		t.Errorf("economy (-want +got):\n%s", diff)
	}
	if n := s.warmTokens("tiny", cfg.CacheTTL, now); n != 0 {
		t.Errorf("a cache past its life holds %d tokens, want 0", n)
	}
}

// Whoever goes up and comes back within the cache's life finds it warm, and
// moves back for it.
func TestMoveBackStillWarm(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pause time.Duration
		warm  int
		want  string
	}{
		{"still warm", 0, 25_500, "small score"},
		{"cold by now, as is the other", 6 * time.Minute, 0, "small score"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk(t, nil)
			for range 12 {
				k.next(request("auto", light), nil)
			}
			k.next(request("auto", heavy), nil)
			k.next(request("auto", light), nil)
			k.clock.advance(tt.pause)
			d := k.next(request("auto", light), nil)
			if got := d.Model.Name + " " + d.Reason; got != tt.want || d.Economy == nil || d.Economy.Move.WarmTokens != tt.warm {
				t.Errorf("got %s, %+v, want %s, with %d tokens warm", got, d.Economy, tt.want, tt.warm)
			}
		})
	}
}

// A conversation that was driven back up moves down again only for what it has
// saved: after a move that lost money there is nothing to risk.
func TestRiskOnlyWhatIsSaved(t *testing.T) {
	k := newTalk(t, func(c *Config) { c.Session.Horizon = 40 })
	for range 3 {
		k.next(request("auto", heavy), nil)
	}
	k.next(request("auto", light), nil)
	if d := k.next(request("auto", light), nil); d.Model.Name != "small" || d.Economy.Returned {
		t.Fatalf("the first time: %s, %+v, want a move to small", d.Model.Name, d.Economy)
	}
	k.next(request("auto", heavy), nil)
	k.next(request("auto", light), nil)
	k.clock.advance(4 * time.Minute) // past the life of small's cache
	d := k.next(request("auto", light), nil)
	if e := d.Economy; d.Reason != reasonStay || e == nil || !e.Returned || e.GainUSD <= e.NeedUSD || e.RiskUSD <= e.SavedUSD {
		t.Errorf("the second time: %s, %s, %+v, want to stay for the risk alone", d.Model.Name, d.Reason, d.Economy)
	}
}

// A long prompt has another price, of its answer too; many short ones don't.
func TestLongPrompts(t *testing.T) {
	p := &ledger.Price{Input: 1, Output: 5, LongAbove: 200_000, Long: &ledger.Price{Input: 2, Output: 7}}
	tests := []struct {
		name      string
		got, want float64
	}{
		{"thirty short prompts", (&traffic{fresh: 30 * 20_000, said: 1000}).alone(p), (600_000*1 + 1000*5) / 1e6},
		{"a short one", requestCost(p, 0, 200_000, 1000), (200_000*1 + 1000*5) / 1e6},
		{"a long one", requestCost(p, 0, 200_001, 1000), (200_001*2 + 1000*7) / 1e6},
		{"one to come", (&session{}).cost(p, &Economy{PromptTokens: 300_000, OutputTokens: 1000}, 0, 1), (300_000*2 + 1000*7) / 1e6},
	}
	for _, tt := range tests {
		if math.Abs(tt.got-tt.want) > 1e-9 {
			t.Errorf("%s: %.6f USD, want %.6f", tt.name, tt.got, tt.want)
		}
	}
}

// TestStretch holds how many turns are taken to ask for no more than light.
func TestStretch(t *testing.T) {
	tests := []struct {
		name  string
		asked []scoring.Tier
		want  int // with a horizon of 3
	}{
		{"nothing seen but hard turns", []scoring.Tier{heavy, heavy}, 3},
		{"two easy ones", []scoring.Tier{heavy, light, light}, 5},
		{"a harder one after them", []scoring.Tier{heavy, light, light, standard}, 2},
		{"only once for several", []scoring.Tier{light, light, light, light, heavy, heavy, heavy}, 3},
		{"alternating", []scoring.Tier{light, heavy, light, heavy, light, heavy, light, heavy}, 1},
		{"at least one", []scoring.Tier{light, heavy, light, heavy, light, heavy, light, heavy, light, heavy, light, heavy}, 1},
		{"easy since long", slices.Repeat([]scoring.Tier{light}, 20), 23},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s session
			s.begin(tt.asked[0], time.Time{})
			for _, tier := range tt.asked[1:] {
				s.ask(tier)
			}
			if got := s.stretch(light, 3); got != tt.want {
				t.Errorf("stretch = %d, want %d", got, tt.want)
			}
		})
	}
}

// A system prompt that changes within a turn's tool loop makes it no other one,
// nor does one that was not known, as after a restart.
func TestAsideNotInATurn(t *testing.T) {
	for name, frame := range map[string]uint64{"a new system prompt": 1, "an unknown one": 0} {
		r := newTestRouter(t, nil)
		req := request("auto", heavy)
		req.Frame, req.Humans = frame, 3
		decide(t, r, req)
		req.Frame, req.Score.Tier = 2, light
		if frame == 0 {
			req.Turn = "2"
		}
		if d := decide(t, r, req); d.SideCall || d.Model.Name != "large" {
			t.Errorf("%s: %s, side call %v, want the conversation's large", name, d.Model.Name, d.SideCall)
		}
	}
}

// Requests of another system prompt under the same name are not of the
// conversation.
func TestAside(t *testing.T) {
	framed := func(frame uint64, humans int, tier string) Request {
		req := request("auto", map[string]scoring.Tier{"light": light, "heavy": heavy}[tier])
		req.Frame, req.Humans = frame, humans
		return req
	}
	tests := []struct {
		name   string
		second Request
		side   bool
		third  string // reason of a light turn of the conversation after it
	}{
		{"a title", framed(2, 1, "light"), true, "held"},
		{"a subagent's first turn", framed(2, 2, "light"), true, "held"},
		{"a new system prompt in the conversation", framed(2, 4, "light"), false, "score"},
		{"the conversation itself", framed(1, 4, "light"), false, "score"},
		{"an edited turn", framed(1, 2, "light"), false, "score"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk(t, func(c *Config) { c.Profiles["balanced"] = Profile{"tiny", "mid", "large"} })
			k.next(framed(1, 3, "heavy"), nil)
			if d := k.next(tt.second, nil); d.SideCall != tt.side {
				t.Errorf("side call = %v, want %v", d.SideCall, tt.side)
			}
			if s, _ := k.r.sessions.look(tt.second.Session); tt.side && s.prompt.tokens != 20_000 {
				t.Errorf("the conversation's prompt is %d tokens, want its own 20000", s.prompt.tokens)
			}
			third := framed(1, 5, "light")
			if !tt.side {
				third.Frame = tt.second.Frame
			}
			if d := k.next(third, nil); d.Reason != tt.third {
				t.Errorf("the next turn: %s, want %s", d.Reason, tt.third)
			}
		})
	}
}

// TestBaselineWarm holds what the baseline is said to have had in its cache.
func TestBaselineWarm(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		before []string // models forced, by tier, for the turns before
		pause  time.Duration
		tier   string // forced for the turn looked at; its baseline is large
		want   int64  // -1: the choice's own share
	}{
		{name: "the first turn", tier: "standard", want: -1},
		{name: "always the baseline", before: []string{"heavy", "heavy"}, tier: "heavy", want: -1},
		{name: "a switch", before: []string{"heavy"}, tier: "standard", want: 20_000},
		{name: "a switch later", before: []string{"heavy", "heavy", "heavy"}, tier: "standard", want: 21_000},
		{name: "after the switch both are warm", before: []string{"heavy", "standard"}, tier: "standard", want: -1},
		{name: "back at the baseline", before: []string{"heavy", "standard"}, tier: "heavy", want: 20_500},
		{name: "a cache that is cold by now", before: []string{"heavy"}, pause: 6 * time.Minute, tier: "standard", want: -1},
		{
			name: "a model without a cache", change: func(c *Config) { c.Profiles["balanced"] = Profile{"small", "coder", "large"} },
			before: []string{"standard"}, tier: "standard", want: 20_000,
		},
	}
	tiers := map[string]scoring.Tier{"standard": standard, "heavy": heavy}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := newTalk(t, tt.change)
			ask := func(tier string) Decision {
				req := request("large", light)
				req.Forced, req.ForcedTier = true, tiers[tier]
				return k.next(req, nil)
			}
			for _, tier := range tt.before {
				ask(tier)
			}
			k.clock.advance(tt.pause)
			got := int64(-1)
			if d := ask(tt.tier); d.BaselineWarm != nil {
				got = *d.BaselineWarm
			}
			if got != tt.want {
				t.Errorf("BaselineWarm = %d, want %d", got, tt.want)
			}
		})
	}
}

// A side call or a worker's request under the conversation's name is no prompt
// of it: it tells nothing of the conversation's, and has none of its cache.
func TestOthersPrompts(t *testing.T) {
	for name, change := range map[string]func(*Request){"a probe": side, "a worker": worker} {
		k := newTalk(t, nil)
		k.next(request("large", heavy), nil)
		k.next(request("large", heavy), nil)
		req := request("large", light)
		change(&req)
		before, _ := k.r.sessions.look(req.Session)
		if d := k.next(req, nil); d.BaselineWarm != nil {
			t.Errorf("%s: its baseline would have found %d tokens", name, *d.BaselineWarm)
		}
		if after, _ := k.r.sessions.look(req.Session); after != before {
			t.Errorf("%s: the conversation was %+v, is %+v", name, before, after)
		}
	}
}

// Explaining a request changes nothing: not for it, nor for those after it.
func TestExplainLeavesNoTrace(t *testing.T) {
	forSequences(func(seed uint64, requests []Request) {
		r, twin := newTestRouter(t, nil), newTestRouter(t, nil)
		for i, req := range requests {
			explained, explainErr := r.Explain(req)
			if r.Sessions() != twin.Sessions() {
				t.Fatalf("seed %d, request %d: explaining made a session", seed, i)
			}
			d, err := r.Decide(req)
			twinD, _ := twin.Decide(req)
			if diff := cmp.Diff(outcomeOf(d), outcomeOf(explained)); diff != "" || (err == nil) != (explainErr == nil) {
				t.Fatalf("seed %d, request %d: explained otherwise than decided: %s", seed, i, diff)
			}
			if diff := cmp.Diff(outcomeOf(twinD), outcomeOf(d)); diff != "" {
				t.Fatalf("seed %d, request %d (-without +with explaining): %s", seed, i, diff)
			}
		}
	})
}

// A model that its upstream doesn't list is passed over while another can
// serve, and until it is listed or has answered.
func TestListed(t *testing.T) {
	clock := &fakeClock{now: time.Unix(1_800_000_000, 0)}
	r := newTestRouter(t, func(c *Config) { c.Clock = clock.Now })
	small, _ := r.cfg.Catalogue.Find("small")
	model := func(change func(*Request)) string {
		req := request("auto", light)
		if change != nil {
			change(&req)
		}
		req.Forced, req.ForcedTier = true, light // apart from any conversation
		return decide(t, r, req).Model.Name
	}
	r.Listed(small, false)
	if got := model(nil); got != "mid" {
		t.Errorf("an unlisted model: %s asked, want mid", got)
	}
	for _, name := range []string{"mid", "large"} {
		m, _ := r.cfg.Catalogue.Find(name)
		r.Report(&Request{}, m, Overloaded, 0)
	}
	if got := model(nil); got != "small" {
		t.Errorf("when nothing else is left: %s asked, want small", got)
	}
	mid, _ := r.cfg.Catalogue.Find("mid")
	r.Report(&Request{}, mid, Healthy, 0)
	r.Report(&Request{}, small, Healthy, 0)
	if got := model(nil); got != "small" {
		t.Errorf("once it has answered: %s asked, want small", got)
	}
	r.Listed(small, false)
	r.Listed(small, true)
	if got := model(nil); got != "small" {
		t.Errorf("once it is listed: %s asked, want small", got)
	}
	r.Listed(small, false)
	clock.advance(10 * time.Minute)
	if got := model(nil); got != "small" {
		t.Errorf("after ten minutes: %s asked, want small to be tried", got)
	}
	r.Report(&Request{}, small, Refused, 0)
	clock.advance(5 * time.Minute) // the cooldown is over
	if got := model(nil); got != "mid" {
		t.Errorf("refused once more: %s asked, want mid", got)
	}
}

// Where the small model has no cache, a conversation of long prompts costs less
// on a stronger one that has: it moves up, and a light turn doesn't bring it
// back.
func TestStrongerIsCheaper(t *testing.T) {
	k := newTalk(t, func(c *Config) {
		p := c.Catalogue.byName["small"].Price
		p.Input, p.CacheRead = 1.5, nil
	})
	if d := k.next(request("auto", light), nil); d.Model.Name != "small" || d.Reason != reasonScore {
		t.Fatalf("the first turn: %s, %s, want small: nothing is known yet", d.Model.Name, d.Reason)
	}
	var last Decision
	for range 5 {
		last = k.next(request("auto", light), nil)
	}
	if last.Model.Name != "mid" || last.Reason != reasonStay || last.Tier != standard {
		t.Errorf("later: %s, %s, tier %v, want to stay with mid", last.Model.Name, last.Reason, last.Tier)
	}
}
