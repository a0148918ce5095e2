package replay

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// Kind is a kind of synthetic conversation.
type Kind struct {
	Name   string
	Saves  bool // easy stretches are long enough that something has to be saved
	Random bool // what comes next can't be known from what came before

	tiers pattern
	loops [2]int        // requests of a turn, least and most
	idle  time.Duration // after one turn in four; 0: none
}

// pattern says what n turns ask for, of an easy and a hard tier.
type pattern func(rnd *rand.Rand, n int, easy, hard scoring.Tier) []scoring.Tier

// Kinds returns the kinds of synthetic conversations: those of a plan, which
// have a known right answer, and random ones.
func Kinds() []Kind {
	chat, agent, long, idle := [2]int{1, 1}, [2]int{2, 9}, [2]int{6, 20}, 12*time.Minute
	return []Kind{
		{Name: "easy", tiers: stretches(1), loops: agent},
		{Name: "hard", tiers: stretches(0, 1), loops: agent},
		{Name: "alternating", tiers: alternating, loops: agent},
		{Name: "alternating, chat", tiers: alternating, loops: chat},
		{Name: "easy tail", Saves: true, tiers: stretches(0, 0.3, 0.7), loops: agent},
		{Name: "easy tail, chat", Saves: true, tiers: stretches(0, 0.3, 0.7), loops: chat},
		{Name: "hard tail", Saves: true, tiers: stretches(0.7, 0.3), loops: agent},
		{Name: "hard tail, chat", Saves: true, tiers: stretches(0.7, 0.3), loops: chat},
		{Name: "easy middle", Saves: true, tiers: stretches(0, 0.25, 0.5, 0.25), loops: agent},
		{Name: "tool loops, alternating", tiers: alternating, loops: long},
		{Name: "tool loops, easy tail", Saves: true, tiers: stretches(0, 0.3, 0.7), loops: long},
		{Name: "idle gaps, alternating", tiers: alternating, loops: agent, idle: idle},
		{Name: "idle gaps, easy tail", Saves: true, tiers: stretches(0, 0.3, 0.7), loops: agent, idle: idle},
		{Name: "idle gaps, easy middle", Saves: true, tiers: stretches(0, 0.25, 0.5, 0.25), loops: agent, idle: idle},
		{Name: "mixed", Random: true, tiers: random(0.3), loops: agent},
		{Name: "mixed, chat", Random: true, tiers: random(0.3), loops: chat},
		{Name: "mixed, idle gaps", Random: true, tiers: random(0.3), loops: agent, idle: idle},
		{Name: "seldom hard", Random: true, tiers: random(0.08), loops: agent},
		{Name: "seldom hard, chat", Random: true, tiers: random(0.08), loops: chat},
		{Name: "bursts", Random: true, tiers: bursts, loops: agent},
		{Name: "bursts, chat", Random: true, tiers: bursts, loops: chat},
	}
}

// stretches are shares of the turns that are easy, hard, easy, …
func stretches(shares ...float64) pattern {
	return func(_ *rand.Rand, n int, easy, hard scoring.Tier) (tiers []scoring.Tier) {
		for i, share := range shares {
			tier := easy
			if i%2 == 1 {
				tier = hard
			}
			for range int(share*float64(n) + 0.5) {
				tiers = append(tiers, tier)
			}
		}
		return tiers
	}
}

func alternating(_ *rand.Rand, n int, easy, hard scoring.Tier) []scoring.Tier {
	tiers := make([]scoring.Tier, n)
	for i := range tiers {
		if tiers[i] = easy; i%2 == 1 {
			tiers[i] = hard
		}
	}
	return tiers
}

// random turns are hard with a probability.
func random(p float64) pattern {
	return func(rnd *rand.Rand, n int, easy, hard scoring.Tier) []scoring.Tier {
		tiers := make([]scoring.Tier, n)
		for i := range tiers {
			if tiers[i] = easy; rnd.Float64() < p {
				tiers[i] = hard
			}
		}
		return tiers
	}
}

// bursts are stretches of five turns in the mean.
func bursts(rnd *rand.Rand, n int, easy, hard scoring.Tier) []scoring.Tier {
	tiers := make([]scoring.Tier, n)
	tier := easy
	for i := range tiers {
		if rnd.IntN(5) == 0 {
			tier = easy + hard - tier
		}
		tiers[i] = tier
	}
	return tiers
}

// Generate makes a conversation of a kind: one of a coding agent (long system
// prompt and tools, several requests a turn) or of a chat (shorter, one request
// a turn). The same seed gives the same conversation.
func (k Kind) Generate(seed uint64, easy, hard scoring.Tier) []Step {
	g := &generator{rnd: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)}
	agent := k.loops[1] > 1
	if g.prompt = g.between(300, 1_500); agent {
		g.prompt = g.between(3_000, 15_000)
	}
	for i, tier := range k.tiers(g.rnd, g.between(20, 40), easy, hard) {
		g.turn(i, tier, tier == hard, g.between(k.loops[0], k.loops[1]), agent)
		if k.idle > 0 && i%4 == 3 {
			g.now = g.now.Add(k.idle)
		}
	}
	return g.steps
}

// generator makes one conversation.
type generator struct {
	rnd    *rand.Rand
	now    time.Time
	prompt int // tokens
	steps  []Step
}

func (g *generator) between(least, most int) int { return least + g.rnd.IntN(most-least+1) }

// turn is a human turn of so many requests.
func (g *generator) turn(i int, tier scoring.Tier, hard bool, requests int, agent bool) {
	g.prompt += g.between(20, 400) // what the human says
	for range requests {
		output := g.between(100, 600)
		if hard {
			output *= 2
		}
		g.steps = append(g.steps, Step{
			At: g.now, Usage: ledger.Usage{Input: int64(g.prompt), Output: int64(output)},
			Request: routing.Request{
				Session: "s", Turn: strconv.Itoa(i), Model: "auto", ProcessType: "channel", Score: scoring.Score{Tier: tier},
				InputTokens: g.prompt * g.between(80, 120) / 100, // an estimate is off
			},
		})
		if g.prompt += output; agent {
			g.prompt += g.between(50, 2_000) // what the tool says
		}
		g.now = g.now.Add(time.Duration(g.between(3, 25)) * time.Second)
	}
	g.now = g.now.Add(time.Duration(g.between(5, 120)) * time.Second)
}
