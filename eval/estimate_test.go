package eval

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEstimate(t *testing.T) {
	plan := &Plan{Priming: "strong", Judges: []string{"judge"}, Conditions: []Condition{{Code: "A", Model: "strong"}, {Code: "B", Model: "weak"}}}
	two := []Scenario{{Name: "one", Priming: make([]Turn, 2)}, {Name: "two", Priming: make([]Turn, 3)}}
	price := func(model string) (input, output float64, ok bool) {
		switch model {
		case "strong":
			return 10, 100, true
		case "judge":
			return 1, 10, true
		}
		return 0, 0, false
	}
	// An answer of the strong model is 1,500 × 10 + 700 × 100 millionths, and a
	// judgement 1,500 + 60 × 10.
	const answer, judgement = 0.085, 0.0021
	tests := []struct {
		name string
		gold string
		done []Outcome
		want float64
	}{
		{"all", GoldRubric, nil, (5+6)*answer + 12*judgement},
		{"both orders", "condition:A", nil, (5+6)*answer + 24*judgement},
		{"one is done", GoldRubric, []Outcome{{Scenario: "two"}}, (2+3)*answer + 6*judgement},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Config{Plan: plan, Scenarios: two, Seeds: 3, Gold: tt.gold, Done: tt.done}
			usd, unpriced := c.Estimate(price)
			if !near(usd, tt.want, 1e-9) {
				t.Errorf("estimate $%v, want $%v", usd, tt.want)
			}
			if diff := cmp.Diff([]string{"weak"}, unpriced); diff != "" {
				t.Errorf("unpriced (-want +got):\n%s", diff)
			}
		})
	}
}
