package cmd

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
)

// TestRoutingGoesOnAfterRestart restarts in the middle of a conversation: its
// tier is held as if nothing had happened.
func TestRoutingGoesOnAfterRestart(t *testing.T) {
	noLeaks(t)
	const (
		hard = `{"role":"user","content":"Design a fault-tolerant key-value store step by step. Prove that it stays linearizable with at most two failed nodes: first the write path, then recovery."}`
		easy = hard + `,{"role":"assistant","content":"Done."},{"role":"user","content":"hi"}`
	)
	a, _ := start(t, func(*config.Config) {})
	cfg := a.cfg
	reason := func(messages string) string {
		t.Helper()
		resp := post(t, a, `{"model":"auto","messages":[`+messages+`]}`, "X-Session-Id", "one")
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		return resp.Header.Get("X-Prompt-Tier") + " " + resp.Header.Get("X-Route-Reason")
	}
	if got := reason(hard); got != "heavy score" {
		t.Fatalf("the hard turn: %s", got)
	}
	closeApp(t, a)
	a, err := startApp(t.Context(), cfg, IO{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if got := reason(hard); got != "heavy turn" {
		t.Errorf("the same turn after the restart: %s, want heavy turn", got)
	}
	if got := reason(easy); got != "heavy held" {
		t.Errorf("an easy turn after it: %s, want heavy held", got)
	}
	closeApp(t, a)
}

// TestRouteKnowsTheConversations asks about the next turn of a conversation:
// first the server that runs, then, when none does, the stores.
func TestRouteKnowsTheConversations(t *testing.T) {
	noLeaks(t)
	const admin = "ADMIN=secret"
	a, _ := start(t, func(c *config.Config) { c.Auth.AdminKeyEnv = "ADMIN" }, admin)
	cfg := a.cfg
	cfg.Listen = a.listener.Addr().String()
	hard := `{"role":"user","content":"Design a fault-tolerant key-value store step by step. Prove that it stays linearizable with at most two failed nodes: first the write path, then recovery."}`
	resp := post(t, a, `{"model":"auto","messages":[`+hard+`]}`, "X-Session-Id", "one")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	next := `{"model":"auto","messages":[` + hard + `,{"role":"assistant","content":"Done."},{"role":"user","content":"hi"}]}`
	held := func(when string) {
		t.Helper()
		got, err := explainRoute(t.Context(), cfg, IO{Env: []string{admin}}, http.Header{"X-Session-Id": {"one"}}, "default", []byte(next))
		if err != nil || gjson.GetBytes(got, "decision.reason").Str != "held" {
			t.Errorf("%s: %s, %v, want that the tier is held", when, got, err)
		}
	}
	held("while the server runs")
	closeApp(t, a)
	held("when it has ended")
}

// TestExportReplays plays what a running server wrote into its ledger: the
// configuration decides again as it did, and costs what it did.
func TestExportReplays(t *testing.T) {
	noLeaks(t)
	a, _ := start(t, func(*config.Config) {})
	messages := `{"role":"system","content":"` + strings.Repeat("Be brief and precise. ", 300) + `"}`
	for _, words := range []string{"hello there", "Design a fault-tolerant key-value store step by step. Prove that it stays linearizable with at most two failed nodes: first the write path, then recovery.", "hi"} {
		messages += `,{"role":"user","content":"` + words + `"}`
		resp := post(t, a, `{"model":"auto","messages":[`+messages+`]}`, "X-Session-Id", "one", "X-Memory", "off")
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		messages += `,{"role":"assistant","content":"Done."}`
	}
	if err := a.ledger.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var export bytes.Buffer
	if err := ledger.WriteJSONL(&export, a.ledger.Entries(t.Context(), ledger.Selection{Tenant: "default"})); err != nil {
		t.Fatal(err)
	}
	routed := []string{}
	for line := range strings.Lines(export.String()) {
		routed = append(routed, gjson.Get(line, "routed_model").Str)
	}
	cfg := a.cfg
	closeApp(t, a)
	var out bytes.Buffer
	if err := replayTraffic(t.Context(), cfg, "-", true, IO{In: &export, Out: &out, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	results := gjson.ParseBytes(out.Bytes())
	configured, recorded := results.Get(`#(name="configured")`), results.Get(`#(name="recorded")`)
	for _, path := range []string{"requests", "cost_usd", "up", "down"} {
		if configured.Get(path).Num != recorded.Get(path).Num || recorded.Get("requests").Int() != 3 {
			t.Errorf("%s: %v as configured, %v as it was (%v)", path, configured.Get(path), recorded.Get(path), routed)
		}
	}
	if recorded.Get("up").Int() != 1 {
		t.Errorf("%v was served, want one way up", routed)
	}
}
