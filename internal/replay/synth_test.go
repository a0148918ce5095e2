package replay

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// shipped is the session configuration of config.yaml.
func shipped() routing.SessionConfig {
	return routing.SessionConfig{Idle: 30 * time.Minute, CacheTTL: 5 * time.Minute, Horizon: 3, DownAfter: 2, MinGain: 0.001}
}

// TestPolicyPays holds the policy to the best single model, of each synthetic
// conversation, known afterwards: where the conversation has a plan, it costs
// at most 1 % more, and it saves where there is something to save. Where what
// comes next is random it saves on the whole, and few conversations lose. No
// turn is ever served below its tier.
func TestPolicyPays(t *testing.T) {
	tallies, err := Synthesize(shipped(), 0, 8, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	var policy, each, lost, lostEach float64
	for _, k := range tallies {
		t.Logf("%-26s policy/fixed %.3f, worst %.3f, over 1 %%: %d of %d; each turn %.3f, worst %.3f",
			k.Kind, k.PolicyUSD/k.FixedUSD, k.Worst, k.Over, k.Sessions, k.TurnUSD/k.FixedUSD, k.WorstTurn)
		if k.BelowTier > 0 {
			t.Errorf("%s: %d turns below their tier", k.Kind, k.BelowTier)
		}
		if !k.Random && k.Over > 0 {
			t.Errorf("%s: %d of %d conversations cost over 1 %% more than the best single model, the worst %.3f times", k.Kind, k.Over, k.Sessions, k.Worst)
		}
		if k.Idle > 0 {
			t.Errorf("%s: nothing saved in %d of %d conversations", k.Kind, k.Idle, k.Sessions)
		}
		if k.Random && (k.PolicyUSD >= k.FixedUSD || k.Over*10 > k.Sessions || k.Worst > 1.1) {
			t.Errorf("%s: %.3f of the best single model's cost, %d of %d over 1 %%, the worst %.3f", k.Kind, k.PolicyUSD/k.FixedUSD, k.Over, k.Sessions, k.Worst)
		}
		policy, each = policy+k.PolicyUSD, each+k.TurnUSD
		lost, lostEach = max(lost, k.Worst), max(lostEach, k.WorstTurn)
	}
	if lost >= lostEach {
		t.Errorf("the policy's worst case, %.3f, is no better than that of a change with each turn, %.3f", lost, lostEach)
	}
}

// The policy of always moving down as soon as the tier allows it does not pass:
// the figures above are not the generator's doing.
func TestGreedyFails(t *testing.T) {
	greedy := shipped()
	greedy.DownAfter, greedy.CacheTTL, greedy.MinGain = 1, 1, 0 // it believes that nothing is ever cached
	w, err := newWorld(Books()[1], greedy)
	if err != nil {
		t.Fatal(err)
	}
	over := 0
	for seed := range uint64(20) {
		policy, err := newRouted(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		steps := Kinds()[2].Generate(seed, scoring.Standard, scoring.Heavy)
		heavy, _ := w.catalogue.Find("heavy")
		got, best := run("greedy", steps, policy, w.profile, 5*time.Minute), run("heavy", steps, fixed{heavy}, w.profile, 5*time.Minute)
		if got.CostUSD > 1.01*best.CostUSD {
			over++
		}
	}
	if over == 0 {
		t.Error("changing the model with each turn costs no more than staying: the conversations prove nothing")
	}
}

func TestGenerateIsRepeatable(t *testing.T) {
	for _, k := range Kinds() {
		a, b := k.Generate(7, scoring.Light, scoring.Heavy), k.Generate(7, scoring.Light, scoring.Heavy)
		if diff := cmp.Diff(a, b); diff != "" || len(a) < 20 {
			t.Errorf("%s: %d requests, then others: %s", k.Name, len(a), diff)
		}
	}
}

// TestProvider works a bill out by hand: a prompt is read from the cache of the
// model that saw it, while it lasts, and a switch loses what another one had.
func TestProvider(t *testing.T) {
	w, err := newWorld(Books()[0], shipped())
	if err != nil {
		t.Fatal(err)
	}
	p := newProvider(5 * time.Minute)
	at := time.Unix(1_800_000_000, 0)
	tests := []struct {
		name  string
		after time.Duration
		model string
		input int64
		usd   float64
		lost  float64
	}{
		{"cold", 0, "heavy", 10_000, 10_000 * 5 / 1e6, 0},
		{"warm", time.Minute, "heavy", 12_000, (10_000*0.4 + 2_000*5) / 1e6, 0},
		{"a switch", time.Minute, "standard", 13_000, 13_000 * 2.5 / 1e6, 12_000 * (2.5 - 0.2) / 1e6},
		{"back while warm", time.Minute, "heavy", 14_000, (12_000*0.4 + 2_000*5) / 1e6, 1_000 * (5 - 0.4) / 1e6},
		{"lapsed", 6 * time.Minute, "heavy", 15_000, 15_000 * 5 / 1e6, 0},
	}
	for _, tt := range tests {
		at = at.Add(tt.after)
		m, _ := w.catalogue.Find(tt.model)
		s := Step{At: at}
		s.Request.Session, s.Usage.Input = "s", tt.input
		_, usd, lost, priced := p.answer(&s, m)
		if !priced || !near(usd, tt.usd) || !near(lost, tt.lost) {
			t.Errorf("%s: %.6f USD, %.6f lost, want %.6f and %.6f", tt.name, usd, lost, tt.usd, tt.lost)
		}
	}
}

func near(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 }

// A light model without a cache may cost more, over a conversation of an agent,
// than a stronger one that has one. The policy finds out and moves up.
func TestStrongerMayBeCheaper(t *testing.T) {
	read := 0.1
	w, err := newWorld(Book{Prices: [3]ledger.Price{{Input: 0.3, Output: 0.5}, {Input: 1, Output: 4, CacheRead: &read}, {Input: 5, Output: 20}}}, shipped())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kinds() {
		if k.loops[1] == 1 {
			continue
		}
		for seed := range uint64(8) {
			c, err := w.compare(k.Generate(seed, scoring.Light, scoring.Standard))
			if err != nil {
				t.Fatal(err)
			}
			if c.Ratio() > 1.03 || c.Policy.BelowTier > 0 {
				t.Errorf("%s, seed %d: %.3f of the best single model's cost; each turn %.3f", k.Name, seed, c.Ratio(), c.EachTurn.CostUSD/c.Fixed.CostUSD)
			}
		}
	}
}
