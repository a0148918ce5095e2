package routing_test

import (
	"fmt"
	"log"
	"time"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

func newRouter() *routing.Router {
	catalogue, err := routing.NewCatalogue([]routing.Model{
		{Name: "small", Context: 8_000, Supports: []string{"tools"}, Price: &ledger.Price{Input: 0.1, Output: 0.4}},
		{Name: "mid", Context: 128_000, Supports: []string{"tools", "vision"}, Price: &ledger.Price{Input: 1, Output: 5}},
		{Name: "large", Context: 200_000, Supports: []string{"tools", "vision"}, Price: &ledger.Price{Input: 5, Output: 25}},
	}, &ledger.PriceList{})
	if err != nil {
		log.Fatal(err)
	}
	router, err := routing.New(routing.Config{
		Catalogue:    catalogue,
		Explicit:     routing.ExplicitCheaper,
		Profile:      "balanced",
		Profiles:     map[string]routing.Profile{"balanced": {Light: "small", Standard: "mid", Heavy: "large"}},
		ProcessTypes: map[string]string{"channel": "mid"},
		PromptRouted: []string{"channel"},
		Session:      routing.SessionConfig{Idle: 30 * time.Minute, DownAfter: 2, Max: 1_000},
		Clock:        time.Now,
	})
	if err != nil {
		log.Fatal(err)
	}
	return router
}

// A conversation goes up at once, and down only when two turns in a row ask for
// less.
func ExampleRouter_Decide() {
	router := newRouter()
	for turn, asked := range []scoring.Tier{scoring.Light, scoring.Heavy, scoring.Light, scoring.Light} {
		d, err := router.Decide(routing.Request{
			Session: "acme/bot/42", Turn: fmt.Sprint(turn), Model: "auto", ProcessType: "channel",
			Score: scoring.Score{Tier: asked}, InputTokens: 1_000,
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("asked %v, got %v: %s (%s)\n", asked, d.Tier, d.Model.Name, d.Reason)
	}
	// Output:
	// asked light, got light: small (score)
	// asked heavy, got heavy: large (score)
	// asked light, got heavy: large (held)
	// asked light, got light: small (score)
}

// A model that can't serve the request is passed over, and the decision says
// why.
func ExampleRouter_Decide_candidates() {
	d, err := newRouter().Decide(routing.Request{
		Model: "large", ProcessType: "channel", Score: scoring.Score{Tier: scoring.Light}, Needs: chat.Needs{Vision: true},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range d.Candidates {
		fmt.Printf("%s %q\n", c.Model, c.Fell)
	}
	fmt.Printf("%s in place of %s (%s)\n", d.Model.Name, d.Baseline.Name, d.Reason)
	// Output:
	// small "no vision"
	// mid ""
	// mid in place of large (capability)
}

func ExampleVirtual() {
	for _, model := range []string{"auto", "auto:eco", "gpt-5-mini"} {
		profile, ok := routing.Virtual(model)
		fmt.Printf("%q %v\n", profile, ok)
	}
	// Output:
	// "" true
	// "eco" true
	// "" false
}
