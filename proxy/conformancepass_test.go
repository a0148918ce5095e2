package proxy_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/proxy"
)

// everyByte holds each byte once, line ends and NUL among them.
func everyByte() string {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return string(b)
}

func oneAnswer(answer string) func(llmtest.RawRequest) llmtest.Script {
	return func(llmtest.RawRequest) llmtest.Script {
		return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(answer)}}}
	}
}

// TestPassedRequests holds that a request to any other path goes upstream as
// it came: method, path, query and body.
func TestPassedRequests(t *testing.T) {
	chunked := []string{"Transfer-Encoding: chunked"}
	tests := []struct {
		name string
		turn turn
		line string // that the upstream gets; "" as the client's
	}{
		{name: "GET", turn: turn{method: "GET", path: "/v1/files"}},
		{name: "DELETE", turn: turn{method: "DELETE", path: "/v1/files/f-1"}},
		{name: "OPTIONS", turn: turn{method: "OPTIONS", path: "/v1/files"}},
		{name: "PUT", turn: turn{method: "PUT", path: "/v1/files/f-1", body: []byte("x")}},
		{name: "PATCH chunked", turn: turn{method: "PATCH", path: "/v1/files/f-1", headers: chunked, body: []byte("some more words")}},
		{name: "GET with a body", turn: turn{method: "GET", path: "/v1/search", body: []byte(`{"q":1}`)}},
		{name: "method of another protocol", turn: turn{method: "PROPFIND", path: "/v1/files"}},
		{name: "method of nobody's", turn: turn{method: "M-SEARCH", path: "/v1/files", body: []byte("x")}},
		{name: "binary", turn: turn{method: "POST", path: "/v1/files", headers: []string{"Content-Type: application/octet-stream"}, body: []byte(everyByte())}},
		{name: "binary chunked", turn: turn{method: "POST", path: "/v1/files", headers: chunked, body: []byte(everyByte())}},
		{name: "no bytes", turn: turn{method: "POST", path: "/v1/batches"}},
		{name: "no bytes, chunked", turn: turn{method: "POST", path: "/v1/batches", headers: chunked}},
		{name: "content encoding", turn: turn{method: "POST", path: "/v1/files", headers: []string{"Content-Encoding: gzip"}, body: zipped("hello")}},
		{name: "form", turn: turn{method: "POST", path: "/v1/files", headers: []string{"Content-Type: multipart/form-data; boundary=b"}, body: []byte("--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b--\r\n")}},
		{name: "query", turn: turn{method: "GET", path: "/v1/files?a=%2F&b=+&c=%20&a=2&d&=e&%C3%A4=1;2"}},
		{name: "empty query", turn: turn{method: "GET", path: "/v1/files?"}, line: "GET /v1/files HTTP/1.1"},
		{name: "question marks", turn: turn{method: "GET", path: "/v1/files?x=?y=?"}},
		{name: "slash in a segment", turn: turn{method: "GET", path: "/v1/files/a%2Fb%2fc/content"}},
		{name: "escapes", turn: turn{method: "GET", path: "/v1/files/%E6%95%B0%20%7E~%41"}},
		{name: "double slash", turn: turn{method: "GET", path: "/v1/files//x/"}},
		{name: "single dots", turn: turn{method: "GET", path: "/v1/files/./a...b/.hidden"}},
		{name: "upper case", turn: turn{method: "GET", path: "/v1/Files/F-1"}},
		{name: "other prefix", turn: turn{method: "GET", path: "/openai/v1/files/v1/x"}, line: "GET /v1/files/v1/x HTTP/1.1"},
		{name: "embeddings", turn: turn{method: "POST", path: "/v1/embeddings", body: []byte(`{"model":"auto", "input":"\u0041", "big":12345678901234567890}`)}},
		{name: "dots in the query", turn: turn{method: "GET", path: "/v1/files?path=../../x"}},
		{name: "one megabyte", turn: turn{method: "POST", path: "/v1/files", body: bytes.Repeat([]byte("0123456789abcdef"), 1<<16)}},
		{name: "larger than the limit of chat", turn: turn{method: "POST", path: "/v1/files", body: bytes.Repeat([]byte("0123456789abcdef"), 1<<17)}},
	}
	s, raw := rawStack(t, oneAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(raw.Requests())
			conn, resp := s.request(&tt.turn)
			defer conn.Close()
			answer, err := io.ReadAll(resp.Body)
			sent := raw.Requests()[before:]
			if len(sent) != 1 {
				settle(t, t.Name(), fmt.Errorf("%d requests went upstream, want 1; the answer is %d %s %v", len(sent), resp.StatusCode, answer, err))
				return
			}
			line, _, _ := strings.Cut(string(sent[0].Head), "\r\n")
			want := tt.line
			if want == "" {
				want = tt.turn.method + " " + tt.turn.path + " HTTP/1.1"
			}
			switch {
			case line != want:
				err = fmt.Errorf("the upstream got %q, want %q", line, want)
			case !bytes.Equal(sent[0].Data, tt.turn.body):
				err = fmt.Errorf("body: %w", identical(tt.turn.body, sent[0].Data))
			case string(answer) != "ok":
				err = fmt.Errorf("answer %q, want ok", answer)
			}
			settle(t, t.Name(), err)
		})
	}
}

func zipped(text string) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed) // a known level
	_, _ = io.WriteString(w, text)                  // to memory
	_ = w.Close()
	return b.Bytes()
}

// TestPassedAnswers holds that what the upstream answers there reaches the
// client as it came.
func TestPassedAnswers(t *testing.T) {
	sized := func(headers, body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(body), body)
	}
	tests := []struct {
		name   string
		method string // "" GET
		answer string
		status int
		header map[string]string // "" absent
		want   string
	}{
		{name: "sized", answer: sized("Content-Type: text/plain\r\n", "hello"), status: 200, header: map[string]string{"Content-Type": "text/plain", "Content-Length": "5"}, want: "hello"},
		{name: "chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunkOf("hel") + chunkOf("lo") + lastChunk, status: 200, want: "hello"},
		{name: "until it closes", answer: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello", status: 200, header: map[string]string{"Connection": ""}, want: "hello"},
		{name: "binary", answer: sized("Content-Type: audio/mpeg\r\n", everyByte()), status: 200, header: map[string]string{"Content-Type": "audio/mpeg"}, want: everyByte()},
		{name: "gzip stays gzip", answer: sized("Content-Encoding: gzip\r\n", string(zipped("hello"))), status: 200, header: map[string]string{"Content-Encoding": "gzip"}, want: string(zipped("hello"))},
		{name: "no bytes", answer: sized("", ""), status: 200, header: map[string]string{"Content-Length": "0"}},
		{name: "no content type", answer: sized("", "x"), status: 200, header: map[string]string{"Content-Type": ""}, want: "x"},
		{name: "HEAD", method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 1234\r\n\r\n", status: 200, header: map[string]string{"Content-Length": "1234", "Content-Type": "audio/mpeg"}},
		{name: "HEAD of chunks", method: "HEAD", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", status: 200},
		{name: "204", method: "DELETE", answer: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, header: map[string]string{"Content-Type": "", "Content-Length": ""}},
		{name: "304", answer: "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", status: 304, header: map[string]string{"Etag": `"x"`}},
		{name: "206", answer: "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/5\r\nContent-Length: 2\r\n\r\nhe", status: 206, header: map[string]string{"Content-Range": "bytes 0-1/5"}, want: "he"},
		{name: "error", answer: "HTTP/1.1 422 Unprocessable\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{ \"detail\":1}", status: 422, want: `{ "detail":1}`},
		{name: "unknown status", answer: "HTTP/1.1 599 What\r\nContent-Length: 1\r\n\r\nx", status: 599, want: "x"},
		{
			name: "rate limits", answer: "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nx-ratelimit-limit-requests: 100\r\nx-ratelimit-reset-tokens: 6m0s\r\nContent-Length: 0\r\n\r\n", status: 429,
			header: map[string]string{"Retry-After": "7", "X-Ratelimit-Limit-Requests": "100", "X-Ratelimit-Reset-Tokens": "6m0s"},
		},
		{name: "two of a name", answer: sized("Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nLink: </x>\r\nLink: </y>\r\n", ""), status: 200, header: map[string]string{"Set-Cookie": "a=1|b=2", "Link": "</x>|</y>"}},
		{name: "headers of the connection", answer: sized("Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nUpgrade: h2c\r\nProxy-Authenticate: Basic\r\n", "x"), status: 200, header: map[string]string{"X-Hop": "", "Keep-Alive": "", "Upgrade": "", "Proxy-Authenticate": ""}, want: "x"},
		{name: "trailers", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n" + chunkOf("hello") + "0\r\nX-Sum: 1\r\n\r\n", status: 200, header: map[string]string{"X-Sum": "", "Trailer": ""}, want: "hello"},
		{name: "the upstream's id", answer: sized("X-Request-Id: theirs\r\nServer: gunicorn\r\n", "x"), status: 200, header: map[string]string{"X-Request-Id": "theirs", "Server": "gunicorn"}, want: "x"},
		{name: "no server header of ours", answer: sized("", "x"), status: 200, header: map[string]string{"Server": ""}, want: "x"},
		{name: "five megabytes", answer: sized("", strings.Repeat("0123456789", 1<<19)), status: 200, want: strings.Repeat("0123456789", 1<<19)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, _ := rawStack(t, func(llmtest.RawRequest) llmtest.Script {
				script := llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(tt.answer)}}}
				if strings.Contains(tt.answer, "Connection: close") {
					script.End = llmtest.CloseConn
				}
				return script
			}, nil)
			method := tt.method
			if method == "" {
				method = http.MethodGet
			}
			conn, resp := s.request(&turn{method: method, path: "/v1/audio/a"})
			defer conn.Close()
			body, err := io.ReadAll(resp.Body)
			if resp.StatusCode != tt.status || string(body) != tt.want || err != nil {
				settle(t, t.Name(), fmt.Errorf("got %d and %d bytes, %v, want %d and %d bytes", resp.StatusCode, len(body), err, tt.status, len(tt.want)))
				return
			}
			got := make(map[string]string)
			for name := range tt.header {
				got[name] = strings.Join(resp.Header.Values(name), "|")
			}
			if diff := cmp.Diff(tt.header, got); len(tt.header) > 0 && diff != "" {
				err = fmt.Errorf("headers (-want +got):\n%s", diff)
			}
			settle(t, t.Name(), err)
		})
	}
}

// TestPathsThatClimb holds that no path leaves the upstream's base URL,
// however it is spelled, and that such a request is not sent.
func TestPathsThatClimb(t *testing.T) {
	s, raw := rawStack(t, oneAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), nil)
	for _, path := range []string{
		"/v1/../admin", "/v1/files/../../admin", "/v1/%2e%2e/admin", "/v1/%2E./admin", "/v1/..", "/v1/files/..", "/openai/v1/../x",
		"/v1/..%2fadmin", "/v1/files%2f..%2F..%2fadmin", `/v1/..\admin`, "/v1/..%5cadmin",
	} {
		t.Run(path, func(t *testing.T) {
			before := len(raw.Requests())
			conn, resp := s.request(&turn{method: http.MethodGet, path: path})
			defer conn.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if sent := raw.Requests()[before:]; len(sent) > 0 {
				err = fmt.Errorf("it was sent: %.60q", sent[0].Head)
			} else if resp.StatusCode != 400 && resp.StatusCode != 404 || !gjson.GetBytes(body, "error.message").Exists() {
				err = fmt.Errorf("got %d %s, want a 400 in OpenAI's shape", resp.StatusCode, body)
			}
			settle(t, t.Name(), err)
		})
	}
}

// TestLargeBodies sends what does not fit into a file of the corpus.
func TestLargeBodies(t *testing.T) {
	noise := make([]byte, 80<<10)
	for i := range noise {
		noise[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[rand.IntN(64)]
	}
	withImage := func(kilobytes int) string {
		return `{"model":"auto","messages":[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,` + strings.Repeat(string(noise), kilobytes/80) + `"}}]}]}`
	}
	large, image := withImage(10<<10), withImage(1<<10)
	tests := []struct {
		name    string
		headers []string
		body    []byte
		limit   int
		status  int
		want    string // the outbound body, but for its model
	}{
		{name: "10 MB image", body: []byte(large), limit: 32 << 20, status: 200, want: large},
		{name: "10 MB image, chunked", headers: []string{"Transfer-Encoding: chunked"}, body: []byte(large), limit: 32 << 20, status: 200, want: large},
		{name: "10 MB image, gzip", headers: []string{"Content-Encoding: gzip"}, body: zipped(large), limit: 32 << 20, status: 200, want: large},
		{name: "exactly the limit", body: []byte(image), limit: len(image), status: 200, want: image},
		{name: "one byte over the limit", body: []byte(image), limit: len(image) - 1, status: 413},
		{name: "far over the limit", body: []byte(image), limit: 1000, status: 413},
		{name: "far over the limit, chunked", headers: []string{"Transfer-Encoding: chunked"}, body: []byte(image), limit: 1000, status: 413},
		{name: "over the limit once unzipped", headers: []string{"Content-Encoding: gzip"}, body: zipped(image), limit: len(image) - 1, status: 413},
	}
	answer := `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"A cat."}}]}`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, raw := rawStack(t, oneAnswer(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(answer), answer)),
				func(c *proxy.Config) { c.Limits.BodyBytes = tt.limit })
			status, body := s.upload(post(string(tt.body), tt.headers...))
			if status != tt.status {
				t.Fatalf("got %d %.200s, want %d", status, body, tt.status)
			}
			sent := raw.Requests()
			if tt.status == 413 {
				if len(sent) != 0 || gjson.Get(body, "error.code").String() != "body_too_large" {
					t.Errorf("got %s, and %d requests went upstream; want body_too_large and none", body, len(sent))
				}
				return
			}
			if body != answer || len(sent) != 1 {
				t.Fatalf("got %.200s and %d requests upstream, want the answer to one", body, len(sent))
			}
			if err := unchangedExcept([]byte(tt.want), sent[0].Data, []string{"model"}); err != nil {
				t.Error(err)
			}
		})
	}
}

// upload sends a request as a client does that reads while it writes: an
// answer that comes early ends it.
func (s *stack) upload(request *turn) (status int, body string) {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = conn.Write(request.bytes()) // cut short by an early answer
	}()
	defer func() { <-written }()
	defer conn.Close()
	resp, err := http.ReadResponse(newReader(conn), &http.Request{Method: request.method})
	if err != nil {
		s.t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(got)
}

// TestExpectContinue holds that a client that waits for leave to send gets it,
// and that the upstream never sees the wish.
func TestExpectContinue(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			s, raw := rawStack(t, oneAnswer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), nil)
			body := ask("small", "hi")
			conn := s.dial()
			defer conn.Close()
			br := newReader(conn)
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", path, len(body))
			if line, err := br.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
				t.Fatalf("got %q, %v; want a 100", line, err)
			}
			if _, err := br.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(conn, body); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(br, nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("got %v, %v; want a 200", resp, err)
			}
			sent := raw.Requests()
			if _, expects := sent[0].Header("Expect"); expects || string(sent[0].Data) != body {
				t.Errorf("the upstream got %q and %s", sent[0].Head, sent[0].Data)
			}
		})
	}
}

// TestEarlyAnswer has the upstream refuse a large body before it has read it:
// the client gets that answer, not an error of ours.
func TestEarlyAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096)) // the head, and little else
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 19\r\n\r\n{\"error\":\"too big\"}")
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		ln.Close()
		<-done
	})
	s := newStack(t, func(c *proxy.Config) {
		setUpstream(c, func(u *proxy.UpstreamConfig) { u.BaseURL = "http://" + ln.Addr().String() + "/v1" })
		c.Limits.BodyBytes = 32 << 20
	})
	large := ask("ghost", strings.Repeat("x", 8<<20))
	for _, path := range []string{"/v1/chat/completions", "/v1/files"} {
		t.Run(path, func(t *testing.T) {
			request := post(large)
			request.path = path
			var err error
			if status, body := s.upload(request); status != 413 || body != `{"error":"too big"}` {
				err = fmt.Errorf("got %d %s, want the upstream's 413", status, body)
			}
			settle(t, t.Name(), err)
		})
	}
}

// TestLongUpload holds that the limit for the first byte of the answer is not
// one for the upload before it.
func TestLongUpload(t *testing.T) {
	s, raw := rawStack(t, oneAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), func(c *proxy.Config) {
		setUpstream(c, func(u *proxy.UpstreamConfig) { u.FirstByte = time.Second })
	})
	const pieces, piece = 5, 50_000
	conn := s.dial()
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "POST /v1/files HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n", pieces*piece); err != nil {
		t.Fatal(err)
	}
	for range pieces {
		<-time.After(300 * time.Millisecond)
		if _, err := conn.Write(make([]byte, piece)); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := http.ReadResponse(newReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(resp.Body); err != nil || string(answer) != "ok" {
		t.Errorf("got %d %s, %v; want ok", resp.StatusCode, answer, err)
	}
	if got := raw.Requests(); len(got) != 1 || len(got[0].Data) != pieces*piece {
		t.Errorf("%d requests went upstream, want one with all bytes", len(got))
	}
}

// TestOldClient holds that what a client of HTTP/1.0 asks is asked in our own
// version, which keeps connections and streams in chunks.
func TestOldClient(t *testing.T) {
	s, raw := rawStack(t, oneAnswer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), nil)
	for i, path := range []string{"/v1/chat/completions", "/v1/embeddings"} {
		conn := s.dial()
		defer conn.Close()
		body := ask("ghost", "hi")
		if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.0\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body); err != nil {
			t.Fatal(err)
		}
		if answer, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(answer), "\r\n\r\n{}") {
			t.Errorf("got %q, %v; want {} and the end", answer, err)
		}
		line, _, _ := strings.Cut(string(raw.Requests()[i].Head), "\r\n")
		if want := "POST " + path + " HTTP/1.1"; line != want || raw.Conns() != 1 {
			t.Errorf("the upstream got %q on connection %d, want %q on the first", line, raw.Conns(), want)
		}
	}
}
