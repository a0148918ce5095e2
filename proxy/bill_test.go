package proxy_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/proxy"
)

// TestReportedCostOfStreams holds that the upstream's own figure wins for an
// answer that is streamed, too.
func TestReportedCostOfStreams(t *testing.T) {
	s := newStack(t, nil)
	s.upstream.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Litellm-Response-Cost", "0.125")
		s.upstream.Answer(w, r)
	})
	e := s.row(s.post(`{"model":"large","stream":true,"messages":[{"role":"user","content":"Hi there!"}]}`))
	if !e.Priced || *e.Cost != 0.125 || !e.Disputed {
		t.Errorf("the entry is %+v, want the cost that the header says, and a dispute", e)
	}
}

// TestNamesAreBounded holds that a client or an upstream can't fill the ledger
// with a name.
func TestNamesAreBounded(t *testing.T) {
	s := newStack(t, nil)
	long := strings.Repeat("é", 10_000)
	s.upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"model":"`+long+`","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi."}}]}`)
	})
	a := s.post(`{"model":"` + long + `","messages":[{"role":"user","content":"Hi there!"}]}`)
	if got := gjson.GetBytes(s.upstream.Last().Body, "model").Str; got != long {
		t.Errorf("a model's name of %d bytes went upstream, want it as it came", len(got))
	}
	e := s.row(a)
	for _, name := range []string{e.RequestedModel, e.RoutedModel, e.AnsweredModel} {
		if name != long[:256] {
			t.Errorf("%d bytes of a name are kept, want its first 256", len(name))
		}
	}
}

// TestFailedFallbackIsNoSwitch fails all models: the first one's failure is
// the answer, and nothing of the others is said of it.
func TestFailedFallbackIsNoSwitch(t *testing.T) {
	s := newStack(t, nil)
	s.upstream.Misbehave(status(503))
	e := s.row(s.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`))
	if e.RoutedModel != small || e.Switched != "" {
		t.Errorf("the entry's model is %s, switched %q, want %s, not switched", e.RoutedModel, e.Switched, small)
	}
}

// TestOverheadIsOfRequests holds that what was refused is not among the times
// that we added to requests.
func TestOverheadIsOfRequests(t *testing.T) {
	s := newStack(t, nil)
	s.row(s.post(`{"model":"large","messages":[{"role":"user","content":"Hi there!"}]}`))
	if a := s.post(`{"model":"large","messages":`); a.status != http.StatusBadRequest {
		t.Fatalf("status %d for half a body, want 400", a.status)
	}
	for labels, n := range s.eachSeries("understudy_overhead_seconds") {
		if labels["phase"] == "total" && n != 1 {
			t.Errorf("%v overheads are counted, want that of the one request that went upstream", n)
		}
	}
}

// TestLostCacheIsCharged switches a conversation from a model that has its
// prompt in the cache to one that has not: the loss has a component of its own.
func TestLostCacheIsCharged(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		m, _ := c.Catalogue.Find(large)
		cached := 0.5
		m.Price.CacheRead = &cached
	})
	s.upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Hi."}}],
			"usage":{"prompt_tokens":50000,"completion_tokens":10}}`)
	})
	const first = `{"role":"user","content":"Compare Kafka vs NATS."}`
	s.row(s.post(`{"model":"large","messages":[`+first+`]}`, "X-Session-Id: a", "X-Tier: heavy"))
	e := s.row(s.post(`{"model":"large","messages":[`+first+`,{"role":"assistant","content":"NATS."},{"role":"user","content":"Thanks!"}]}`,
		"X-Session-Id: a", "X-Tier: light"))
	// 50,000 tokens at 0.5 for a million instead of 5.
	if e.RoutedModel != small || e.WarmTokens == nil || e.Saved.Cache != -0.225 || e.Saved.Routing <= 0 {
		t.Errorf("%s, saved %+v; want small, and a loss of cache of 0.225 beside what routing saves", e.RoutedModel, e.Saved)
	}
}

// TestSwitchIsNoted has a conversation become harder.
func TestSwitchIsNoted(t *testing.T) {
	s := newStack(t, nil)
	const first = `{"role":"user","content":"Hi there!"}`
	before := s.row(s.post(`{"model":"auto","messages":[`+first+`]}`, "X-Session-Id: a"))
	e := s.row(s.post(`{"model":"auto","messages":[`+first+`,{"role":"assistant","content":"Hi!"},
		{"role":"user","content":"Design a distributed ledger, prove its consistency step by step and analyse the trade-offs."}]}`, "X-Session-Id: a"))
	if before.Switched != "" || e.Switched != "up" || e.RoutedModel == before.RoutedModel {
		t.Errorf("%s, switched %q, then %s, switched %q; want up to another one", before.RoutedModel, before.Switched, e.RoutedModel, e.Switched)
	}
}
