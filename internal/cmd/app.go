package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/journal"
	"github.com/understudy-ai/understudy/internal/metrics"
	"github.com/understudy-ai/understudy/internal/otlp"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
	"github.com/understudy-ai/understudy/routing"
)

// memoryFile is the memory store's file in the data folder.
const memoryFile = "memory.db"

// app is everything that serves: made from a configuration, started by serve,
// by the demo and by tests alike, and closed in the opposite order.
type app struct {
	cfg       config.Config
	clock     func() time.Time // when things happen; speed is measured by the real one
	logger    *slog.Logger
	metrics   *metrics.Metrics
	catalogue *routing.Catalogue
	memory    *memory.Store  // nil when off
	ambient   *ambient.Store // nil when off
	ledger    *ledger.Ledger
	sessions  *journal.Journal // of what routing knows of conversations, nil when routing is off
	prompts   *journal.Journal // of what conversations were told, nil when assembly is off
	traces    *otlp.Exporter   // nil when no collector is configured
	unlock    func() error     // releases the data folder, nil before it is taken
	server    *proxy.Server
	serving   chan struct{} // closed when server is set
	listener  net.Listener
	served    chan error
}

// startApp listens, opens the stores and serves. The caller must close it.
func startApp(ctx context.Context, cfg config.Config, o IO, logger *slog.Logger) (_ *app, err error) {
	a := &app{cfg: cfg, clock: o.now, logger: logger, serving: make(chan struct{}), served: make(chan error, 1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.release())
		}
	}()
	if a.catalogue, err = newCatalogue(cfg); err != nil {
		return nil, err
	}
	// The address comes first: a second instance fails here, before it has
	// touched the stores of the first.
	if err := a.listen(); err != nil {
		return nil, err
	}
	a.metrics = metrics.New(metrics.Config{Version: Version(), Agents: agentLabels(cfg), Models: modelLabels(a.catalogue)})
	if err := a.openStores(ctx); err != nil {
		return nil, err
	}
	if err := a.startTraces(); err != nil {
		return nil, err
	}
	pc, err := a.proxyConfig(ctx, o)
	if err != nil {
		return nil, err
	}
	if a.server, err = proxy.New(pc); err != nil {
		return nil, err
	}
	close(a.serving)
	go func() { a.served <- a.server.Serve(a.listener) }()
	return a, nil
}

// startTraces connects to nothing yet.
func (a *app) startTraces() (err error) {
	if a.cfg.OTel.Endpoint == "" {
		return nil
	}
	a.traces, err = otlp.New(otlp.Config{Endpoint: a.cfg.OTel.Endpoint, Service: a.cfg.OTel.Service, Version: Version(), Logger: a.logger})
	if err != nil {
		return fmt.Errorf("starting traces: %w", err)
	}
	a.metrics.Counter("trace_spans_lost_total", "Spans that the collector did not take, or that waited in vain.", func() float64 { return float64(a.traces.Lost()) })
	return nil
}

func (a *app) listen() (err error) {
	if path, ok := strings.CutPrefix(a.cfg.Listen, config.UnixPrefix); ok {
		a.listener, err = listenUnix(path)
	} else {
		a.listener, err = net.Listen("tcp", a.cfg.Listen)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return hintError{
			fmt.Errorf("listening: %w", err),
			"does another understudy run here? -listen 127.0.0.1:0 takes any free port",
		}
	}
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	return nil
}

// listenUnix makes a Unix socket that this user alone can connect to. One that
// a process left behind is taken away.
func listenUnix(path string) (net.Listener, error) {
	ln, err := net.Listen("unix", path)
	if info, statErr := os.Lstat(path); errors.Is(err, syscall.EADDRINUSE) && statErr == nil && info.Mode()&os.ModeSocket != 0 {
		if conn, dialErr := net.Dial("unix", path); dialErr == nil {
			return nil, errors.Join(err, conn.Close())
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		ln, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// url is the base URL for clients, or the socket to reach it by.
func (a *app) url() string {
	if addr := a.listener.Addr(); addr.Network() == "tcp" {
		return "http://" + addr.String() + "/v1"
	}
	return a.cfg.Listen
}

func (a *app) openStores(ctx context.Context) (err error) {
	if err := os.MkdirAll(a.cfg.DataDir, 0o700); err != nil {
		return fmt.Errorf("making the data folder: %w", err)
	}
	if a.unlock, err = lockDir(a.cfg.DataDir); err != nil {
		return err
	}
	a.ledger, err = ledger.Open(ctx, ledger.Config{Path: filepath.Join(a.cfg.DataDir, "ledger.db"), Logger: a.logger, Clock: a.clock, Retention: a.cfg.Ledger.Retention})
	if err != nil {
		return err
	}
	a.metrics.Gauge("ledger_queue", "Entries that wait to be written to the ledger.", func() float64 { return float64(a.ledger.QueueLen()) })
	a.metrics.Counter("ledger_lost_total", "Entries given up because the ledger's file could not be written and its queue was full.", func() float64 { return float64(a.ledger.Lost()) })
	a.metrics.Gauge("ledger_up", "1: the ledger's file can be used; 0: it can't, and entries wait.", func() float64 { return up(a.ledger.Check) })
	if err := a.openAmbient(ctx); err != nil {
		return err
	}
	if !a.cfg.Memory.Enabled {
		return nil
	}
	a.memory, err = memory.Open(ctx, memory.Config{
		Path: filepath.Join(a.cfg.DataDir, memoryFile), Logger: a.logger, Clock: a.clock, QueueSize: a.cfg.Memory.Queue, IndexBytes: int64(a.cfg.Memory.IndexBytes),
		TurnTTL: a.cfg.Memory.TurnTTL, Capture: memory.Capture(a.cfg.Memory.Capture), Zone: zones(a.cfg), Model: a.extractor(), Embedder: a.embedder(),
		OnIndex: func(hit bool) {
			result := "miss"
			if hit {
				result = "hit"
			}
			a.metrics.Index.WithLabelValues(result).Inc()
		},
		OnNews: a.hearNews,
		OnChange: func(tenant, agent, user string) {
			if a.ambient != nil {
				a.ambient.KnowledgeChanged(tenant, agent, user)
			}
		},
		OnLearned: func(t memory.Type, result string) { a.metrics.Learned.WithLabelValues(string(t), result).Inc() },
	})
	if err != nil {
		return err
	}
	a.metrics.Gauge("extractor_queue", "Exchanges that wait for the extractor's model.", func() float64 { return float64(a.memory.Unheard()) })
	a.metrics.Gauge("embedder_queue", "Queries that wait for a vector of the embedder's model.", func() float64 { return float64(a.memory.Unembedded()) })
	a.metrics.Counter("embedder_lost_total", "Queries and memories that did not get a vector, for now: too many at once, or a call failed.", func() float64 { return float64(a.memory.EmbeddingsLost()) })
	a.metrics.Gauge("learn_queue", "Exchanges that wait to be learned.", func() float64 { return float64(a.memory.QueueLen()) })
	a.metrics.Gauge("memory_up", "1: memory's file can be used; 0: it can't, and exchanges wait.", func() float64 { return up(a.memory.Check) })
	a.metrics.Gauge("memory_items", "Memories in the store.", func() float64 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		n, err := a.memory.Count(ctx)
		if err != nil {
			return -1
		}
		return float64(n)
	})
	return nil
}

// up is 1 when a store's check succeeds, else 0.
func up(check func(context.Context) error) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if check(ctx) != nil {
		return 0
	}
	return 1
}

// close stops accepting, lets running answers finish within the grace time,
// and writes what is left to the stores.
func (a *app) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), a.cfg.Shutdown.Grace)
	defer cancel()
	err := a.server.Shutdown(ctx)
	if err != nil {
		err = fmt.Errorf("waiting for running answers: %w", err)
	}
	// Shutdown knows nothing of a listener that Serve has not got to yet.
	errs := []error{err, a.closeListener(), <-a.served}
	return errors.Join(append(errs, a.release())...)
}

// closeListener stops accepting. That it was closed before is no error.
func (a *app) closeListener() error {
	if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// release closes what startApp has opened so far.
func (a *app) release() error {
	var errs []error
	if a.listener != nil {
		errs = append(errs, a.closeListener())
	}
	if a.sessions != nil {
		errs = append(errs, a.sessions.Close())
	}
	if a.prompts != nil {
		errs = append(errs, a.prompts.Close())
	}
	if a.memory != nil {
		errs = append(errs, a.memory.Close())
	}
	if a.ambient != nil {
		errs = append(errs, a.ambient.Close())
	}
	if a.ledger != nil {
		errs = append(errs, a.ledger.Close())
	}
	if a.traces != nil {
		errs = append(errs, a.traces.Close())
	}
	if a.unlock != nil {
		errs = append(errs, a.unlock())
	}
	return errors.Join(errs...)
}
