package proxy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/metrics"
	"github.com/understudy-ai/understudy/internal/secret"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, // what fasthttp and fiber leave sleeping for a while after a server has ended
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*HostClient).connsCleaner"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/gofiber/fiber/v2/utils.StartTimeStampUpdater.func1.1"),
	)
}

const (
	small, mid, large = "small", "mid", "large"
	hard              = "Design a fault-tolerant key-value store step by step. Prove that it stays linearizable with at most two failed nodes: first the write path, then recovery."
)

// stack is a whole running product in front of a simulated upstream.
type stack struct {
	t        testing.TB
	base     string // without a path
	dir      string // of the stores' files
	server   *proxy.Server
	upstream *llmtest.Upstream
	ledger   *ledger.Ledger
	memory   *memory.Store
	metrics  *metrics.Metrics
	log      *lockedBuffer
	client   *http.Client
	via      func() (net.Conn, error) // another way to reach it than base; nil: none
}

// newStack starts everything as serve does; edit may change the configuration.
func newStack(t testing.TB, edit func(*proxy.Config)) *stack {
	t.Helper()
	s := &stack{t: t, log: &lockedBuffer{}, client: &http.Client{Transport: &http.Transport{}}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	s.upstream, err = llmtest.Start(small, mid, large)
	must(err)
	t.Cleanup(func() { must(s.upstream.Close()) })
	s.dir = t.TempDir()
	s.ledger, err = ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(s.dir, "ledger.db"), FlushEvery: time.Millisecond})
	must(err)
	t.Cleanup(func() { must(s.ledger.Close()) })
	s.memory, err = memory.Open(t.Context(), memory.Config{Path: filepath.Join(s.dir, "memory.db")})
	must(err)
	t.Cleanup(func() { must(s.memory.Close()) })
	s.metrics = metrics.New(metricsConfig())

	cfg := s.config()
	if edit != nil {
		edit(&cfg)
	}
	srv, err := proxy.New(cfg)
	must(err)
	s.server = srv
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	s.serve(srv, ln)
	s.base = "http://" + ln.Addr().String()
	return s
}

func metricsConfig() metrics.Config {
	return metrics.Config{Version: "test", Agents: []string{"default", "atlas"}, Models: []string{small, mid, large}}
}

// serve has the server run until the test ends.
func (s *stack) serve(srv *proxy.Server, ln net.Listener) {
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	s.t.Cleanup(func() {
		s.client.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(srv.Shutdown(ctx), <-served); err != nil {
			s.t.Fatal(err)
		}
	})
}

// in is the same stack for a test within the one that started it.
func (s *stack) in(t testing.TB) *stack {
	inner := *s
	inner.t = t
	return &inner
}

func (s *stack) config() proxy.Config {
	s.t.Helper()
	prices, err := ledger.BuiltIn()
	if err != nil {
		s.t.Fatal(err)
	}
	priced := func(name string, tier assemble.ModelTier, in, out float64) routing.Model {
		return routing.Model{
			Name: name, ID: name, Upstream: "default", Tier: tier, Context: 128_000, MaxOutput: 8192,
			Supports: []string{"tools", "json_schema"}, Price: &ledger.Price{Input: in, Output: out},
		}
	}
	models := []routing.Model{priced(small, assemble.Small, 0.1, 0.4), priced(mid, assemble.Mid, 1, 5), priced(large, assemble.Frontier, 5, 25)}
	models[2].Supports = append(models[2].Supports, "vision")
	catalogue, err := routing.NewCatalogue(models, prices)
	if err != nil {
		s.t.Fatal(err)
	}
	router, err := routing.New(routing.Config{
		Catalogue: catalogue, Explicit: routing.ExplicitCheaper, Profile: "balanced", Clock: time.Now,
		Profiles: map[string]routing.Profile{
			"eco":      {Light: small, Standard: small, Heavy: mid},
			"balanced": {Light: small, Standard: mid, Heavy: large},
		},
		ProcessTypes: map[string]string{"channel": mid, "branch": mid, "worker": small, "compactor": small, "cortex": small},
		PromptRouted: []string{"channel", "branch"},
		Session:      routing.SessionConfig{Idle: time.Hour, CacheTTL: 5 * time.Minute, Horizon: 3, DownAfter: 2, MinGain: 0, Max: 100},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	scorer, err := scoring.New(scoring.DefaultConfig())
	if err != nil {
		s.t.Fatal(err)
	}
	assembler, err := assemble.New(assemble.DefaultOptions())
	if err != nil {
		s.t.Fatal(err)
	}
	sessions, err := assemble.NewSessions(assembler, assemble.DefaultSessionOptions())
	if err != nil {
		s.t.Fatal(err)
	}
	return proxy.Config{
		Logger:  slog.New(slog.NewTextHandler(s.log, nil)),
		Version: "test", Default: "default",
		Upstreams: map[string]proxy.UpstreamConfig{"default": {
			Name: "default", BaseURL: s.upstream.URL(), MaxConns: 64, Connect: time.Second, FirstByte: 5 * time.Second, Idle: 5 * time.Second,
		}},
		Scorer: scorer, Router: router, Catalogue: catalogue, Memory: s.memory,
		Assembly: &proxy.Assembly{Sessions: sessions}, Ledger: s.ledger, Metrics: s.metrics,
		// Far above what a request needs, since tests run on busy machines.
		Limits: proxy.Limits{BodyBytes: 1 << 20, HeaderBytes: 64 << 10, SmartBudget: 10 * time.Second},
	}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
}

// post sends a body to the chat endpoint; headers are "Name: value".
func (s *stack) post(body string, headers ...string) answer {
	s.t.Helper()
	return s.send(http.MethodPost, "/v1/chat/completions", body, headers...)
}

func (s *stack) send(method, path, body string, headers ...string) answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if req.Header.Add(name, value); name == "Host" {
			req.Host = value
		}
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(got)}
}

// row is the ledger's entry for an answer.
func (s *stack) row(a answer) ledger.Entry {
	s.t.Helper()
	if err := s.ledger.Sync(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	e, err := s.ledger.Get(s.t.Context(), "default", a.header.Get("X-Request-Id"))
	if err != nil {
		s.t.Fatal(err)
	}
	return e
}

// newest waits for the ledger to hold an entry, for requests whose id no
// client saw.
func (s *stack) newest() ledger.Entry {
	s.t.Helper()
	for range 1000 {
		rows, err := s.ledger.Recent(s.t.Context(), "default", 1)
		if err == nil && len(rows) == 1 {
			return rows[0]
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-s.t.Context().Done():
		}
	}
	s.t.Fatal("no entry in the ledger")
	return ledger.Entry{}
}

func (s *stack) failOpen(step, reason string) float64 {
	return testutil.ToFloat64(s.metrics.FailOpen.WithLabelValues(step, reason))
}

// brokenMemory fails as told and learns nothing.
type brokenMemory struct{ err error }

func (b brokenMemory) Recall(ctx context.Context, _ memory.Scope, _ memory.Query) (memory.Recalled, error) {
	if errors.Is(b.err, context.DeadlineExceeded) {
		<-ctx.Done()
		return memory.Recalled{}, ctx.Err()
	}
	return memory.Recalled{}, b.err
}

func (b brokenMemory) Brief(context.Context, memory.Scope) (memory.Brief, error) {
	return memory.Brief{}, b.err
}

func (b brokenMemory) Knowledge(context.Context, memory.Scope) (memory.Knowledge, error) {
	return memory.Knowledge{}, b.err
}

func (b brokenMemory) OwnKnowledge(context.Context, memory.Scope) (memory.Knowledge, error) {
	return memory.Knowledge{}, b.err
}
func (b brokenMemory) Learn(memory.Exchange) bool  { return true }
func (b brokenMemory) Check(context.Context) error { return b.err }

type panickyScorer struct{}

func (panickyScorer) Score(string) scoring.Score { panic("no score today") }

// lockedBuffer is a log to read from while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (s *stack) logged() string { return s.log.String() }

// listMemories is what the store keeps of a user, as JSON.
func (s *stack) listMemories(user string) (string, error) {
	scope, err := memory.NewScope("default", "default", user)
	if err != nil {
		return "", err
	}
	page, err := s.memory.List(s.t.Context(), scope, memory.Filter{Limit: 100})
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(page)
	return string(b), err
}

func secretText(s string) secret.Text { return secret.Text(s) }
