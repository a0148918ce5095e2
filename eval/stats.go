package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often an interval is drawn again. Over 14 scenarios of a
// real run 2,000 draws moved the end of an interval by .008 (standard deviation
// over seeds), 10,000 by .0025.
const resamples = 10000

// Estimate is a mean with its 95 % bootstrap interval.
type Estimate struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	N    int     `json:"n"` // scenarios
}

// Effect is the difference between two conditions over the same scenarios.
type Effect struct {
	Estimate
	// P is the two-sided p-value of a sign-flip permutation test over the
	// scenarios' differences.
	P float64 `json:"p"`
	// Detectable is the smallest difference that this many scenarios of this
	// spread would show in four of five runs, at p < .05; nil when none can be
	// shown by so few.
	Detectable *float64 `json:"minimum_detectable_effect"`
	// Shown is whether the interval leaves out zero and P is below .05.
	Shown bool `json:"shown"`
}

// ClosureResult is how much of a gap was closed.
type ClosureResult struct {
	Closure
	// Effect is With − Baseline.
	Effect Effect `json:"effect"`
	// Gap is Top − Baseline; nil without a Top.
	Gap *Effect `json:"gap,omitempty"`
	// Closed is Effect / Gap, and only when the gap is positive.
	Closed *Estimate `json:"closed,omitempty"`
	// Passed is whether the target was reached; nil without one or without a
	// gap to close.
	Passed *bool `json:"passed,omitempty"`
	// Rows are the scenarios that it compares.
	Rows []Row `json:"rows"`
}

// Row is a comparison in one scenario.
type Row struct {
	Scenario string   `json:"scenario"`
	Effect   float64  `json:"effect"`        // With − Baseline
	Gap      *float64 `json:"gap,omitempty"` // Top − Baseline; nil without a Top
}

func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// bootstrap gives f of the sample and the 2.5 and 97.5 percentiles of f over
// samples drawn from it with replacement (Efron's percentile method). The
// unit is the scenario: seeds of one scenario are not independent. Draws for
// which f is not a number are left out.
func bootstrap(n int, f func(index []int) float64) Estimate {
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	e := Estimate{Mean: f(index), N: n}
	r := rand.New(rand.NewPCG(1, uint64(n))) // the same interval for the same results
	var drawn []float64
	for range resamples {
		for i := range index {
			index[i] = r.IntN(n)
		}
		if v := f(index); !math.IsNaN(v) && !math.IsInf(v, 0) {
			drawn = append(drawn, v)
		}
	}
	if len(drawn) == 0 {
		return e
	}
	slices.Sort(drawn)
	e.Low, e.High = drawn[int(0.025*float64(len(drawn)))], drawn[min(len(drawn)-1, int(0.975*float64(len(drawn))))]
	return e
}

// pick is the mean of some of v.
func pick(v []float64, index []int) float64 {
	sum := 0.0
	for _, i := range index {
		sum += v[i]
	}
	return sum / float64(len(index))
}

// effect compares paired means, one pair a scenario.
func effect(with, without []float64) Effect {
	diff := make([]float64, len(with))
	for i := range with {
		diff[i] = with[i] - without[i]
	}
	if len(diff) == 0 {
		return Effect{P: 1}
	}
	e := Effect{Estimate: bootstrap(len(diff), func(index []int) float64 { return pick(diff, index) }), P: signFlip(diff)}
	e.Detectable = detectable(diff)
	e.Shown = e.P < 0.05 && (e.Low > 0 || e.High < 0)
	return e
}

// exactFlips is up to how many differences every pattern of signs is tried.
const exactFlips = 14

// signFlip is the share of sign patterns whose mean is at least as far from
// zero as that of the differences themselves: a paired permutation test, exact
// for up to exactFlips of them.
func signFlip(diff []float64) float64 {
	target := math.Abs(mean(diff)) - 1e-12
	flipped := make([]float64, len(diff))
	if len(diff) <= exactFlips {
		hits := 0
		for pattern := range 1 << len(diff) {
			for i, d := range diff {
				flipped[i] = d
				if pattern>>i&1 == 1 {
					flipped[i] = -d
				}
			}
			if math.Abs(mean(flipped)) >= target {
				hits++
			}
		}
		return float64(hits) / float64(int(1)<<len(diff))
	}
	const draws = 20000
	r := rand.New(rand.NewPCG(2, uint64(len(diff))))
	hits := 1 // the observed pattern is one of them
	for range draws {
		for i, d := range diff {
			if flipped[i] = d; r.IntN(2) == 1 {
				flipped[i] = -d
			}
		}
		if math.Abs(mean(flipped)) >= target {
			hits++
		}
	}
	return float64(hits) / (draws + 1)
}

// leastUnits is how many differences p < .05 takes: of fewer, even when all
// go one way, a share of 2/2^n ≥ .0625 of the sign patterns is as far from 0.
const leastUnits = 6

// detectable is (z.975 + z.80) standard errors of the mean difference.
func detectable(diff []float64) *float64 {
	if len(diff) < leastUnits {
		return nil
	}
	m, sum := mean(diff), 0.0
	for _, d := range diff {
		sum += (d - m) * (d - m)
	}
	sd := math.Sqrt(sum / float64(len(diff)-1))
	d := (1.96 + 0.8416) * sd / math.Sqrt(float64(len(diff)))
	return &d
}

// closure compares three conditions' means, one of each a scenario. top is nil
// where there is no strong condition.
func closure(c Closure, baseline, with, top []float64) ClosureResult {
	r := ClosureResult{Closure: c, Effect: effect(with, baseline)}
	if top == nil || len(baseline) == 0 {
		return r
	}
	gap := effect(top, baseline)
	r.Gap = &gap
	if gap.Mean <= 0 {
		return r
	}
	closed := bootstrap(len(baseline), func(index []int) float64 {
		return (pick(with, index) - pick(baseline, index)) / (pick(top, index) - pick(baseline, index))
	})
	r.Closed = &closed
	if c.Target > 0 {
		passed := closed.Mean >= c.Target
		r.Passed = &passed
	}
	return r
}
