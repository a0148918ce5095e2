package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/proxy"
)

// explained asks what would become of a request.
func (s *stack) explained(body string, headers ...string) gjson.Result {
	s.t.Helper()
	a := s.send(http.MethodPost, "/api/route", body, headers...)
	if a.status != 200 {
		s.t.Fatalf("POST /api/route: HTTP %d %s", a.status, a.body)
	}
	return gjson.Parse(a.body)
}

// TestRouteTellsWhatHappens asks about each request of a conversation before it
// is sent: what is told is what then happens, byte for byte.
func TestRouteTellsWhatHappens(t *testing.T) {
	s := newStack(t, nil)
	s.post(ask("auto", "We decided to use PostgreSQL for the ledger service."), "X-User-Id: ana", "X-Session-Id: before")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	turns := []string{hard, "Which database did we decide on for the ledger service?", "hi", "yes", "Thanks, that is all."}
	messages := `{"role":"system","content":"Be brief."}`
	for i, words := range turns {
		messages += fmt.Sprintf(`,{"role":"user","content":%q}`, words)
		body := `{"model":"auto","messages":[` + messages + `]}`
		who := []string{"X-User-Id: ana", "X-Session-Id: one"}
		first := s.explained(body, who...)
		again := s.explained(body, who...)
		for _, part := range []string{"decision", "edits", "costs", "score"} {
			if first.Get(part).Raw != again.Get(part).Raw {
				t.Fatalf("turn %d: asked twice, told otherwise:\n%s\n%s", i, first.Raw, again.Raw)
			}
		}
		a := s.post(body, who...)
		for header, path := range map[string]string{
			"X-Routed-Model": "decision.model", "X-Route-Reason": "decision.reason", "X-Prompt-Tier": "decision.tier", "X-Task-Shape": "shape.type", "X-Memory-Used": "memories_used",
		} {
			if got, want := first.Get(path).String(), a.header.Get(header); got != want {
				t.Errorf("turn %d: told that %s is %q, it is %q", i, path, got, want)
			}
		}
		if got, want := applied(body, first.Get("edits")), string(s.upstream.Last().Body); got != want {
			t.Errorf("turn %d: told that %s goes out, it is %s", i, got, want)
		}
		messages += `,{"role":"assistant","content":"Done."}`
		if i == 1 && !strings.Contains(first.Get("recalled").Raw, "PostgreSQL") {
			t.Errorf("turn %d: nothing recalled in %s", i, first.Get("recalled").Raw)
		}
	}
}

// applied is a body with the edits of an explanation.
func applied(body string, edits gjson.Result) string {
	var out strings.Builder
	at := int64(0)
	for _, e := range edits.Array() {
		out.WriteString(body[at:e.Get("start").Int()] + e.Get("new").Str)
		at = e.Get("end").Int()
	}
	return out.String() + body[at:]
}

// A conversation that has no name is found again by its words, whoever's key
// pays for it.
func TestRouteFindsTheConversation(t *testing.T) {
	for _, headers := range [][]string{nil, {"Authorization: Bearer mine"}} {
		s := newStack(t, nil)
		messages := fmt.Sprintf(`{"role":"user","content":%q}`, hard)
		s.post(`{"model":"auto","messages":[`+messages+`]}`, headers...)
		messages += `,{"role":"assistant","content":"Done."},{"role":"user","content":"hi"}`
		told := s.explained(`{"model":"auto","messages":[`+messages+`]}`, headers...)
		a := s.post(`{"model":"auto","messages":[`+messages+`]}`, headers...)
		if got, want := told.Get("decision.reason").Str, a.header.Get("X-Route-Reason"); got != want || want != "held" {
			t.Errorf("%q: told %s, then it is %s, want held", headers, got, want)
		}
	}
}

// With passthrough the tenant says whose key it is.
func TestRouteFindsTheTenantsConversation(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Auth = proxy.Auth{Mode: proxy.AuthPassthrough, Admin: "root"} })
	body := ask("auto", hard)
	s.post(body, "Authorization: Bearer mine")
	if err := s.ledger.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	tenant := proxy.Digest("Bearer mine")
	rows, err := s.ledger.Recent(t.Context(), tenant, 1)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows of the tenant, %v", len(rows), err)
	}
	a := s.send(http.MethodPost, "/api/route?tenant="+tenant, body, "Authorization: Bearer root")
	if got := gjson.Get(a.body, "identity.session").Str; got != rows[0].Session {
		t.Errorf("asked about session %q, it is %q", got, rows[0].Session)
	}
}

// Nothing is sent, learned, counted or moved by asking.
func TestRouteLeavesNoTrace(t *testing.T) {
	s := newStack(t, nil)
	for range 3 {
		s.explained(ask("auto", "We decided to use PostgreSQL. "+hard), "X-Session-Id: one", "X-User-Id: ana")
	}
	if n := len(s.upstream.Requests()); n != 0 {
		t.Errorf("%d requests went upstream", n)
	}
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.memory.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("%d memories, %v, want none", n, err)
	}
	if rows, err := s.ledger.Recent(t.Context(), "default", 10); err != nil || len(rows) != 0 {
		t.Errorf("%d rows in the ledger, %v, want none", len(rows), err)
	}
	a := s.post(ask("auto", "hi"), "X-Session-Id: one", "X-User-Id: ana")
	if got := a.header.Get("X-Route-Reason"); got != "score" {
		t.Errorf("the first request after it: %s, want score, not a tier that was held", got)
	}
}

func TestRouteExplains(t *testing.T) {
	s := newStack(t, nil)
	vision := `{"model":"auto","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:,"}}]}],"max_tokens":100}`
	tests := []struct {
		name    string
		body    string
		headers []string
		want    map[string]string // path: value
	}{
		{"identity", ask("auto", "hi"), []string{"X-Agent-Id: atlas", "X-User-Id: ana", "X-Process-Type: worker", "X-Task-Type: coding"}, map[string]string{
			"identity.tenant": "default", "identity.agent": "atlas", "identity.user": "ana", "identity.process_type": "worker",
			"identity.task_type": "coding", "identity.context_mode": "none", "decision.reason": "process", "decision.model": "small",
		}},
		{"why each candidate fell", vision, nil, map[string]string{
			"needs.0": "vision", "max_output": "100", "decision.candidates.0.model": "small", "decision.candidates.0.fell": "no vision",
			"decision.candidates.1.fell": "no vision", "decision.candidates.2.model": "large", "decision.candidates.2.fell": "",
			"decision.reason": "capability", "costs.0.lacks": "no vision", "costs.2.model": "large", "costs.2.lacks": "",
		}},
		{"what can't be served", `{"model":"auto","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`, nil, map[string]string{
			"error.status": "400", "error.code": "no_capable_model", "decision.candidates.#": "3", "edits.#": "0",
		}},
		{"an unknown profile", ask("auto", "hi"), []string{"X-Routing-Profile: nope"}, map[string]string{"error.code": "invalid_header", "error.param": "X-Routing-Profile"}},
		{"cost by tier", ask("auto", "hi"), nil, map[string]string{"costs.#": "3", "costs.0.tier": "light", "costs.0.output_tokens": "500", "costs.2.usd": "0.012505"}},
		{"bypass", ask("auto", "hi"), []string{"X-Bypass: true"}, map[string]string{"decision.reason": "bypass", "edits.#": "0", "identity.bypass": "true"}},
		{"the score", ask("auto", "hi"), nil, map[string]string{"words": "hi", "score.tier": "light", "shape.type": "draft", "decision.baseline": "mid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := s.explained(tt.body, tt.headers...)
			for path, want := range tt.want {
				if v := got.Get(path).String(); v != want {
					t.Errorf("%s = %q, want %q; all: %s", path, v, want, got.Raw)
				}
			}
		})
	}
	for name, a := range map[string]answer{
		"broken JSON":   s.send(http.MethodPost, "/api/route", "{"),
		"a wrong tier":  s.send(http.MethodPost, "/api/route", ask("auto", "hi"), "X-Tier: huge"),
		"not an object": s.send(http.MethodPost, "/api/route", "[]"),
	} {
		if a.status != 400 {
			t.Errorf("%s: HTTP %d, want 400", name, a.status)
		}
	}
}

// The numbers of a stay are told.
func TestRouteTellsTheEconomy(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		for i, price := range [][3]float64{{2, 12, 0.2}, {2, 12, 0.2}, {4, 20, 0.4}} {
			p := c.Catalogue.All()[i].Price
			p.Input, p.Output, p.CacheRead = price[0], price[1], &price[2]
		}
	})
	long := strings.Repeat("Here is the log of the incident, line by line. ", 2000)
	messages := `{"role":"system","content":"` + long + `"}`
	var last gjson.Result
	for i, words := range []string{hard, hard + " Again.", "hi", "thanks, bye"} {
		messages += fmt.Sprintf(`,{"role":"user","content":%q}`, words)
		body := `{"model":"auto","messages":[` + messages + `]}`
		if last = s.explained(body, "X-Session-Id: one"); i < 3 {
			s.post(body, "X-Session-Id: one")
		}
		messages += `,{"role":"assistant","content":"Done."}`
	}
	if last.Get("decision.reason").Str != "stay" || last.Get("decision.economy.pays").Bool() || last.Get("decision.economy.stay.warm_tokens").Int() < 10_000 {
		t.Errorf("the decision is %s, want to stay with a warm cache", last.Get("decision").Raw)
	}
}
