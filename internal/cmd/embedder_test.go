package cmd

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
)

// TestEmbedder has the configured model make vectors of a memory and a query
// after the answer, and books its calls.
func TestEmbedder(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(c *config.Config) { c.Memory.Embedder.Model, c.Memory.Embedder.Dimensions = "vectors-1", 8 })
	defer closeApp(t, a)
	ask := func(text string) {
		resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"`+text+`"}]}`, "X-User-Id", "ann")
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	embedded := func(text string) func() bool {
		return func() bool {
			for _, r := range upstream.Requests() {
				if r.Path == "/v1/embeddings" && strings.Contains(string(r.Body), text) &&
					gjson.GetBytes(r.Body, "model").Str == "vectors-1" && gjson.GetBytes(r.Body, "dimensions").Int() == 8 {
					return true
				}
			}
			return false
		}
	}
	ask("We decided to use Postgres.")
	if !eventually(embedded("We decided to use Postgres.")) {
		t.Fatal("the memory's text didn't go out")
	}
	asked := func() bool {
		ask("Which database is it?") // The table of memories may still be on its way.
		return embedded("Which database is it?")()
	}
	if !eventually(asked) {
		t.Fatal("the query's text didn't go out")
	}
	booked := func() bool {
		if err := a.ledger.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		calls := 0
		for e, err := range a.ledger.Entries(context.Background(), ledger.Selection{Tenant: "default"}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Background == "" {
				continue
			}
			calls++
			if e.Background != "embedder" || e.User != "ann" || e.RoutedModel != "vectors-1" || e.Outcome != ledger.OutcomeOK || !e.UsageKnown || e.Usage.Input == 0 {
				t.Fatalf("the call's entry is %+v", e)
			}
		}
		return calls >= 2
	}
	if !eventually(booked) {
		t.Error("the calls aren't in the ledger")
	}
}
