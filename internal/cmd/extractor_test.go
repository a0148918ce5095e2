package cmd

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
)

// TestExtractorModel has the configured model find a memory that the rules
// don't, and books its call.
func TestExtractorModel(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(c *config.Config) { c.Memory.Extractor.Model = demoSmall })
	defer closeApp(t, a)
	upstream.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !strings.Contains(string(body), "word for word") {
			upstream.Answer(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"x","object":"chat.completion","created":1,"model":"stage-small","choices":[{"index":0,"finish_reason":"stop",
			"message":{"role":"assistant","content":"{\"memories\":[{\"type\":\"fact\",\"quote\":\"Grandma's recipe needs four eggs.\"}]}"}}],
			"usage":{"prompt_tokens":200,"completion_tokens":30,"total_tokens":230,"cost":0.004}}`)
	})
	resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"Grandma's recipe needs four eggs. Can you scale it?"}]}`, "X-User-Id", "ann")
	_, _ = io.Copy(io.Discard, resp.Body)

	scope, err := memory.NewScope("default", "default", "ann")
	if err != nil {
		t.Fatal(err)
	}
	found := eventually(func() bool {
		page, err := a.memory.List(t.Context(), scope, memory.Filter{})
		return err == nil && len(page.Items) == 1 && page.Items[0].Content == "Grandma's recipe needs four eggs."
	})
	if !found {
		t.Fatal("the memory that the model found isn't there")
	}
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
		if e.Background != "extractor" || e.ProcessType != "cortex" || e.User != "ann" || e.Usage.Input != 200 || e.Cost == nil || *e.Cost != 0.004 || e.Saved.Background != -0.004 {
			t.Errorf("the call's entry is %+v", e)
		}
	}
	if calls != 1 {
		t.Errorf("%d background calls in the ledger, want 1", calls)
	}
}

// TestNoExtractor holds that nothing but the client's own request goes upstream
// by default.
func TestNoExtractor(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(*config.Config) {})
	resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"Grandma's recipe needs four eggs."}]}`, "X-User-Id", "ann")
	_, _ = io.Copy(io.Discard, resp.Body)
	closeApp(t, a)
	if n := len(upstream.Requests()); n != 1 {
		t.Errorf("%d requests went upstream, want 1", n)
	}
}
