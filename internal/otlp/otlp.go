// Package otlp sends spans to an OpenTelemetry collector: OTLP as JSON over
// HTTP, which every collector takes on port 4318.
//
// It is not an SDK: spans are values that their owner fills in and hands over
// finished, and sampling is the caller's (W3C traceparent). It sends no metrics
// and no logs, and tries each batch once: traces may be lost, requests may not
// wait for them.
package otlp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what New needs.
type Config struct {
	Endpoint string // Of the collector: http://127.0.0.1:4318; /v1/traces is added where there is no path.
	Service  string // Resource attribute service.name.
	Version  string // Resource attribute service.version.
	Logger   *slog.Logger
}

const (
	maxQueue  = 4096               // Spans that may wait; some 4 MB.
	maxBatch  = 512                // Spans in a request.
	sendEvery = time.Second        // How long a span may wait for company.
	sendTime  = 5 * time.Second    // For one request.
	closeTime = 2 * time.Second    // For what is left at the end.
	idleConns = 30 * time.Second   // How long an unused connection is kept.
	tracePath = "/v1/traces"       // Of OTLP over HTTP.
	mediaType = "application/json" // So, too.
	scopeName = "understudy"       // Who made the spans.
)

// Exporter sends spans in batches, from one goroutine. It is safe for
// concurrent use.
type Exporter struct {
	cfg     Config
	url     string
	client  *http.Client
	queue   chan Span
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
	lost    atomic.Int64
	failing bool // The last batch was not taken. The sender's alone.
}

// New starts an exporter. The caller must Close it, when nothing calls Export
// any more.
func New(cfg Config) (*Exporter, error) {
	u, err := url.Parse(cfg.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the collector's endpoint %q is no http or https URL", cfg.Endpoint)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = tracePath
	}
	e := &Exporter{
		cfg: cfg, url: u.String(),
		client:  &http.Client{Timeout: sendTime, Transport: &http.Transport{IdleConnTimeout: idleConns, MaxIdleConns: 1}},
		queue:   make(chan Span, maxQueue),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	go e.run() // Ends when closing is closed; Close waits for it.
	return e, nil
}

// Export queues finished spans. It does not wait: when the queue is full they
// are lost, and counted.
func (e *Exporter) Export(spans ...Span) {
	for i := range spans {
		select {
		case e.queue <- spans[i]:
		default:
			e.lost.Add(1)
		}
	}
}

// Lost is how many spans never reached the collector.
func (e *Exporter) Lost() int64 { return e.lost.Load() }

// Close sends what waits, for at most two seconds, and ends the exporter.
func (e *Exporter) Close() error {
	e.once.Do(func() {
		close(e.closing)
		<-e.done
		e.client.CloseIdleConnections()
	})
	return nil
}

func (e *Exporter) run() {
	defer close(e.done)
	ticker := time.NewTicker(sendEvery)
	defer ticker.Stop()
	batch := make([]Span, 0, maxBatch)
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) < maxBatch {
				continue
			}
		case <-ticker.C:
		case <-e.closing:
			e.drain(batch)
			return
		}
		batch = e.send(context.Background(), batch)
	}
}

// drain sends what is left.
func (e *Exporter) drain(batch []Span) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	for {
		select {
		case s := <-e.queue:
			if batch = append(batch, s); len(batch) == maxBatch {
				batch = e.send(ctx, batch)
			}
		default:
			e.send(ctx, batch)
			return
		}
	}
}

// send posts a batch, and returns its room for the next one. A collector that
// doesn't take it is logged once, until it does again.
func (e *Exporter) send(ctx context.Context, batch []Span) []Span {
	if len(batch) == 0 {
		return batch
	}
	err := e.post(ctx, encode(&e.cfg, batch))
	if err != nil {
		e.lost.Add(int64(len(batch)))
		if !e.failing {
			e.cfg.Logger.Warn("traces are lost", "error", err)
		}
	}
	e.failing = err != nil
	clear(batch)
	return batch[:0]
}

func (e *Exporter) post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("sending traces: %w", err)
	}
	req.Header.Set("Content-Type", mediaType)
	resp, err := e.client.Do(req)
	if err != nil {
		return fmt.Errorf("sending traces: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("sending traces: the collector answers %s", resp.Status)
	}
	return nil
}
