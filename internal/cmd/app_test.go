package cmd

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
)

// noLeaks fails the test when a goroutine outlives it. It must be called
// before anything is started.
func noLeaks(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		goleak.VerifyNone(t,
			// The clock that fasthttp starts once for a process, and two sweepers
			// that see only after a sleep of some seconds that they are to end.
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
			goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		)
	})
}

// start runs the real thing over a simulated upstream with the demo's models.
func start(t *testing.T, change func(*config.Config), env ...string) (*app, *llmtest.Upstream) {
	t.Helper()
	upstream, err := llmtest.Start(demoSmall, demoMid, demoLarge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = upstream.Close() })
	cfg := demoConfig(t.TempDir(), upstream.URL())
	cfg.Limits.SmartBudget = time.Minute // Whatever the machine is busy with.
	change(&cfg)
	a, err := startApp(t.Context(), cfg, IO{Env: env}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a, upstream
}

func closeApp(t *testing.T, a *app) {
	t.Helper()
	if err := a.close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// post sends a chat body with headers in pairs and returns the open response.
func post(t *testing.T, a *app, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, a.url()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestCloseAtOnce(t *testing.T) {
	noLeaks(t)
	for range 10 { // Serve may get to the listener before Close or after it.
		a, _ := start(t, func(*config.Config) {})
		closeApp(t, a)
	}
}

// TestCloseFinishesAnswers closes in the middle of a stream: nothing new is
// accepted, the stream comes to its end, and the ledger has it.
func TestCloseFinishesAnswers(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(*config.Config) {})
	goOn := make(chan struct{})
	upstream.Misbehave(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\" and half\"}}]}\n\ndata: [DONE]\n\n")
	})
	resp := post(t, a, `{"model":"stage-large","stream":true,"messages":[{"role":"user","content":"Hi!"}]}`)
	answer := bufio.NewReader(resp.Body)
	first, err := answer.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- a.close() }()
	refused := func() bool {
		c, err := net.Dial("tcp", a.listener.Addr().String())
		return err != nil || c.Close() != nil
	}
	if !eventually(refused) {
		t.Error("still accepts connections")
	}
	close(goOn)
	rest, err := io.ReadAll(answer)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(append(first, rest...)), "half and half"; got != want {
		t.Errorf("answer = %q, want %q", got, want)
	}
	if err := <-closed; err != nil {
		t.Errorf("closing: %v", err)
	}
	e := entryOf(t, a.cfg.DataDir, resp.Header.Get("X-Request-Id"))
	if e.Outcome != ledger.OutcomeOK || !e.Streamed {
		t.Errorf("entry = %+v, want a streamed answer that is ok", e)
	}
}

// TestCloseCutsAnswers closes while answers hang that outlast the grace time:
// they are cut off, upstream too, and the ledger has them.
func TestCloseCutsAnswers(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(c *config.Config) { c.Shutdown.Grace = 100 * time.Millisecond })
	asked, left := make(chan struct{}, 2), make(chan struct{}, 2)
	upstream.Misbehave(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n")
			_ = http.NewResponseController(w).Flush()
		}
		asked <- struct{}{}
		<-r.Context().Done()
		left <- struct{}{}
	})
	streamed := post(t, a, `{"model":"stage-large","stream":true,"messages":[{"role":"user","content":"Hi!"}]}`)
	var client sync.WaitGroup
	client.Go(func() {
		resp, err := http.Post(a.url()+"/chat/completions", "application/json", strings.NewReader(`{"model":"stage-large","messages":[{"role":"user","content":"Hi!"}]}`))
		if err == nil {
			t.Errorf("got HTTP %d for an answer that never came", resp.StatusCode)
			resp.Body.Close()
		}
	})
	<-asked
	<-asked
	if err := a.close(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closing: %v, want that the time was up", err)
	}
	<-left
	<-left
	client.Wait()
	if rest, err := io.ReadAll(streamed.Body); err == nil {
		t.Errorf("the stream ends well after %q", rest)
	}
	if e := entryOf(t, a.cfg.DataDir, streamed.Header.Get("X-Request-Id")); e.Outcome != ledger.OutcomeClientCancelled {
		t.Errorf("entry = %+v, want %s", e, ledger.OutcomeClientCancelled)
	}
	l, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(a.cfg.DataDir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if entries, err := l.Recent(t.Context(), "default", 10); err != nil || len(entries) != 2 {
		t.Errorf("the ledger has %d entries, %v; want both", len(entries), err)
	}
}

// entryOf reads a request's entry after the server has closed.
func entryOf(t *testing.T, dataDir, id string) ledger.Entry {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(dataDir, "ledger.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	e, err := l.Get(t.Context(), "default", id)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestAllOff is what the settings promise with everything switched off: the
// client's bytes, odd JSON included, and its own key.
func TestAllOff(t *testing.T) {
	noLeaks(t)
	a, upstream := start(t, func(c *config.Config) {
		c.Routing.Enabled, c.Memory.Enabled, c.Assemble.Enabled = false, false, false
	})
	defer closeApp(t, a)
	for _, tt := range []struct{ name, body string }{
		{"plain", `{"model":"stage-large","messages":[{"role":"user","content":"Hi!"}]}`},
		{"odd", "{ \"messages\" : [{\"content\":\"\\u0048i!\",\"role\":\"user\"}],\n\"seed\":123456789012345678901,\"model\":\"stage-large\",\"seed\":1e400 }"},
		{"stream", `{"model":"stage-large","stream":true,"messages":[{"role":"user","content":"Hi!"}]}`},
	} {
		resp := post(t, a, tt.body, "Authorization", "Bearer client-key")
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: HTTP %d", tt.name, resp.StatusCode)
		}
		if got := upstream.Last(); string(got.Body) != tt.body || got.Header.Get("Authorization") != "Bearer client-key" {
			t.Errorf("%s: upstream got key %q and\n%s\nwant\n%s", tt.name, got.Header.Get("Authorization"), got.Body, tt.body)
		}
	}
}

// TestSettingsReachRequests changes one setting at a time and looks at what the
// upstream gets.
func TestSettingsReachRequests(t *testing.T) {
	identity := t.TempDir()
	if err := os.WriteFile(filepath.Join(identity, "ROLE.md"), []byte("Keeper of the ledger."), 0o600); err != nil {
		t.Fatal(err)
	}
	const greeting, question = "Hi there!", "What are the trade-offs between Kafka and NATS?"
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		env    []string
		say    string
		agent  string
		want   string // In the upstream's request: headers and body.
	}{
		{"nothing", func(*config.Config) {}, nil, greeting, "", `"model":"stage-small"`},
		{"routing off", func(c *config.Config) { c.Routing.Enabled = false }, nil, greeting, "", `"model":"stage-large"`},
		{"tier override", func(c *config.Config) { c.Assemble.TierOverride = "mid" }, nil, question, "", `Briefly state assumption, then recommendation.`},
		{"tier override to small", func(c *config.Config) { c.Assemble.TierOverride = "small" }, nil, question, "", `State the assumption. List the trade-offs.`},
		{"profile", func(c *config.Config) { c.Routing.Profile = "premium" }, nil, greeting, "", `"model":"stage-mid"`},
		{"agent's profile", func(c *config.Config) { c.Agents["bot"] = config.Agent{Profile: "premium"} }, nil, greeting, "bot", `"model":"stage-mid"`},
		{"explicit models", func(c *config.Config) { c.Routing.ExplicitModels = "respect" }, nil, greeting, "", `"model":"stage-large"`},
		{"process types", func(c *config.Config) { c.Routing.PromptRouting.ProcessTypes = nil }, nil, greeting, "", `"model":"stage-mid"`},
		{
			"keywords", func(c *config.Config) {
				c.Routing.PromptRouting.Keywords["simple_indicators"] = config.Keywords{Remove: []string{"hi"}}
				c.Routing.PromptRouting.MinConfidence = 0.99
			}, nil, greeting, "", `"model":"stage-mid"`,
		},
		{
			"boundaries", func(c *config.Config) {
				c.Routing.PromptRouting.Boundaries = config.Boundaries{LightStandard: -0.9, StandardHeavy: -0.8}
			},
			nil, greeting, "", `"model":"stage-large"`,
		},
		{
			"persona", func(c *config.Config) {
				c.Agents["bot"] = config.Agent{Persona: config.Persona{Name: "Ada", Text: "Patient and brief."}}
			}, nil, greeting, "bot", `Patient and brief.`,
		},
		{"identity", func(c *config.Config) { c.Agents["bot"] = config.Agent{IdentityDir: identity} }, nil, greeting, "bot", `Keeper of the ledger.`},
		{
			"fallbacks", func(c *config.Config) {
				c.Upstreams["dead"] = config.Upstream{BaseURL: "http://127.0.0.1:1/v1", MaxConns: 1, Timeouts: c.Upstreams["default"].Timeouts}
				c.Models[0].Upstream = "dead"
				c.Routing.Fallbacks = map[string][]string{demoSmall: {demoMid}}
			}, nil, greeting, "", `"model":"stage-mid"`,
		},
		{"scaffold", func(*config.Config) {}, nil, question, "", `Response format`},
		{
			"key", func(c *config.Config) {
				u := c.Upstreams["default"]
				u.APIKeyEnv = "SERVICE_KEY"
				c.Upstreams["default"] = u
			}, []string{"SERVICE_KEY=service-key"}, greeting, "", `Bearer service-key`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, upstream := start(t, tt.change, tt.env...)
			defer closeApp(t, a)
			resp := post(t, a, `{"model":"stage-large","messages":[{"role":"user","content":"`+tt.say+`"}]}`, "X-Agent-Id", tt.agent)
			if resp.StatusCode != http.StatusOK {
				t.Fatalf("HTTP %d", resp.StatusCode)
			}
			last := upstream.Last()
			got := last.Header.Get("Authorization") + "\n" + string(last.Body)
			if !strings.Contains(got, tt.want) {
				t.Errorf("the upstream got\n%s\nwant %q in it", got, tt.want)
			}
		})
	}
}

// TestCallers lets in who the configuration lists, as whom it says, and the
// admin to the accounts.
func TestCallers(t *testing.T) {
	a, _ := start(t, func(c *config.Config) {
		c.Auth = config.Auth{Mode: "keys", AdminKeyEnv: "ADMIN_KEY", Keys: []config.Key{
			{SHA256: fmt.Sprintf("%x", sha256.Sum256([]byte("acme-key"))), Tenant: "acme", Agent: "bot", Profile: "premium"},
		}}
	}, "ADMIN_KEY=admin-key")
	defer closeApp(t, a)
	const body = `{"model":"stage-large","messages":[{"role":"user","content":"Hi there!"}]}`
	if resp := post(t, a, body, "Authorization", "Bearer other-key"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("with an unknown key: HTTP %d, want 401", resp.StatusCode)
	}
	resp := post(t, a, body, "Authorization", "Bearer acme-key", "X-Agent-Id", "someone-else")
	if got := resp.Header.Get("X-Routed-Model"); resp.StatusCode != http.StatusOK || got != demoMid {
		t.Errorf("HTTP %d, model %q, want %q by the key's profile", resp.StatusCode, got, demoMid)
	}
	if err := a.ledger.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e, err := a.ledger.Get(t.Context(), "acme", resp.Header.Get("X-Request-Id")); err != nil || e.Agent != "bot" {
		t.Errorf("entry of tenant acme: agent %q, error %v, want agent bot", e.Agent, err)
	}
	for _, tt := range []struct {
		name, key string
		want      int
	}{
		{"caller", "acme-key", http.StatusUnauthorized},
		{"admin", "admin-key", http.StatusOK},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(a.url(), "/v1")+"/api/stats?tenant=acme", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+tt.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("/api/stats for the %s: HTTP %d, want %d", tt.name, resp.StatusCode, tt.want)
		}
	}
}

// TestHoldOut gives every session to the group without a scaffold.
func TestHoldOut(t *testing.T) {
	a, upstream := start(t, func(c *config.Config) { c.Assemble.HoldOut = 1 })
	defer closeApp(t, a)
	post(t, a, `{"model":"stage-large","messages":[{"role":"user","content":"What are the trade-offs between Kafka and NATS?"}]}`)
	if body := upstream.Last().Body; bytes.Contains(body, []byte("Response format")) {
		t.Errorf("the upstream got a scaffold: %s", body)
	}
}

// TestStartFails leaves nothing running and the address free.
func TestStartFails(t *testing.T) {
	noLeaks(t)
	for _, tt := range []struct {
		name   string
		change func(*config.Config)
		want   string
	}{
		{"identity folder", func(c *config.Config) { c.Agents["bot"] = config.Agent{IdentityDir: "nowhere"} }, `agent "bot": reading identity_dir`},
		{"data folder", func(c *config.Config) { c.DataDir = "app_test.go" }, "making the data folder"},
		{"tier", func(c *config.Config) { c.Models[0].Tier = "huge" }, `model "stage-small"`},
		{"address", func(c *config.Config) { c.Listen = "127.0.0.1:none" }, "listening"},
	} {
		cfg := demoConfig(t.TempDir(), "http://127.0.0.1:1/v1")
		tt.change(&cfg)
		a, err := startApp(context.Background(), cfg, IO{}, slog.New(slog.DiscardHandler))
		if err == nil {
			closeApp(t, a)
			t.Errorf("%s: started", tt.name)
			continue
		}
		if !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %q, want %q in it", tt.name, err, tt.want)
		}
	}
}
