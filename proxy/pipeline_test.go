package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/proxy"
)

func ask(model, text string) string {
	b, _ := json.Marshal(map[string]any{"model": model, "messages": []map[string]string{{"role": "user", "content": text}}}) // strings always marshal
	return string(b)
}

// TestOffIsByteIdentical holds that with every smart step off, what comes in
// goes out, whatever it is.
func TestOffIsByteIdentical(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Router, c.Assembly, c.Memory = nil, nil, nil })
	for _, tt := range oddBodies {
		t.Run(tt.name, func(t *testing.T) {
			s.post(tt.body, "X-Agent-Id: atlas")
			if got := string(s.upstream.Last().Body); got != tt.body {
				t.Errorf("outbound body = %q, want %q", got, tt.body)
			}
		})
	}
}

func TestBypassIsByteIdentical(t *testing.T) {
	s := newStack(t, nil)
	for _, tt := range oddBodies {
		t.Run(tt.name, func(t *testing.T) {
			a := s.post(tt.body, "X-Bypass: true")
			if got := string(s.upstream.Last().Body); got != tt.body {
				t.Errorf("outbound body = %q, want %q", got, tt.body)
			}
			if got := a.header.Get("X-Route-Reason"); got != "bypass" {
				t.Errorf("X-Route-Reason = %q, want bypass", got)
			}
			if e := s.row(a); a.status == 200 && e.UsageKnown && (!e.Priced || e.Saved.Total() != 0) {
				t.Errorf("priced = %v, saved %v; want the cost of what was asked, and nothing saved", e.Priced, e.Saved)
			}
		})
	}
}

var oddBodies = []struct{ name, body string }{
	{"plain", `{"model":"mid","messages":[{"role":"user","content":"hi"}]}`},
	{"stream", `{"model":"mid","stream":true,"messages":[{"role":"user","content":"hi"}]}`},
	{"white space and order", " {\r\n\t\"messages\" : [ { \"content\":\"hi\" , \"role\":\"user\" } ],\n \"model\":\"mid\" }\n"},
	{"numbers", `{"model":"mid","seed":123456789012345678901234567890,"temperature":1.0,"top_p":1,"x":-0.0,"y":1E400,"messages":[{"role":"user","content":"hi"}]}`},
	{"escapes", `{"model":"mid","messages":[{"role":"user","content":"\u0041\/\ud83d\ude00 \ud800 \u0000"}]}`},
	{"duplicate keys", `{"model":"large","model":"mid","messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"hi"}]}`},
	{"unknown fields", `{"model":"mid","extra_body":{"a":[1,{"b":null}]},"messages":[{"role":"user","content":"hi","cache_control":{"type":"ephemeral"}}]}`},
	{"empty messages", `{"model":"mid","messages":[]}`},
	{"no messages", `{"model":"mid"}`},
	{"input instead of messages", `{"model":"mid","input":"hi"}`},
	{"null content", `{"model":"mid","messages":[{"role":"assistant","content":null,"tool_calls":[]},{"role":"user","content":"hi"}]}`},
	{"invalid UTF-8", "{\"model\":\"mid\",\"messages\":[{\"role\":\"user\",\"content\":\"\xff\xfe\"}]}"},
}

// TestFailingOpen breaks each smart step in each way: the client's bytes go
// out, the client gets its answer, and the reason is counted.
func TestFailingOpen(t *testing.T) {
	memoryBy := func(err error) func(*proxy.Config) {
		return func(c *proxy.Config) { c.Memory = brokenMemory{err} }
	}
	tests := []struct {
		name         string
		edit         func(*proxy.Config)
		body         string
		step, reason string
		want         string // outbound; "" for body
	}{
		{name: "memory error", edit: memoryBy(errors.New("disk full")), body: ask(large, "hi"), step: "memory", reason: "error"},
		{
			name: "memory slow", body: ask(large, "hi"), step: "memory", reason: "timeout",
			edit: func(c *proxy.Config) {
				c.Memory = brokenMemory{context.DeadlineExceeded}
				c.Limits.SmartBudget = 50 * time.Millisecond
			},
		},
		{name: "scoring panics", edit: func(c *proxy.Config) { c.Scorer = panickyScorer{} }, body: ask(large, "hi"), step: "scoring", reason: "panic"},
		{name: "no time at all", edit: func(c *proxy.Config) { c.Limits.SmartBudget = 1 }, body: ask(large, "hi"), step: "scoring", reason: "timeout"},
		{name: "repeated key", body: `{"model":"mid","model":"large","messages":[{"role":"user","content":"hi"}]}`, step: "parse", reason: "error"},
		{
			name: "a virtual model must become a real one", edit: memoryBy(errors.New("disk full")),
			body: ask("auto", "hi"), step: "memory", reason: "error", want: ask(mid, "hi"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, tt.edit)
			a := s.post(tt.body)
			if a.status != 200 {
				t.Fatalf("status = %d, want 200: %s", a.status, a.body)
			}
			want := tt.want
			if want == "" {
				want = tt.body
			}
			if got := string(s.upstream.Last().Body); got != want {
				t.Errorf("outbound body = %s, want %s", got, want)
			}
			if got := s.failOpen(tt.step, tt.reason); got != 1 {
				t.Errorf("failopen_total{%s,%s} = %v, want 1", tt.step, tt.reason, got)
			}
			if got := s.row(a).FailOpen; got != tt.step {
				t.Errorf("ledger fail_open = %q, want %q", got, tt.step)
			}
		})
	}
}

// TestRoutes follows one request of each kind to the upstream and the ledger.
func TestRoutes(t *testing.T) {
	tests := []struct {
		name    string
		body    string
		headers []string
		model   string // outbound
		tier    string
		reason  string
	}{
		{name: "light", body: ask("auto", "hi"), model: small, tier: "light", reason: "score"},
		{name: "heavy", body: ask("auto", hard), model: large, tier: "heavy", reason: "score"},
		{name: "cheaper than the named", body: ask(large, "hi"), model: small, tier: "light", reason: "score"},
		{name: "not dearer than the named", body: ask(small, hard), model: small, tier: "heavy", reason: "named"},
		{name: "a forced tier lifts that", body: ask(small, "hi"), headers: []string{"X-Tier: heavy"}, model: large, tier: "heavy", reason: "forced"},
		{name: "profile", body: ask("auto", hard), headers: []string{"X-Routing-Profile: eco"}, model: mid, tier: "heavy", reason: "score"},
		{name: "profile in the model's name", body: ask("auto:eco", hard), model: mid, tier: "heavy", reason: "score"},
		{name: "worker", body: ask("auto", hard), headers: []string{"X-Process-Type: worker"}, model: small, tier: "heavy", reason: "process"},
		{
			name: "vision", model: large, tier: "light", reason: "capability",
			body: `{"model":"auto","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:,"}}]}]}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, nil)
			a := s.post(tt.body, tt.headers...)
			e := s.row(a)
			got := []string{gjson.GetBytes(s.upstream.Last().Body, "model").String(), a.header.Get("X-Routed-Model"), e.RoutedModel, a.header.Get("X-Prompt-Tier"), e.Tier, a.header.Get("X-Route-Reason"), e.Reason}
			want := []string{tt.model, tt.model, tt.model, tt.tier, tt.tier, tt.reason, tt.reason}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("outbound, header and row (-want +got):\n%s", diff)
			}
			if !e.Priced || *e.Baseline-*e.Cost != e.Saved.Total() && diffOver(*e.Baseline-*e.Cost, e.Saved.Total(), 1e-9) {
				t.Errorf("baseline %v − cost %v ≠ saved %v", e.Baseline, e.Cost, e.Saved)
			}
		})
	}
}

func diffOver(a, b, eps float64) bool { return a-b > eps || b-a > eps }

// TestMemoryTravels states a decision and a preference in one conversation and
// asks in another; a different user gets nothing.
func TestMemoryTravels(t *testing.T) {
	s := newStack(t, nil)
	s.post(ask("auto", "We decided to use PostgreSQL for the ledger service."), "X-User-Id: ana", "X-Session-Id: one")
	s.post(ask("auto", "I prefer answers as short bullet points."), "X-User-Id: ana", "X-Session-Id: one")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	question := `{"model":"auto","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Which database did we pick for the ledger service?"}]}`

	a := s.post(question, "X-User-Id: ana", "X-Session-Id: two")
	out := string(s.upstream.Last().Body)
	for _, want := range []string{"PostgreSQL for the ledger service", "short bullet points"} {
		if !strings.Contains(out, want) {
			t.Errorf("outbound body lacks %q: %s", want, out)
		}
	}
	if got := gjson.Get(out, "messages.#(role==system)#|#").Int(); got != 1 {
		t.Errorf("outbound has %d system messages, want 1", got)
	}
	if got := gjson.Get(out, "messages.0.content").String(); !strings.HasPrefix(got, "Be brief.\n\n<understudy-context>\n") {
		t.Errorf("system text = %q, want the client's first, then our block", got)
	}
	if got := a.header.Get("X-Memory-Used"); got != "2" {
		t.Errorf("X-Memory-Used = %q, want 2", got)
	}
	if e := s.row(a); e.InjectedMemoryTokens == 0 || e.Saved.Memory >= 0 {
		t.Errorf("injected memory = %d tokens, saved %v; want both accounted for", e.InjectedMemoryTokens, e.Saved.Memory)
	}

	for _, who := range []string{"X-User-Id: bob", "X-Agent-Id: default"} { // another user, and nobody
		s.post(question, who, "X-Session-Id: two")
		if out := string(s.upstream.Last().Body); strings.Contains(out, "PostgreSQL") || strings.Contains(out, "bullet") {
			t.Errorf("%s sees ana's memory: %s", who, out)
		}
	}
}

// TestWhoFromTheBody holds that the body names the user and the conversation
// where no header does.
func TestWhoFromTheBody(t *testing.T) {
	s := newStack(t, nil)
	with := func(fields, text string) string {
		return `{` + fields + `,` + strings.TrimPrefix(ask("auto", text), "{")
	}
	s.post(with(`"user":"ana"`, "We decided to use PostgreSQL for the ledger."))
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for fields, want := range map[string]bool{`"safety_identifier":"ana"`: true, `"user":"bob"`: false, `"seed":1`: false} {
		a := s.post(with(fields, "Which database for the ledger?"))
		if got := strings.Contains(string(s.upstream.Last().Body), "PostgreSQL"); got != want {
			t.Errorf("%s: memory recalled = %v, want %v", fields, got, want)
		}
		if e := s.row(a); want && e.User != "ana" {
			t.Errorf("%s: ledger has user %q, want ana", fields, e.User)
		}
	}

	session := func(fields string, headers ...string) string {
		return s.row(s.post(with(fields, "hello "+fields), headers...)).Session
	}
	same := session(`"prompt_cache_key":"k"`)
	for name, other := range map[string]string{
		"another key": session(`"prompt_cache_key":"l"`), "metadata": session(`"metadata":{"session_id":"k2"}`), "no hint": session(`"seed":1`),
		"an agent's header": session(`"seed":2`, "X-Claude-Code-Session-Id: c"), "our header": session(`"seed":3`, "X-Session-Id: k"),
	} {
		if other == same || other == "" {
			t.Errorf("%s: session %q, want another than %q", name, other, same)
		}
	}
	if a, b := session(`"seed":4`, "X-Claude-Code-Session-Id: c"), session(`"seed":5`, "X-Claude-Code-Session-Id: c"); a != b {
		t.Errorf("one agent session became two: %q, %q", a, b)
	}
	if got := s.upstream.Last().Header.Get("X-Claude-Code-Session-Id"); got != "c" {
		t.Errorf("the agent's header upstream = %q, want it forwarded", got)
	}
}

func TestMemoryOff(t *testing.T) {
	s := newStack(t, nil)
	s.post(ask("auto", "We decided to use PostgreSQL."), "X-User-Id: ana", "X-Memory: off")
	s.post(ask("auto", "We decided to use NATS."), "X-User-Id: ana", "X-Memory: read")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.memory.Count(t.Context()); err != nil || n != 0 {
		t.Errorf("memories = %d, %v; want none", n, err)
	}
}

// TestPrefixStable holds that what went out for one turn is a prefix of what
// goes out for the next, although memory grew in between.
func TestPrefixStable(t *testing.T) {
	s := newStack(t, nil)
	headers := []string{"X-User-Id: ana", "X-Session-Id: s", "X-Tier: standard"}
	s.post(ask("auto", "We decided to use PostgreSQL for the ledger."), "X-User-Id: ana")
	history := []map[string]string{{"role": "system", "content": "Be brief."}}
	var before string
	for i, turn := range []string{"Which database for the ledger?", "We decided to call the team Falcon.", "What do we call the team?", "I prefer French.", "Compare the ledger and the team."} {
		if err := s.memory.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		history = append(history, map[string]string{"role": "user", "content": turn})
		body, err := json.Marshal(map[string]any{"model": "auto", "messages": history})
		if err != nil {
			t.Fatal(err)
		}
		a := s.post(string(body), headers...)
		messages := strings.TrimSuffix(gjson.GetBytes(s.upstream.Last().Body, "messages").Raw, "]")
		if !strings.HasPrefix(messages, before) {
			t.Fatalf("turn %d: outbound messages\n%s\ndo not begin with those of the turn before\n%s", i+1, messages, before)
		}
		before = messages
		history = append(history, map[string]string{"role": "assistant", "content": gjson.Get(a.body, "choices.0.message.content").String()})
	}
	if !strings.Contains(before, "PostgreSQL") {
		t.Error("no memory was used, so nothing was held")
	}
}

func TestToolLoopKeepsTheModel(t *testing.T) {
	s := newStack(t, nil)
	first := `{"role":"user","content":` + mustQuote(hard) + `}`
	s.post(`{"model":"auto","messages":[`+first+`]}`, "X-Session-Id: s")
	a := s.post(`{"model":"auto","messages":[`+first+`,{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"hi"}]}`, "X-Session-Id: s")
	if got := a.header.Get("X-Routed-Model") + " " + a.header.Get("X-Route-Reason"); got != "large turn" {
		t.Errorf("model and reason = %q, want the turn's", got)
	}
}

func mustQuote(s string) string {
	b, _ := json.Marshal(s) // strings always marshal
	return string(b)
}

func TestClientErrors(t *testing.T) {
	s := newStack(t, nil)
	tests := []struct {
		name, body, header string
		status             int
		code, contains     string
	}{
		{name: "not JSON", body: "hello", status: 400, code: "invalid_json", contains: "byte 0"},
		{name: "truncated", body: `{"model":"mid","messages":[`, status: 400, code: "invalid_json", contains: "byte 27"},
		{name: "too deep", body: strings.Repeat("[", 2000), status: 400, code: "invalid_json"},
		{name: "array", body: `[]`, status: 400, code: "invalid_json"},
		{name: "unknown profile", body: ask("auto", "hi"), header: "X-Routing-Profile: turbo", status: 400, code: "invalid_header", contains: "balanced, eco"},
		{name: "unknown tier", body: ask("auto", "hi"), header: "X-Tier: huge", status: 400, code: "invalid_header", contains: "light, standard, heavy"},
		{name: "long header", body: ask("auto", "hi"), header: "X-User-Id: " + strings.Repeat("x", 300), status: 400, code: "invalid_header", contains: "256"},
		{name: "too large", body: `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, status: 413, code: "body_too_large", contains: "1048576"},
		{name: "no capable model", body: `{"model":"auto","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}`, status: 400, code: "no_capable_model", contains: "no audio"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.upstream.Requests())
			headers := []string{"X-Agent-Id: default"}
			if tt.header != "" {
				headers = append(headers, tt.header)
			}
			a := s.post(tt.body, headers...)
			e := gjson.Get(a.body, "error")
			if a.status != tt.status || e.Get("code").String() != tt.code || !strings.Contains(e.Get("message").String(), tt.contains) {
				t.Errorf("got %d %s, want %d %s with %q", a.status, a.body, tt.status, tt.code, tt.contains)
			}
			if !e.Get("type").Exists() || !e.Get("param").Exists() {
				t.Errorf("error lacks OpenAI's fields: %s", a.body)
			}
			if len(s.upstream.Requests()) != before {
				t.Error("it was sent upstream")
			}
			if got := s.row(a); got.Outcome != ledger.OutcomeRejected || got.Status != tt.status {
				t.Errorf("ledger has %s %d, want rejected %d", got.Outcome, got.Status, tt.status)
			}
		})
	}
}
