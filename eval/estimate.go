package eval

import (
	"maps"
	"slices"
)

// What an answer takes, in tokens, for the estimate before a run: a question
// with everything that may be added, and an answer of a page.
const (
	askInput, askOutput     = 1500, 700
	judgeInput, judgeOutput = 1500, 60
)

// Estimate says what a run may cost, in USD, and which models have no price.
// price gives USD per million tokens.
func (c *Config) Estimate(price func(model string) (input, output float64, ok bool)) (usd float64, unpriced []string) {
	missing := map[string]bool{}
	add := func(model string, times, in, out int) {
		input, output, ok := price(model)
		if !ok {
			missing[model] = true
			return
		}
		usd += float64(times) * (float64(in)*input + float64(out)*output) / 1e6
	}
	scenarios := 0
	for _, s := range c.Scenarios {
		if c.done(s.Name) < 0 {
			scenarios++
			add(c.Plan.Priming, len(s.Priming), askInput, askOutput)
		}
	}
	answers := 0
	for _, cond := range c.Plan.Conditions {
		n := scenarios * c.Seeds
		add(cond.Model, n, askInput, askOutput)
		answers += n
	}
	orders := 1
	if c.Gold != GoldRubric {
		orders = 2
	}
	for _, judge := range c.Plan.Judges {
		add(judge, answers*orders, judgeInput, judgeOutput)
	}
	return usd, slices.Sorted(maps.Keys(missing))
}
