package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/proxy"
)

// failing answers requests for one model as told, and the others as usual.
func failing(u *llmtest.Upstream, model string, fail http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if gjson.GetBytes(body, "model").String() == model {
			fail(w, r)
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		u.Answer(w, r)
	}
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":"status %d","type":"t","code":null,"param":null}}`, code)
	}
}

func saying(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, body)
	}
}

// cutOff ends the connection without an answer.
func cutOff(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// TestFallback fails the model that routing chose in each way and holds what
// the client gets. The client names large and says hi, so routing asks small.
func TestFallback(t *testing.T) {
	overflow := func(body string) http.HandlerFunc { return saying(400, body) }
	tests := []struct {
		name   string
		fail   http.HandlerFunc
		reason string // of fallbacks_total; "" for none
		status int    // where there is no fallback
	}{
		{name: "429", fail: status(429), reason: "rate_limited"},
		{name: "408", fail: status(408), reason: "timeout"},
		{name: "500", fail: status(500), reason: "overloaded"},
		{name: "503", fail: status(503), reason: "overloaded"},
		{name: "529", fail: status(529), reason: "overloaded"},
		{name: "401 for the caller's key", fail: status(401), status: 401},
		{name: "404 for our choice", fail: status(404), reason: "refused"},
		{name: "connection cut", fail: cutOff, reason: "unreachable"},
		{name: "400", fail: status(400), status: 400},
		{name: "422", fail: status(422), status: 422},
		{name: "overflow, OpenAI", fail: overflow(`{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}`), reason: "overflow"},
		{name: "overflow, Anthropic", fail: overflow(`{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`), reason: "overflow"},
		{name: "overflow, llama.cpp", fail: overflow(`{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`), reason: "overflow"},
		{name: "overflow, SGLang", fail: saying(413, `{"message":"The input (9000 tokens) is longer than the model's context length (8192 tokens)."}`), reason: "overflow"},
	}
	for _, tt := range tests {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", tt.name, stream), func(t *testing.T) {
				s := newStack(t, func(c *proxy.Config) { c.Catalogue.All()[2].Context = 256_000 })
				s.upstream.Misbehave(failing(s.upstream, small, tt.fail))
				body := ask(large, "hi")
				if stream {
					body = strings.Replace(body, `{`, `{"stream":true,`, 1)
				}
				a := s.post(body)
				if tt.reason == "" {
					if a.status != tt.status || a.header.Get("X-Routed-Model") != small {
						t.Errorf("got %d from %s, want %d from small", a.status, a.header.Get("X-Routed-Model"), tt.status)
					}
					return
				}
				if a.status != 200 || a.header.Get("X-Routed-Model") != large || a.header.Get("X-Route-Reason") != "fallback" {
					t.Errorf("got %d from %s because of %s, want 200 from large because of fallback: %s", a.status, a.header.Get("X-Routed-Model"), a.header.Get("X-Route-Reason"), a.body)
				}
				if got := testutil.ToFloat64(s.metrics.Fallbacks.WithLabelValues(tt.reason)); got != 1 {
					t.Errorf("fallbacks_total{%s} = %v, want 1", tt.reason, got)
				}
				if got := s.row(a).RoutedModel; got != large {
					t.Errorf("ledger has %q, want the model that answered", got)
				}
			})
		}
	}
}

// TestNoFallback holds when an error is the client's to see, as it came.
func TestNoFallback(t *testing.T) {
	tests := []struct {
		name, body, fails string
		fail              http.HandlerFunc
		status            int
		contains          string
	}{
		{name: "the client's own model", body: ask(small, hard), fails: small, fail: status(429, "Retry-After: 7"), status: 429, contains: "status 429"},
		{name: "an unknown model", body: ask("nobody", "hi"), fails: "nobody", fail: status(404), status: 404, contains: "status 404"},
		{name: "its overflow", body: ask(small, hard), fails: small, fail: saying(400, `{"error":{"message":"prompt is too long"}}`), status: 400, contains: "prompt is too long"},
		{name: "its key", body: ask(small, hard), fails: small, fail: status(401), status: 401, contains: "status 401"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, nil)
			s.upstream.Misbehave(failing(s.upstream, tt.fails, tt.fail))
			a := s.post(tt.body)
			if a.status != tt.status || !strings.Contains(a.body, tt.contains) {
				t.Errorf("got %d %s, want %d with %q", a.status, a.body, tt.status, tt.contains)
			}
			if n := len(s.upstream.Requests()); n != 1 {
				t.Errorf("%d requests upstream, want 1", n)
			}
		})
	}
}

// TestOurKeyRefused holds that a 401 for our own key is the model's failure, and
// that one for a caller's key makes no difference to anybody else.
func TestOurKeyRefused(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		up := c.Upstreams["default"]
		up.Key = "ours"
		c.Upstreams["default"] = up
	})
	s.upstream.Misbehave(failing(s.upstream, small, status(401)))
	if a := s.post(ask(large, "hi")); a.status != 200 || a.header.Get("X-Routed-Model") != large {
		t.Errorf("got %d from %s, want 200 from large", a.status, a.header.Get("X-Routed-Model"))
	}

	s = newStack(t, nil)
	s.upstream.Misbehave(failing(s.upstream, small, status(429)))
	s.post(ask("auto", "hi"), "Authorization: Bearer used-up", "X-Session-Id: a")
	s.upstream.Misbehave(nil)
	a := s.post(ask("auto", "hi"), "Authorization: Bearer fresh", "X-Session-Id: b")
	if got := a.header.Get("X-Routed-Model"); got != small {
		t.Errorf("another caller gets %s, want small", got)
	}
}

// TestAllFail holds that the first failure is the answer, and that no more
// than three others are tried.
func TestAllFail(t *testing.T) {
	s := newStack(t, nil)
	n := 0
	s.upstream.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		n++
		status(500+n, "X-Try: "+fmt.Sprint(n))(w, r)
	})
	a := s.post(ask("auto", "hi"))
	if a.status != 501 || a.header.Get("X-Try") != "1" || a.header.Get("X-Routed-Model") != small {
		t.Errorf("got %d, try %s, model %s; want the first failure's", a.status, a.header.Get("X-Try"), a.header.Get("X-Routed-Model"))
	}
	if n != 3 { // small, mid, large
		t.Errorf("%d tries, want 3", n)
	}
	if e := s.row(a); e.Outcome != "upstream_error" || e.Status != 501 || *e.Cost != 0 || e.Saved.Total() != 0 {
		t.Errorf("ledger has %+v, want a failure that cost and saved nothing", e)
	}
}

// TestCooldown holds that the next conversation spares a model that failed.
func TestCooldown(t *testing.T) {
	s := newStack(t, nil)
	s.upstream.Misbehave(failing(s.upstream, small, status(429, "Retry-After: 3600")))
	s.post(ask("auto", "hi"), "X-Session-Id: a")
	s.upstream.Misbehave(nil)
	a := s.post(ask("auto", "hi"), "X-Session-Id: b")
	if got := a.header.Get("X-Routed-Model") + " " + a.header.Get("X-Route-Reason"); got != "mid fallback" {
		t.Errorf("after a rate limit: %q, want mid fallback", got)
	}
	if got := testutil.ToFloat64(s.metrics.UpstreamState.WithLabelValues(small)); got != 0 {
		t.Errorf("upstream_state{small} = %v, want 0", got)
	}
}
