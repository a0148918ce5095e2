package cmd

import (
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/memory"
)

// TestClock holds that what is kept of a request has the time of the clock
// that was handed in, and that speed is not measured by it.
func TestClock(t *testing.T) {
	noLeaks(t)
	upstream, err := llmtest.Start(demoSmall, demoMid, demoLarge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = upstream.Close() })
	then := time.Date(2026, 3, 18, 15, 12, 0, 0, time.UTC)
	a, err := startApp(t.Context(), demoConfig(t.TempDir(), upstream.URL()), IO{Clock: func() time.Time { return then }}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer closeApp(t, a)
	resp := post(t, a, `{"model":"auto","messages":[{"role":"user","content":"We decided to use NATS for the event bus."}]}`, "X-User-Id", "ana")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	if err := a.ledger.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.memory.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	e, err := a.ledger.Get(t.Context(), "default", resp.Header.Get("X-Request-Id"))
	if err != nil || !e.At.Equal(then) || e.Total <= 0 || e.Total > time.Hour {
		t.Errorf("the entry is of %v and took %v (%v), want %v", e.At, e.Total, err, then)
	}
	scope, err := memory.NewScope("default", "default", "ana")
	if err != nil {
		t.Fatal(err)
	}
	page, err := a.memory.List(t.Context(), scope, memory.Filter{Limit: 10})
	if err != nil || len(page.Items) != 1 || !page.Items[0].CreatedAt.Equal(then) {
		t.Errorf("memory has %+v (%v), want one of %v", page.Items, err, then)
	}
}
