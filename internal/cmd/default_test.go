package cmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

// TestDefaultScoring holds the two lists of defaults, the shipped
// configuration's and the scorer's own, together.
func TestDefaultScoring(t *testing.T) {
	got := scoringConfig(config.Default().Routing.PromptRouting)
	if diff := cmp.Diff(scoring.DefaultConfig(), got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the configuration's defaults differ from the scorer's (-scorer +configuration):\n%s", diff)
	}
}

// TestDefaultModels wants the price list to know all of the shipped
// configuration's models, or nothing could be saved or said to be.
func TestDefaultModels(t *testing.T) {
	prices, err := ledger.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := newCatalogue(config.Default())
	if err != nil {
		t.Fatal(err)
	}
	cheapest := 0.0
	for _, m := range catalogue.All() {
		if _, ok := prices.Lookup(m.ID); !ok {
			t.Errorf("%s is not in the price list", m.ID)
			continue
		}
		if m.Price == nil || m.Context == 0 || m.MaxOutput == 0 || len(m.Supports) == 0 {
			t.Errorf("%s = %+v, want a price, a window, an output limit and abilities", m.Name, m)
			continue
		}
		if m.Price.Input <= cheapest || m.Price.Output <= m.Price.Input {
			t.Errorf("%s costs %+v, want the models cheapest first", m.Name, m.Price)
		}
		cheapest = m.Price.Input
	}
}
