package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
	"github.com/understudy-ai/understudy/routing"
)

// TestInjectedByCause holds that what we add to a prompt is booked to what it
// is for.
func TestInjectedByCause(t *testing.T) {
	s := newStack(t, nil)
	const comparison = "Compare Kafka vs NATS for our event bus. What are the trade-offs?"
	e := s.row(s.post(ask("auto", comparison)))
	if e.InjectedScaffoldTokens == 0 || e.InjectedMemoryTokens != 0 || e.Saved.Scaffold >= 0 || e.Saved.Memory != 0 {
		t.Errorf("a scaffold alone: %d scaffold and %d memory tokens, saved %+v; want the scaffold's only", e.InjectedScaffoldTokens, e.InjectedMemoryTokens, e.Saved)
	}
	s.post(ask("auto", "We decided to use NATS for the event bus of the shop."), "X-User-Id: ana")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	e = s.row(s.post(ask("auto", comparison), "X-User-Id: ana"))
	if e.InjectedScaffoldTokens == 0 || e.InjectedMemoryTokens == 0 || e.MemoriesUsed != 1 {
		t.Errorf("both: %d scaffold and %d memory tokens for %d memories, want some of each", e.InjectedScaffoldTokens, e.InjectedMemoryTokens, e.MemoriesUsed)
	}
}

// TestImagesAreNotOurs holds that the tokens of an image are not booked as
// memory, although they are no bytes of text.
func TestImagesAreNotOurs(t *testing.T) {
	s := newStack(t, nil)
	s.upstream.Misbehave(saying(200, `{"model":"large","choices":[{"index":0,"finish_reason":"stop","message":{"content":"ok"}}],"usage":{"prompt_tokens":5000,"completion_tokens":2}}`))
	s.post(ask("auto", "We decided to use NATS for the event bus."), "X-User-Id: ana")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := s.post(`{"model":"auto","messages":[{"role":"user","content":[{"type":"text","text":"The event bus?"},{"type":"image_url","image_url":{"url":"data:,"}}]}]}`, "X-User-Id: ana")
	if e := s.row(a); e.MemoriesUsed != 1 || e.InjectedMemoryTokens > 100 {
		t.Errorf("%d tokens for %d memories, want some tens for one", e.InjectedMemoryTokens, e.MemoriesUsed)
	}
}

// TestNothingAdded holds which requests get no additions.
func TestNothingAdded(t *testing.T) {
	s := newStack(t, nil)
	s.post(ask("auto", "We decided to use NATS for the event bus."), "X-User-Id: ana")
	if err := s.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	const question = "Which event bus?"
	probe := strings.Replace(ask("auto", question), "{", `{"max_tokens":1,`, 1)
	tests := []struct {
		name, body, header string
		want               bool
	}{
		{"as usual", ask("auto", question), "X-Memory: on", true},
		{"context mode none", ask("auto", question), "X-Context-Mode: none", false},
		{"a worker", ask("auto", question), "X-Process-Type: worker", false},
		{"a probe", probe, "X-Memory: on", false},
		{"memory off", ask("auto", question), "X-Memory: off", false},
	}
	for _, tt := range tests {
		s.post(tt.body, "X-User-Id: ana", tt.header, "X-Session-Id: "+tt.name)
		if got := strings.Contains(string(s.upstream.Last().Body), "NATS"); got != tt.want {
			t.Errorf("%s: memory in the prompt = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestWhoseWords holds that memory learns what the request's user says: not
// what others say in the channel, nor what an agent or a timetable asks for.
func TestWhoseWords(t *testing.T) {
	tests := []struct {
		name, text string
		headers    []string
		want       []string
	}{
		{"alone", "We decided to use NATS.", nil, []string{"We decided to use NATS."}},
		{"in a channel", "[Ana Ruiz]: We decided to use NATS.", []string{"X-Channel-Id: ops"}, []string{"We decided to use NATS."}},
		{
			"several speak", "[Bo]: My name is Bo.\n[Ana]: We decided to use NATS.\n[Bo]: We decided to use Kafka.",
			[]string{"X-Channel-Id: ops", "X-User-Name: Ana"},
			[]string{"We decided to use NATS."},
		},
		{"a worker's task", "We decided to use NATS.", []string{"X-Process-Type: worker"}, nil},
		{"a timetable's", "We decided to use NATS.", []string{"X-Trigger: cron"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, nil)
			s.post(ask("auto", tt.text), append(tt.headers, "X-User-Id: ana")...)
			if err := s.memory.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
			scope, err := memory.NewScope("default", "default", "ana")
			if err != nil {
				t.Fatal(err)
			}
			page, err := s.memory.List(t.Context(), scope, memory.Filter{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, item := range page.Items {
				got = append(got, item.Content)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("learned (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHeadersUpstream holds which headers stay behind.
func TestHeadersUpstream(t *testing.T) {
	s := newStack(t, nil)
	s.post(ask("auto", "hi"), "Proxy-Authorization: Basic eDp5", "Te: trailers", "X-Custom: kept", "X-Agent-Id: atlas", "Routing_profile: eco")
	h := s.upstream.Last().Header
	for _, name := range []string{"Proxy-Authorization", "Te", "X-Agent-Id", "Routing_profile"} {
		if got := h.Get(name); got != "" {
			t.Errorf("%s upstream = %q, want it to stay behind", name, got)
		}
	}
	if got := h.Get("X-Custom"); got != "kept" {
		t.Errorf("X-Custom upstream = %q, want kept", got)
	}
}

// TestStrangersWords holds that a body's user who can't be named is nobody
// else: nothing they say reaches another user or nobody.
func TestStrangersWords(t *testing.T) {
	for _, user := range []string{`"` + strings.Repeat("b", 300) + `"`, `12345`, `{"id":"x"}`, `"a\u0000b"`, `true`} {
		s := newStack(t, nil)
		with := func(user, text string) string {
			return `{"user":` + user + `,` + strings.TrimPrefix(ask("auto", text), "{")
		}
		s.post(with(user, "We decided to use Xylophone for the ledger."))
		if err := s.memory.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, other := range []string{`"mallory"`, `null`, `54321`} {
			s.post(with(other, "What do we use for the ledger?"))
			if strings.Contains(string(s.upstream.Last().Body), "Xylophone") {
				t.Errorf("what user %.20s said is told to %s", user, other)
			}
		}
		s.post(with(user, "What do we use for the ledger?"))
		if !strings.Contains(string(s.upstream.Last().Body), "Xylophone") {
			t.Errorf("what user %.20s said is not told to them", user)
		}
	}
}

// TestGuessedSessions holds that users who say the same have conversations of
// their own, and that one which begins anew takes over nothing.
func TestGuessedSessions(t *testing.T) {
	s := newStack(t, nil)
	hello := `{"role":"user","content":"hello friend"}`
	two := `{"model":"auto","messages":[` + hello + `,{"role":"assistant","content":"Hi."},{"role":"user","content":` + mustQuote(hard) + `}]}`
	s.post(two, "X-User-Id: ana")
	a := s.post(`{"model":"auto","messages":[`+hello+`]}`, "X-User-Id: ana")
	if got := a.header.Get("X-Routed-Model"); got != small {
		t.Errorf("a new conversation gets %s because of %s, want small", got, a.header.Get("X-Route-Reason"))
	}
	b := s.post(`{"model":"auto","messages":[`+hello+`]}`, "X-User-Id: bob")
	if s.row(a).Session == s.row(b).Session {
		t.Error("two users share a session")
	}
}

// TestSlowUpload holds that the smart budget is not spent on the client's own
// upload.
func TestSlowUpload(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Limits.SmartBudget = 300 * time.Millisecond })
	whole := ask("auto", "hi")
	body := &slowReader{halves: []string{whole[:20], whole[20:]}}
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.base+"/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("X-Route-Reason"); got != "score" {
		t.Errorf("X-Route-Reason = %q, want score", got)
	}
}

// slowReader gives half of a body at once and the rest half a second later.
type slowReader struct{ halves []string }

func (r *slowReader) Read(p []byte) (int, error) {
	if len(r.halves) == 0 {
		return 0, io.EOF
	}
	if len(r.halves) == 1 {
		<-time.After(500 * time.Millisecond)
	}
	n := copy(p, r.halves[0])
	r.halves = r.halves[1:]
	return n, nil
}

// TestThreeFallbacks holds that no request tries more than three other models.
func TestThreeFallbacks(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		var models []routing.Model
		var others []string
		for i := range 8 {
			name := fmt.Sprint("m", i)
			models = append(models, routing.Model{Name: name, Upstream: "default", Tier: assemble.Mid})
			others = append(others, name)
		}
		var err error
		if c.Catalogue, err = routing.NewCatalogue(models, &ledger.PriceList{}); err != nil {
			t.Fatal(err)
		}
		c.Router, err = routing.New(routing.Config{
			Catalogue: c.Catalogue, Explicit: routing.ExplicitRoute, Profile: "p", Profiles: map[string]routing.Profile{"p": {Light: "m0", Standard: "m0", Heavy: "m0"}},
			Fallbacks: map[string][]string{"m0": others[1:]}, Session: routing.SessionConfig{Idle: time.Hour, DownAfter: 2, Max: 10}, Clock: time.Now,
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	s.upstream.Misbehave(status(503))
	s.post(ask("auto", "hi"))
	var tried []string
	for _, r := range s.upstream.Requests() {
		tried = append(tried, gjson.GetBytes(r.Body, "model").String())
	}
	if got := strings.Join(tried, " "); got != "m0 m1 m2 m3" {
		t.Errorf("tried %s, want m0 m1 m2 m3", got)
	}
}

// TestUpstreamOfTheModel holds that a model's requests go to its own upstream
// under its own name there, also on bypass, with routing off, and when a smart
// step fails; and that a key for the default upstream goes nowhere else.
func TestUpstreamOfTheModel(t *testing.T) {
	other, err := llmtest.Start("there")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	aliased := func(c *proxy.Config) {
		c.Upstreams["other"] = proxy.UpstreamConfig{Name: "other", BaseURL: other.URL(), MaxConns: 8, Connect: time.Second, FirstByte: 5 * time.Second, Idle: 5 * time.Second}
		m := c.Catalogue.All()[0]
		m.Upstream, m.ID = "other", "there"
	}
	tests := []struct {
		name, header string
		edit         func(*proxy.Config)
		want         string
	}{
		{"as usual", "X-Memory: on", func(*proxy.Config) {}, "there"},
		{"failing open", "X-Memory: on", func(c *proxy.Config) { c.Scorer = panickyScorer{} }, "there"},
		{"bypass", "X-Bypass: 1", func(*proxy.Config) {}, small},
		{"all off", "X-Memory: on", func(c *proxy.Config) { c.Router, c.Assembly, c.Memory = nil, nil, nil }, small},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, func(c *proxy.Config) { aliased(c); tt.edit(c) })
			before := len(other.Requests())
			s.post(ask(small, "hi"), tt.header, "Authorization: Bearer for-the-default")
			if len(other.Requests()) != before+1 || len(s.upstream.Requests()) != 0 {
				t.Fatalf("%d requests at the model's upstream and %d at the default one, want 1 and 0", len(other.Requests())-before, len(s.upstream.Requests()))
			}
			last := other.Last()
			if got := gjson.GetBytes(last.Body, "model").String(); got != tt.want {
				t.Errorf("model there = %q, want %q", got, tt.want)
			}
			if got := last.Header.Get("Authorization"); got != "" {
				t.Errorf("Authorization there = %q, want none", got)
			}
		})
	}
}

// TestCheckModels warns of what an upstream lacks, and of nothing else.
func TestCheckModels(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Catalogue.All()[0].ID = "ghost" })
	s.server.CheckModels(t.Context())
	if log := s.log.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "id=ghost") {
		t.Errorf("logged %q, want one warning of ghost", log)
	}
	s = newStack(t, nil)
	s.upstream.Misbehave(status(401))
	s.server.CheckModels(t.Context())
	if log := s.log.String(); log != "" {
		t.Errorf("logged %q for an upstream that does not say, want nothing", log)
	}
}

// TestStreamByAnotherName holds that a stream is relayed as it comes although
// its content type is not that of one.
func TestStreamByAnotherName(t *testing.T) {
	s := newStack(t, nil)
	goOn := make(chan struct{})
	s.upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"first\"}}]}\n\n")
		http.NewResponseController(w).Flush()
		<-goOn
		io.WriteString(w, "data: [DONE]\n\n")
	})
	body := strings.Replace(ask("auto", "hi"), "{", `{"stream":true,`, 1)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.base+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 4)
	_, err = io.ReadFull(resp.Body, first) // hangs if the answer is held back
	close(goOn)
	rest, restErr := io.ReadAll(resp.Body)
	if err != nil || restErr != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("read %q, %v, then %q, %v", first, err, rest, restErr)
	}
	if e := s.newest(); e.Outcome != ledger.OutcomeOK {
		t.Errorf("outcome %q, want ok", e.Outcome)
	}
}

// TestModelsAreCounted holds that an upstream's refusal to list is no success.
func TestModelsAreCounted(t *testing.T) {
	s := newStack(t, nil)
	s.send("GET", "/v1/models", "")
	s.upstream.Misbehave(status(401))
	if a := s.send("GET", "/v1/models", ""); a.status != 401 || !strings.Contains(a.body, "status 401") {
		t.Errorf("got %d %s, want the upstream's 401 as it came", a.status, a.body)
	}
	for _, outcome := range []string{ledger.OutcomeOK, ledger.OutcomeUpstreamError} {
		if got := testutil.ToFloat64(s.metrics.Requests.WithLabelValues("models", "", "", outcome)); got != 1 {
			t.Errorf("requests_total of models with outcome %s = %v, want 1", outcome, got)
		}
	}
}

// forgetfulMemory panics when it is to learn.
type forgetfulMemory struct{ brokenMemory }

func (forgetfulMemory) Learn(memory.Exchange) bool { panic("learning is hard") }

// TestAccountingPanics holds that an answer which is there reaches the client
// although its account can't be closed.
func TestAccountingPanics(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Memory = forgetfulMemory{} })
	for _, body := range []string{ask("auto", "hi"), strings.Replace(ask("auto", "hi"), "{", `{"stream":true,`, 1)} {
		if a := s.post(body); a.status != 200 || !strings.Contains(a.body, "simulated") {
			t.Errorf("got %d %s, want the answer", a.status, a.body)
		}
	}
	s.awaitQuiet(1 << 10) // none is in flight
	if got := strings.Count(s.log.String(), "closing an account failed"); got != 2 {
		t.Errorf("logged %d times, want 2: %s", got, s.log.String())
	}
}

// TestAnswerTooLong holds the bound of an answer that has to be read whole.
func TestAnswerTooLong(t *testing.T) {
	const bound = 64 << 20
	chunk := llmtest.Piece{Bytes: []byte(chunkOf(strings.Repeat("x", 1<<20)))}
	head := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	tests := []struct {
		name   string
		script llmtest.Script
	}{
		{"announced", sayOnce(fmt.Sprintf("%sContent-Length: %d\r\n\r\n{", head, bound+1), llmtest.Hang)},
		{"in chunks", llmtest.Script{
			Pieces: append([]llmtest.Piece{{Bytes: []byte(head + "Transfer-Encoding: chunked\r\n\r\n")}}, slices.Repeat([]llmtest.Piece{chunk}, bound>>20+1)...),
			End:    llmtest.Hang,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, raw := rawStack(t, func(llmtest.RawRequest) llmtest.Script { return tt.script }, nil)
			a := s.post(ask("ghost", "hi"))
			if a.status != 502 || gjson.Get(a.body, "error.code").String() != "upstream_broken" {
				t.Errorf("got %d %s, want 502 upstream_broken", a.status, a.body)
			}
			s.awaitGone(raw)
		})
	}
}
