// Package llmtest is a simulated provider of language models, for tests and
// for the demo. It speaks enough of the OpenAI API to be put behind a proxy,
// records every request's bytes, and can be told to misbehave.
//
// It is no language model: an answer quotes what the prompt holds that shares
// words with the question. Token counts are bytes by four, and its prompt
// cache is a plain longest common prefix. Nothing measured on it says anything
// about a real provider's quality or price.
package llmtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Request is one request as it arrived.
type Request struct {
	Method, Path string // path with query
	Header       http.Header
	Body         []byte
}

// Upstream is a running simulated provider. Safe for concurrent use.
type Upstream struct {
	url    string
	models []string
	server *http.Server
	usual  http.Handler
	served chan struct{}
	cache  promptCache

	mu       sync.Mutex
	requests []Request
	fault    http.HandlerFunc
	pause    time.Duration
}

// maxKept bounds the recorded requests; older ones go first.
const maxKept = 1000

// Start serves the named models on a free loopback port.
func Start(models ...string) (*Upstream, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	u := &Upstream{url: "http://" + ln.Addr().String() + "/v1", models: models, served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", u.chat)
	mux.HandleFunc("GET /v1/models", u.list)
	mux.HandleFunc("POST /v1/embeddings", u.embed)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fail(w, 404, "unknown path "+r.URL.Path) })
	u.usual = mux
	u.server = &http.Server{Handler: u.record(mux), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(u.served)
		_ = u.server.Serve(ln) // always ErrServerClosed
	}()
	return u, nil
}

// URL is the base URL, ending in /v1.
func (u *Upstream) URL() string { return u.url }

// Close ends the server and every connection.
func (u *Upstream) Close() error {
	err := u.server.Close()
	<-u.served
	return err
}

// Drain waits for running answers before it closes.
func (u *Upstream) Drain(ctx context.Context) error {
	return errors.Join(u.server.Shutdown(ctx), u.Close())
}

// Requests returns what has arrived, oldest first.
func (u *Upstream) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Request(nil), u.requests...)
}

// Last returns the newest request; the zero Request when none has arrived.
func (u *Upstream) Last() Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.requests) == 0 {
		return Request{}
	}
	return u.requests[len(u.requests)-1]
}

// Misbehave answers everything with f until it is called with nil. The body is
// already recorded; r.Body gives it again.
func (u *Upstream) Misbehave(f http.HandlerFunc) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fault = f
}

// Answer answers a request as usual, for a fault that spares some requests.
func (u *Upstream) Answer(w http.ResponseWriter, r *http.Request) { u.usual.ServeHTTP(w, r) }

// Pace makes streams wait this long between chunks.
func (u *Upstream) Pace(d time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pause = d
}

// record keeps each request's bytes, then lets the fault or the model answer.
func (u *Upstream) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client left
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		u.mu.Lock()
		u.requests = append(u.requests, Request{r.Method, r.URL.RequestURI(), r.Header.Clone(), body})
		if len(u.requests) > maxKept {
			u.requests = u.requests[1:]
		}
		fault := u.fault
		u.mu.Unlock()
		if fault != nil {
			fault(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
