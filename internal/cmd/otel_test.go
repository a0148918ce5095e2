package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
)

// TestCollectorGetsTraces holds that otel.endpoint is all it takes, and that
// closing sends what waits.
func TestCollectorGetsTraces(t *testing.T) {
	noLeaks(t)
	bodies := make(chan string, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			bodies <- string(body)
		}
	}))
	t.Cleanup(collector.Close)
	a, _ := start(t, func(c *config.Config) { c.OTel = config.OTel{Endpoint: collector.URL, Service: "stage"} })
	post(t, a, `{"model":"stage-large","messages":[{"role":"user","content":"Hi!"}]}`)
	closeApp(t, a)
	close(bodies)
	var all strings.Builder
	for body := range bodies {
		all.WriteString(body)
	}
	for _, want := range []string{`{"key":"service.name","value":{"stringValue":"stage"}}`, `"name":"chat stage-large"`, `"name":"upstream"`} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("the collector got %q, without %s", all.String(), want)
		}
	}
	if strings.Contains(all.String(), "Hi!") {
		t.Error("a span holds what was said")
	}
}

// TestImportedPricesHold serves a model that only an imported list knows.
func TestImportedPricesHold(t *testing.T) {
	noLeaks(t)
	a, _ := start(t, func(c *config.Config) {
		for i := range c.Models {
			c.Models[i].Price = config.Price{}
		}
		list := `{"source":"test","version":"1","date":"2026-01-02","models":{
			"stage-small":{"provider":"x","input":1000,"output":2000},"stage-large":{"provider":"x","input":3000,"output":4000}}}`
		if err := os.WriteFile(filepath.Join(c.DataDir, pricesFile), []byte(list), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	resp := post(t, a, `{"model":"stage-large","messages":[{"role":"user","content":"Hi!"}]}`, "X-Tier", "light")
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	closeApp(t, a)
	e := entryOf(t, a.cfg.DataDir, resp.Header.Get("X-Request-Id"))
	if want := (float64(e.Usage.Input)*1000 + float64(e.Usage.Output)*2000) / 1e6; !e.Priced || *e.Cost != want || e.RoutedModel != "stage-small" {
		t.Errorf("%s cost %v of usage %+v, want %v", e.RoutedModel, e.Cost, e.Usage, want)
	}
}

// TestRetentionHolds starts on a ledger with an entry that is too old: it goes,
// and stays in the sums.
func TestRetentionHolds(t *testing.T) {
	noLeaks(t)
	a, _ := start(t, func(c *config.Config) {
		c.Ledger.Retention = time.Hour
		l, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(c.DataDir, "ledger.db")})
		if err != nil {
			t.Fatal(err)
		}
		l.Record(ledger.Entry{ID: "old", Tenant: "default", At: time.Now().Add(-2 * time.Hour)})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
	defer closeApp(t, a)
	gone := eventually(func() bool {
		rows, err := a.ledger.Recent(t.Context(), "default", 1)
		return err == nil && len(rows) == 0
	})
	stats, err := a.ledger.Stats(t.Context(), ledger.StatsQuery{Tenant: "default"})
	if err != nil || !gone || stats.Total.Requests != 1 {
		t.Errorf("gone: %t, in the sums: %d, error %v; want the entry gone and counted", gone, stats.Total.Requests, err)
	}
}
