package ledger_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/understudy-ai/understudy/ledger"
)

func ExampleParseUsage() {
	// Anthropic counts the cached part of a prompt beside the rest of it.
	usage, ok := ledger.ParseUsage([]byte(`{
		"input_tokens": 86, "cache_read_input_tokens": 1920, "cache_creation_input_tokens": 0, "output_tokens": 300}`))
	fmt.Printf("%+v %v\n", usage, ok)
	// Output:
	// {Input:2006 Cached:1920 CacheWrite:0 CacheWriteHour:0 Output:300 Reasoning:0} true
}

// A request for a dear model that a cheap one answered, with 1,000 tokens of
// memory added to its prompt.
func ExampleSettle() {
	e := ledger.Entry{
		Outcome:              ledger.OutcomeOK,
		Usage:                ledger.Usage{Input: 10_000, Output: 500},
		UsageKnown:           true,
		InjectedMemoryTokens: 1_000,
	}
	haiku := &ledger.Price{Input: 1, Output: 5}
	sonnet := &ledger.Price{Input: 3, Output: 15}
	ledger.Settle(&e, haiku, sonnet, nil)

	fmt.Printf("baseline %.4f − cost %.4f = %.4f\n", *e.Baseline, *e.Cost, e.Saved.Total())
	fmt.Printf("routing %+.4f, memory %+.4f\n", e.Saved.Routing, e.Saved.Memory)
	// Output:
	// baseline 0.0345 − cost 0.0125 = 0.0220
	// routing +0.0230, memory -0.0010
}

func ExampleLedger() {
	dir, err := os.MkdirTemp("", "ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	l, err := ledger.Open(ctx, ledger.Config{Path: filepath.Join(dir, "ledger.db")})
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()

	for _, id := range []string{"first", "second"} {
		e := ledger.Entry{ID: id, Tenant: "acme", RoutedModel: "haiku", Outcome: ledger.OutcomeOK}
		e.Usage, e.UsageKnown = ledger.Usage{Input: 1_000, Output: 100}, true
		ledger.Settle(&e, &ledger.Price{Input: 1, Output: 5}, &ledger.Price{Input: 3, Output: 15}, nil)
		l.Record(e)
	}
	if err := l.Sync(ctx); err != nil {
		log.Fatal(err)
	}
	stats, err := l.Stats(ctx, ledger.StatsQuery{Tenant: "acme", GroupBy: "model"})
	if err != nil {
		log.Fatal(err)
	}
	for _, g := range stats.Groups {
		fmt.Printf("%s: %d requests, $%.4f, saved $%.4f\n", g.Key, g.Requests, g.CostUSD, g.Saved.Total())
	}
	// Output:
	// haiku: 2 requests, $0.0030, saved $0.0060
}
