package proxy_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/proxy"
)

// rawStack is a stack in front of a raw upstream.
func rawStack(t testing.TB, answer func(llmtest.RawRequest) llmtest.Script, edit func(*proxy.Config)) (*stack, *llmtest.Raw) {
	t.Helper()
	raw, err := llmtest.StartRaw(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
	})
	s := newStack(t, func(cfg *proxy.Config) {
		setUpstream(cfg, func(u *proxy.UpstreamConfig) { u.BaseURL = raw.URL() })
		if edit != nil {
			edit(cfg)
		}
	})
	return s, raw
}

const (
	sseHead   = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	sseWord   = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"},\"finish_reason\":null}]}\n\n"
	sseFinish = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	lastChunk = "0\r\n\r\n"
)

func chunkOf(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

func post(body string, headers ...string) *turn {
	return &turn{method: http.MethodPost, path: "/v1/chat/completions", headers: headers, body: []byte(body)}
}

// TestFirstByteAtOnce holds that what the upstream has sent is with the client
// before the upstream sends more: the upstream waits until the client has it.
func TestFirstByteAtOnce(t *testing.T) {
	streamed := `{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	asked := `{"model":"small","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`
	responses := &turn{method: http.MethodPost, path: "/v1/responses", body: []byte(streamed)}
	tests := []struct {
		name  string
		turn  *turn
		first string // what the upstream sends of the body before it waits
	}{
		{"usage hidden", post(streamed), sseWord},
		{"usage asked for", post(asked), sseWord},
		{"half a frame", post(asked), sseWord[:20]},
		{"half a frame on bypass", post(streamed, "X-Bypass: true"), sseWord[:20]},
		{"the head alone", post(streamed), ""},
		{"the head alone on bypass", post(streamed, "X-Bypass: true"), ""},
		{"a client that takes gzip", post(streamed, "Accept-Encoding: gzip, br"), sseWord},
		{"passed through", responses, sseWord[:20]},
		{"the head alone, passed through", responses, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			first := sseHead
			if tt.first != "" {
				first += chunkOf(tt.first)
			}
			seen := make(chan struct{})
			s, _ := rawStack(t, func(llmtest.RawRequest) llmtest.Script {
				return llmtest.Script{Pieces: []llmtest.Piece{
					{Bytes: []byte(first)},
					{When: seen, Bytes: []byte(chunkOf((sseWord + sseFinish)[len(tt.first):]) + lastChunk)},
				}}
			}, nil)
			conn, resp := s.request(tt.turn)
			defer conn.Close()
			got := make([]byte, len(tt.first))
			if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != tt.first {
				t.Fatalf("while the upstream waits: %q, %v; want %q", got, err, tt.first)
			}
			close(seen)
			rest, err := io.ReadAll(resp.Body)
			if want := (sseWord + sseFinish)[len(tt.first):]; string(rest) != want || err != nil {
				t.Errorf("after it: %q, %v; want %q", rest, err, want)
			}
		})
	}
}

// TestInFlight holds that a request is in flight until its answer has ended,
// not only until its handler has returned.
func TestInFlight(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/responses"} {
		t.Run(path, func(t *testing.T) {
			s, _ := rawStack(t, func(llmtest.RawRequest) llmtest.Script {
				return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(sseHead + chunkOf(sseWord))}}, End: llmtest.Hang}
			}, nil)
			request := post(`{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
			request.path = path
			conn, resp := s.request(request)
			defer conn.Close()
			if _, err := io.ReadFull(resp.Body, make([]byte, len(sseWord))); err != nil {
				t.Fatal(err)
			}
			var err error
			if got := s.inFlight(); got != 1 {
				err = fmt.Errorf("in the middle of a stream %v requests are in flight, want 1", got)
			}
			settle(t, t.Name(), err)
		})
	}
}

func (s *stack) inFlight() float64 {
	for _, value := range s.eachSeries("understudy_in_flight") {
		return value
	}
	return -1
}

// TestClientLeaves holds that the upstream's connection is closed when the
// client goes, whatever it was waiting for, and that nothing stays behind.
func TestClientLeaves(t *testing.T) {
	plain := `{"model":"small","messages":[{"role":"user","content":"hi"}]}`
	streamed := `{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	files := &turn{method: http.MethodGet, path: "/v1/files/f/content"}
	tests := []struct {
		name string
		turn *turn
		sent []string // before the upstream falls silent
		body int      // bytes that the client reads before it goes; -1: not even the head
		rows bool     // the ledger knows of it
	}{
		{"before the first byte of a stream", post(streamed), nil, -1, true},
		{"before the first byte of the body", post(streamed), []string{sseHead}, 0, true},
		{"mid-stream", post(streamed), []string{sseHead + chunkOf(sseWord)}, len(sseWord), true},
		{"mid-stream on bypass", post(streamed, "X-Bypass: true"), []string{sseHead + chunkOf(sseWord)}, len(sseWord), true},
		{"in a hidden frame", post(streamed), []string{sseHead + chunkOf(sseWord) + chunkOf("data: {")}, len(sseWord), true},
		{"not streamed", post(plain), nil, -1, true},
		{"not streamed, in the middle of the answer", post(plain), []string{"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"}, -1, true},
		{"in the middle of the head", post(plain), []string{"HTTP/1.1 200 OK\r\nContent-"}, -1, true},
		{"passed through, before the first byte", files, nil, -1, false},
		{"passed through, mid-body", files, []string{"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"}, 1, false},
		{"passed through, with an upload", &turn{method: http.MethodPost, path: "/v1/files", headers: []string{"Transfer-Encoding: chunked"}, body: []byte(plain)}, nil, -1, false},
		{"model list", &turn{method: http.MethodGet, path: "/v1/models"}, nil, -1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan struct{}, 10)
			s, raw := rawStack(t, func(llmtest.RawRequest) llmtest.Script {
				script := llmtest.Script{End: llmtest.Hang}
				for _, piece := range tt.sent {
					script.Pieces = append(script.Pieces, llmtest.Piece{Bytes: []byte(piece)})
				}
				asked <- struct{}{}
				return script
			}, nil)
			before := runtime.NumGoroutine()
			s.leave(tt.turn, tt.body, asked)
			s.awaitGone(raw)
			if tt.rows {
				if e := s.newest(); e.Outcome != ledger.OutcomeClientCancelled {
					t.Errorf("ledger has outcome %q, want client_cancelled", e.Outcome)
				}
			}
			s.awaitQuiet(before)
		})
	}
}

// TestClientLeavesDuringFallback has the client go while a second model is
// asked.
func TestClientLeavesDuringFallback(t *testing.T) {
	asked := make(chan struct{}, 10)
	s, raw := rawStack(t, func(r llmtest.RawRequest) llmtest.Script {
		if r.Number == 1 {
			return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte("HTTP/1.1 503 Status\r\nContent-Length: 2\r\n\r\n{}")}}}
		}
		asked <- struct{}{}
		return llmtest.Script{End: llmtest.Hang}
	}, nil)
	before := runtime.NumGoroutine()
	s.leave(post(ask("auto", "hi")), -1, asked)
	s.awaitGone(raw)
	if e := s.newest(); e.Outcome != ledger.OutcomeClientCancelled {
		t.Errorf("ledger has outcome %q, want client_cancelled", e.Outcome)
	}
	if got := len(raw.Requests()); got != 2 {
		t.Errorf("%d requests went upstream, want 2", got)
	}
	s.awaitQuiet(before)
}

// leave sends a request, reads body bytes of its answer, and goes.
func (s *stack) leave(request *turn, body int, asked <-chan struct{}) {
	s.t.Helper()
	if body >= 0 {
		conn, resp := s.request(request)
		if _, err := io.ReadFull(resp.Body, make([]byte, body)); err != nil {
			s.t.Fatal(err)
		}
		conn.Close()
		return
	}
	conn := s.dial()
	if _, err := conn.Write(request.bytes()); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(patience):
		s.t.Fatal("the upstream was never asked")
	}
	conn.Close()
}

func (s *stack) awaitGone(raw *llmtest.Raw) {
	s.t.Helper()
	select {
	case <-raw.Gone():
	case <-time.After(patience):
		s.t.Fatal("the upstream's connection stayed open although the client was gone")
	}
}

// awaitQuiet waits until no request is in flight and no more goroutines run
// than before, but for a few that the server keeps for its next connection.
func (s *stack) awaitQuiet(before int) {
	s.t.Helper()
	const kept = 4
	deadline := time.After(patience)
	for {
		inFlight, now := s.inFlight(), runtime.NumGoroutine()
		if inFlight == 0 && now <= before+kept {
			return
		}
		select {
		case <-deadline:
			s.t.Fatalf("%v requests in flight and %d goroutines, want 0 and about %d", inFlight, now, before)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// TestClientLeavesMidUpload breaks off a request body: the upstream must not
// take the half for a whole, and the next request must not be read as its rest.
func TestClientLeavesMidUpload(t *testing.T) {
	const unbegun = "Content-Length: 1000\r\n\r\n{\"half\":" // so short that nobody looks at it before it is in
	for _, path := range []string{"/v1/files", "/v1/chat/completions"} {
		for _, framing := range []string{
			unbegun, "Content-Length: 100000\r\n\r\n{\"half\":\"" + strings.Repeat("x", 30_000),
			"Transfer-Encoding: chunked\r\n\r\n8\r\n{\"half\":\r\n", "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"half\":\r\nno size\r\n",
		} {
			t.Run(fmt.Sprintf("%s %.22q", path, framing), func(t *testing.T) {
				s, raw := rawStack(t, func(llmtest.RawRequest) llmtest.Script {
					return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")}}}
				}, nil)
				s.send(http.MethodPost, "/v1/files", "first") // so that the upstream's connection is one that served before
				before := runtime.NumGoroutine()
				conn := s.dial()
				if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+framing); err != nil {
					t.Fatal(err)
				}
				conn.Close()
				for deadline := time.Now().Add(patience); framing != unbegun && s.outcomes()[ledger.OutcomeRejected] != 1; <-time.After(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("counted %v, want one that is rejected", s.outcomes())
					}
				}
				s.awaitQuiet(before)
				if a := s.send(http.MethodPost, "/v1/files", "next"); a.status != 200 || a.body != "{}" {
					t.Errorf("the next request got %d %s, want 200 {}", a.status, a.body)
				}
				if got := raw.Requests(); len(got) != 2 || string(got[1].Data) != "next" {
					t.Errorf("the upstream read %d requests, want the first and the next one alone: %+v", len(got), got)
				}
			})
		}
	}
}

// TestClientLeavesBehind is the same over a Unix socket, and behind somebody
// who ends TLS in front of us.
func TestClientLeavesBehind(t *testing.T) {
	plain := post(`{"model":"small","messages":[{"role":"user","content":"hi"}]}`)
	streamed := post(`{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
	ways := []struct {
		name  string
		serve func(*stack, *llmtest.Raw)
	}{
		{"a Unix socket", (*stack).serveUnix},
		{"TLS in front", (*stack).serveTLS},
	}
	tests := []struct {
		name string
		turn *turn
		sent string // before the upstream falls silent
		body int    // bytes that the client reads before it goes; -1: not even the head
	}{
		{"before the first byte", streamed, "", -1},
		{"mid-stream", streamed, sseHead + chunkOf(sseWord), len(sseWord)},
		{"not streamed", plain, "", -1},
	}
	for _, way := range ways {
		for _, tt := range tests {
			t.Run(way.name+", "+tt.name, func(t *testing.T) {
				asked := make(chan struct{}, 10)
				s, raw := rawStack(t, func(llmtest.RawRequest) llmtest.Script {
					asked <- struct{}{}
					return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(tt.sent)}}, End: llmtest.Hang}
				}, nil)
				way.serve(s, raw)
				s.leave(tt.turn, tt.body, asked)
				s.awaitGone(raw)
				if e := s.newest(); e.Outcome != ledger.OutcomeClientCancelled {
					t.Errorf("ledger has outcome %q, want client_cancelled", e.Outcome)
				}
			})
		}
	}
}

// serveUnix has another server at a Unix socket, and clients go there.
func (s *stack) serveUnix(raw *llmtest.Raw) {
	s.t.Helper()
	cfg := s.config()
	setUpstream(&cfg, func(u *proxy.UpstreamConfig) { u.BaseURL = raw.URL() })
	srv, err := proxy.New(cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(s.t.TempDir(), "s"))
	if err != nil {
		s.t.Fatal(err)
	}
	s.serve(srv, ln)
	s.via = func() (net.Conn, error) { return net.Dial("unix", ln.Addr().String()) }
}

// serveTLS puts a program in front that knows TLS and no HTTP, as stunnel does,
// and has clients go there.
func (s *stack) serveTLS(*llmtest.Raw) {
	s.t.Helper()
	someone := httptest.NewUnstartedServer(nil)
	someone.StartTLS()
	certificates := someone.TLS.Certificates // made for tests
	someone.Close()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certificates})
	if err != nil {
		s.t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			outside, err := ln.Accept()
			if err != nil {
				return
			}
			inside, err := s.dialTCP()
			if err != nil {
				outside.Close()
				return
			}
			for _, pair := range [][2]net.Conn{{outside, inside}, {inside, outside}} {
				running.Go(func() {
					_, _ = io.Copy(pair[0], pair[1]) // until one of them goes
					outside.Close()
					inside.Close()
				})
			}
		}
	})
	s.t.Cleanup(func() {
		ln.Close()
		running.Wait()
	})
	s.via = func() (net.Conn, error) {
		return tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // it is ours
	}
}

// TestEndlessLine holds that a stream without line ends passes without being
// kept, whether or not its frames have to be looked at.
func TestEndlessLine(t *testing.T) {
	if !alone(t) {
		return
	}
	const pass, held, bound = 24 << 20, 8 << 20, 12 << 20
	piece := llmtest.Piece{Bytes: []byte(chunkOf(strings.Repeat("x", 1<<20)))}
	script := llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(sseHead)}}, End: llmtest.Hang}
	for range (pass + held) >> 20 { // some of it may be held back
		script.Pieces = append(script.Pieces, piece)
	}
	for _, usage := range []string{"true", "false"} {
		t.Run("include_usage "+usage, func(t *testing.T) {
			s, _ := rawStack(t, func(llmtest.RawRequest) llmtest.Script { return script }, nil)
			before := heapInUse()
			conn, resp := s.request(post(`{"model":"small","stream":true,"stream_options":{"include_usage":` + usage + `},"messages":[{"role":"user","content":"hi"}]}`))
			defer conn.Close()
			if _, err := io.CopyN(io.Discard, resp.Body, pass); err != nil {
				t.Fatal(err)
			}
			var err error
			if now := heapInUse(); now > before+bound {
				err = fmt.Errorf("heap grew from %d to %d bytes while %d passed", before, now, pass)
			}
			settle(t, t.Name(), err)
		})
	}
}

// alone reports whether the test runs in a process of its own, as one that
// weighs the heap must. If not, it starts that process and reports its result.
func alone(t *testing.T) bool {
	t.Helper()
	const mark = "UNDERSTUDY_TEST_ALONE"
	if os.Getenv(mark) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	return false
}

// TestFlat sends some thousand requests, streamed and not, of which every
// tenth client leaves, and holds that what was taken for them is given back.
func TestFlat(t *testing.T) {
	if !alone(t) {
		return
	}
	const workers, each = 16, 150
	whole := `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Done."}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`
	s, _ := rawStack(t, func(r llmtest.RawRequest) llmtest.Script {
		switch {
		case bytes.Contains(r.Data, []byte(`"leave"`)):
			return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(sseHead + chunkOf(sseWord))}}, End: llmtest.Hang}
		case bytes.Contains(r.Data, []byte(`"stream":true`)):
			return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(sseHead + chunkOf(sseWord))}, {Bytes: []byte(chunkOf(sseFinish) + lastChunk)}}}
		}
		return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(whole), whole)}}}
	}, nil)
	var left, failed atomic.Int64
	run := func(n int) {
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for i := range n {
					left.Add(s.visit(i, &failed))
				}
			})
		}
		all.Wait()
	}
	run(10) // pools and caches fill
	s.client.CloseIdleConnections()
	s.awaitQuiet(runtime.NumGoroutine())
	goroutines, heap := runtime.NumGoroutine(), heapInUse()
	run(each)
	s.client.CloseIdleConnections()
	s.awaitQuiet(goroutines)
	const margin = 8 << 20 // the requests that the raw upstream keeps, and SQLite's own caches
	now := heapInUse()
	t.Logf("heap: %d bytes before, %d after", heap, now)
	if now > heap+margin {
		t.Errorf("heap grew from %d to %d bytes over %d requests", heap, now, workers*each)
	}
	if failed.Load() != 0 {
		t.Errorf("%d requests failed", failed.Load())
	}
	s.awaitCount(ledger.OutcomeClientCancelled, left.Load())
	s.awaitCount(ledger.OutcomeOK, workers*(each+10)-left.Load())
}

// awaitCount waits until so many requests are counted with an outcome.
func (s *stack) awaitCount(outcome string, want int64) {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		got := 0.0
		for labels, value := range s.eachSeries("understudy_requests_total") {
			if labels["outcome"] == outcome {
				got += value
			}
		}
		if int64(got) == want {
			return
		}
		select {
		case <-deadline:
			s.t.Fatalf("%v requests are counted as %s, want %d", got, outcome, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// visit is one client; it returns 1 when it left before the end.
func (s *stack) visit(i int, failed *atomic.Int64) int64 {
	leaves := i%10 == 9
	body := `{"model":"small","messages":[{"role":"user","content":"hi"}]}`
	if i%2 == 1 {
		body = `{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	}
	if leaves {
		body = `{"model":"small","stream":true,"user":"leave","messages":[{"role":"user","content":"hi"}]}`
	}
	resp, err := s.client.Post(s.base+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		failed.Add(1)
		return 0
	}
	defer resp.Body.Close()
	if leaves {
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
			failed.Add(1)
		}
		return 1
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
		failed.Add(1)
	}
	return 0
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC() // what the first one's finalizers let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
