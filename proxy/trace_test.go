package proxy_test

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/internal/otlp"
	"github.com/understudy-ai/understudy/proxy"
)

// traced is a stack that traces to a collector's stand-in.
type traced struct {
	*stack
	exporter *otlp.Exporter
	mu       sync.Mutex
	got      []gjson.Result // spans; guarded by mu
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	c := &traced{}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.got = append(c.got, gjson.GetBytes(body, "resourceSpans.0.scopeSpans.0.spans").Array()...)
	}))
	t.Cleanup(collector.Close)
	var err error
	if c.exporter, err = otlp.New(otlp.Config{Endpoint: collector.URL, Service: "understudy", Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.exporter.Close() })
	c.stack = newStack(t, func(cfg *proxy.Config) { cfg.Traces = c.exporter })
	return c
}

// spans ends the exporter and returns what the collector got, by name.
func (c *traced) spans() map[string][]gjson.Result {
	c.t.Helper()
	if err := c.exporter.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	byName := make(map[string][]gjson.Result)
	for _, s := range c.got {
		name := s.Get("name").String()
		byName[name] = append(byName[name], s)
	}
	return byName
}

func attr(span gjson.Result, key string) string {
	value := span.Get(`attributes.#(key=="` + key + `").value`)
	for _, kind := range []string{"stringValue", "intValue", "doubleValue"} {
		if v := value.Get(kind); v.Exists() {
			return v.String()
		}
	}
	return ""
}

const (
	callersTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan   = "00f067aa0ba902b7"
	callersParent = "00-" + callersTrace + "-" + callersSpan + "-01"
)

// TestTrace holds the spans of a request that needs a second attempt: whose
// children they are, what they say, and what the upstream is told.
func TestTrace(t *testing.T) {
	c := newTraced(t)
	c.upstream.Misbehave(failing(c.upstream, small, status(503)))
	a := c.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`, "Traceparent: "+callersParent, "Tracestate: a=b")
	if a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	entry := c.row(a)
	spans := c.spans()
	root := spans["chat large"][0]
	if len(spans["chat large"]) != 1 || root.Get("traceId").String() != callersTrace || root.Get("parentSpanId").String() != callersSpan || root.Get("status").Exists() {
		t.Errorf("the root is %s", root)
	}
	for key, want := range map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "large", "gen_ai.response.model": entry.AnsweredModel, "http.response.status_code": "200",
		"understudy.request_id": entry.ID, "understudy.routed_model": entry.RoutedModel, "understudy.outcome": "ok", "understudy.tier": "light",
		"gen_ai.usage.input_tokens": gjson.Get(a.body, "usage.prompt_tokens").String(), "gen_ai.usage.output_tokens": gjson.Get(a.body, "usage.completion_tokens").String(),
	} {
		if got := attr(root, key); got != want || want == "" {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	for name, n := range map[string]int{"scoring": 1, "routing": 1, "assembly": 1, "upstream": 2} {
		if len(spans[name]) != n {
			t.Errorf("%d spans of %s, want %d", len(spans[name]), name, n)
		}
		for _, s := range spans[name] {
			if s.Get("parentSpanId").String() != root.Get("spanId").String() || s.Get("traceId").String() != callersTrace {
				t.Errorf("%s is no child of the request: %s", name, s)
			}
		}
	}
	for i, r := range c.upstream.Requests() {
		want := "00-" + callersTrace + "-" + spans["upstream"][i].Get("spanId").String() + "-01"
		if got := r.Header.Get("Traceparent"); got != want || r.Header.Get("Tracestate") != "a=b" {
			t.Errorf("attempt %d went upstream with traceparent %q, want %q, and tracestate %q", i, got, want, r.Header.Get("Tracestate"))
		}
	}
	if first := spans["upstream"][0]; attr(first, "http.response.status_code") != "503" || first.Get("status.code").Int() != 2 || attr(first, "gen_ai.request.model") != small {
		t.Errorf("the first attempt is %s, want a failure of %s", first, small)
	}
}

func TestTraceOfStreams(t *testing.T) {
	c := newTraced(t)
	a := c.post(`{"model":"large","stream":true,"messages":[{"role":"user","content":"Hi there!"}]}`)
	c.row(a)
	spans := c.spans()
	if len(spans["stream"]) != 1 || len(spans["chat large"]) != 1 || attr(spans["chat large"][0], "gen_ai.usage.output_tokens") == "" {
		t.Fatalf("the spans are %v", spans)
	}
	root := spans["chat large"][0]
	if id, err := hex.DecodeString(root.Get("traceId").String()); err != nil || len(id) != 16 || root.Get("parentSpanId").Exists() {
		t.Errorf("without a traceparent, the root is %s", root)
	}
}

func TestTraceOfFailures(t *testing.T) {
	c := newTraced(t)
	c.upstream.Misbehave(status(400))
	c.row(c.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`))
	root := c.spans()["chat large"][0]
	if root.Get("status.code").Int() != 2 || attr(root, "error.type") != "upstream_error" {
		t.Errorf("the root is %s, want an error", root)
	}
}

// TestTraceparentIsPassedOn holds what goes upstream where we don't trace.
func TestTraceparentIsPassedOn(t *testing.T) {
	const unsampled = "00-" + callersTrace + "-" + callersSpan + "-00"
	t.Run("off", func(t *testing.T) {
		s := newStack(t, nil)
		for _, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
			s.send(http.MethodPost, path, `{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`, "Traceparent: "+callersParent)
			if got := s.upstream.Last().Header.Get("Traceparent"); got != callersParent {
				t.Errorf("%s: traceparent %q, want %q", path, got, callersParent)
			}
		}
	})
	t.Run("not sampled", func(t *testing.T) {
		c := newTraced(t)
		c.row(c.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`, "Traceparent: "+unsampled))
		if got := c.upstream.Last().Header.Get("Traceparent"); got != unsampled {
			t.Errorf("traceparent %q, want %q", got, unsampled)
		}
		if spans := c.spans(); len(spans) > 0 {
			t.Errorf("the caller wants no trace, the collector got %v", spans)
		}
	})
}

// TestBilledFailures holds that a failed attempt that says what it was billed
// counts, and that one at an unknown price leaves the request unpriced.
func TestBilledFailures(t *testing.T) {
	const usage = `{"error":{"message":"overloaded"},"usage":{"prompt_tokens":1000,"completion_tokens":500}}`
	tests := []struct {
		name string
		fail http.HandlerFunc
		want float64
	}{
		{"says nothing", status(503), 0},
		{"tokens, at the price of the model that failed", saying(503, usage), (1000*0.1 + 500*0.4) / 1e6},
		{"a cost of its own among them", saying(503, strings.Replace(usage, `500}`, `500,"cost":0.25}`, 1)), 0.25},
		{"LiteLLM's header", status(503, "X-Litellm-Response-Cost: 0.125"), 0.125},
		{"a header that can't be", status(503, "X-Litellm-Response-Cost: Inf"), 0},
		{"a cost that can't be", saying(503, `{"usage":{"cost":1e300}}`), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, nil)
			s.upstream.Misbehave(failing(s.upstream, small, tt.fail))
			e := s.row(s.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`))
			if e.RoutedModel == small || !e.Priced || e.RetryCost != tt.want || e.Saved.Retries != -tt.want {
				t.Errorf("%s answered, %v was paid for failures, saved by retries %v, want %v", e.RoutedModel, e.RetryCost, e.Saved.Retries, tt.want)
			}
		})
	}
}

// TestBilledFailureIsCountedOnce fails all models: the first failure is the
// answer, and its bill that of the answer.
func TestBilledFailureIsCountedOnce(t *testing.T) {
	s := newStack(t, nil)
	s.upstream.Misbehave(saying(503, `{"error":{"message":"overloaded"},"usage":{"prompt_tokens":1000000,"completion_tokens":1}}`))
	a := s.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`)
	e := s.row(a)
	if n := len(s.upstream.Requests()); a.status != 503 || n != 3 {
		t.Fatalf("status %d after %d attempts, want 503 after 3", a.status, n)
	}
	// small is the answer's; mid and large are retries: 1 and 5 dollars, and their token of output.
	const retries = 6 + 30e-6
	if !e.Priced || e.RetryCost != retries || e.Saved.Total() > 0 {
		t.Errorf("paid for retries %v, want %v; cost %v, saved %+v", e.RetryCost, retries, e.Cost, e.Saved)
	}
}

// TestPromptsAreKept holds a conversation and one that is met in its middle.
func TestPromptsAreKept(t *testing.T) {
	s := newStack(t, nil)
	ratio := func() (got float64) {
		for _, v := range s.eachSeries("understudy_prompt_prefix_kept_ratio") {
			got = v
		}
		return got
	}
	const first, second = `{"role":"user","content":"Compare Kafka vs NATS."}`, `{"role":"assistant","content":"NATS."},{"role":"user","content":"And Pulsar?"}`
	s.post(`{"model":"auto","messages":[`+first+`]}`, "X-Session-Id: a")
	s.post(`{"model":"auto","messages":[`+first+`,`+second+`]}`, "X-Session-Id: a")
	if got := ratio(); got != 1 {
		t.Errorf("after a conversation of two turns %v of its prompts are kept, want 1", got)
	}
	s.post(`{"model":"auto","messages":[`+first+`,`+second+`]}`, "X-Session-Id: b")
	if got := ratio(); got != 0.5 {
		t.Errorf("after one that began elsewhere %v are kept, want 0.5", got)
	}
}
