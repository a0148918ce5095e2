package proxy_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/llmtest"
)

// FuzzRequestBytes writes any bytes to the real server's socket, and a good
// request after them on a connection of its own. Nothing may panic or be
// answered with what is no HTTP, and the server goes on.
func FuzzRequestBytes(f *testing.F) {
	body := ask("auto", "hi")
	for _, request := range []string{
		string(post(body).bytes()),
		string(post(body, "X-Tier: heavy", "X-Session-Id: \xff\x00", "Authorization: Bearer \t").bytes()),
		string(post(body, "Transfer-Encoding: chunked", "Content-Encoding: gzip").bytes()),
		"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
		"POST /v1/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
		"GET /v1/%2e%2e/x HTTP/1.1\r\nHost: localhost\r\nConnection: X-A, close\r\nX-A: b\r\n\r\n",
		"GET http://other/v1/models HTTP/1.0\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\r\n\r\n", "\x16\x03\x01\x02\x00",
		"GET /api/requests/%00 HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: null\r\n\r\n",
		"GET /" + strings.Repeat("a", 70<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		f.Add([]byte(request))
	}
	s, _ := rawStack(f, oneAnswer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), nil)
	f.Fuzz(func(t *testing.T, request []byte) {
		s := s.in(t)
		conn := s.dial()
		defer conn.Close()
		_, _ = conn.Write(request)                                                      // the server may have enough before the end
		if err := conn.SetDeadline(time.Now().Add(30 * time.Millisecond)); err != nil { // it may wait for more
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(conn)
		if len(answer) > 0 && !bytes.HasPrefix(answer, []byte("HTTP/1.1 ")) {
			t.Errorf("%q is answered with %q", request, answer)
		}
		if log := s.log.String(); strings.Contains(log, "panic") {
			t.Fatalf("%q: %s", request, log)
		}
		if a := s.send(http.MethodGet, "/healthz", ""); a.status != 200 {
			t.Fatalf("after %q the server answers %d %s", request, a.status, a.body)
		}
	})
}

// FuzzRelay streams any bytes through the server in chunks of any size. The
// client gets them as they are, less the frames that only we asked for, however
// they were cut.
func FuzzRelay(f *testing.F) {
	usage := "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}\n\n"
	for _, stream := range []string{
		sseWord + sseFinish, sseWord + usage + "data: [DONE]\n\n", strings.ReplaceAll(sseWord+usage, "\n", "\r\n"), strings.ReplaceAll(sseWord+usage+usage, "\n", "\r"),
		": ping\n\nevent: x\ndata: {\ndata: \"choices\":[],\"usage\":{}}\n\n" + usage, usage[:40], "\n\n\r\r\n" + usage + "data: {\"error\":{}}", "",
	} {
		f.Add([]byte(stream), []byte{1, 2, 40}, true)
		f.Add([]byte(stream), []byte{}, false)
	}
	var script atomic.Pointer[llmtest.Script]
	s, _ := rawStack(f, func(llmtest.RawRequest) llmtest.Script { return *script.Load() }, nil)
	f.Fuzz(func(t *testing.T, stream, sizes []byte, hide bool) {
		s := s.in(t)
		var pieces []llmtest.Piece
		head, rest := sseHead, stream
		for _, size := range append(sizes, 255) {
			n := min(int(size), len(rest))
			if size == 255 {
				n = len(rest)
			}
			if n > 0 {
				pieces = append(pieces, llmtest.Piece{Bytes: []byte(head + chunkOf(string(rest[:n])))})
				head, rest = "", rest[n:]
			}
		}
		script.Store(&llmtest.Script{Pieces: append(pieces, llmtest.Piece{Bytes: []byte(head + lastChunk)})})
		body := `{"model":"small","stream":true,"messages":[{"role":"user","content":"hi"}]}`
		if !hide {
			body = strings.Replace(body, "{", `{"stream_options":{"include_usage":true},`, 1)
		}
		if a := s.post(body); a.body != visible(stream, hide) {
			t.Errorf("%q in chunks of %v, hide %v: the client got %q, want %q", stream, sizes, hide, a.body, visible(stream, hide))
		}
	})
}

// visible is what a client is to see of a stream.
func visible(stream []byte, hide bool) string {
	if !hide {
		return string(stream)
	}
	var frames chat.Frames
	var answer chat.Answer
	var seen []byte
	frames.Write(stream)
	for frame := frames.Next(); frame != nil; frame = frames.Next() {
		if !answer.Frame(frame) {
			seen = append(seen, frame...)
		}
	}
	if rest := frames.Rest(); !answer.Frame(rest) {
		seen = append(seen, rest...)
	}
	return string(seen)
}

// FuzzBody sends any body through the whole pipeline. What is a JSON object
// goes upstream as one, with all fields that we know nothing of as they were;
// on bypass it is the same to the byte.
func FuzzBody(f *testing.F) {
	for _, tt := range oddBodies {
		f.Add([]byte(tt.body))
	}
	for _, body := range []string{
		ask("auto", hard), `{"model":"auto:eco","messages":[{"role":"system","content":[]},{"role":"user","content":[{"type":"text","text":"\ud800"}]}],"stream":true}`,
		`{"model":"large","max_tokens":1e9,"temperature":{},"tools":7,"messages":[{"role":"user","content":"We decided to use Go."}],"user":[]}`, `{"model":`, `[]`, "\xef\xbb\xbf{}",
	} {
		f.Add([]byte(body))
	}
	s, raw := rawStack(f, oneAnswer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"), nil)
	ours := map[string]bool{"model": true, "messages": true, "stream_options": true, "max_tokens": true, "max_completion_tokens": true, "temperature": true, "top_p": true}
	f.Fuzz(func(t *testing.T, body []byte) {
		s := s.in(t)
		before := len(raw.Requests())
		a := s.post(string(body))
		sent := raw.Requests()[before:]
		if a.status >= 500 || a.status == 200 && len(sent) != 1 {
			t.Fatalf("%q: got %d %s, and %d requests went upstream", body, a.status, a.body, len(sent))
		}
		if a.status != 200 {
			return
		}
		var in, out map[string]json.RawMessage
		if json.Unmarshal(body, &in) == nil {
			if err := json.Unmarshal(sent[0].Data, &out); err != nil {
				t.Fatalf("%q became %q: %v", body, sent[0].Data, err)
			}
		}
		for name, value := range in {
			if !ours[name] && !bytes.Equal(value, out[name]) {
				t.Errorf("%q: field %q became %q", body, name, out[name])
			}
		}
		s.post(string(body), "X-Bypass: true")
		if all := raw.Requests(); !bytes.Equal(all[len(all)-1].Data, body) {
			t.Errorf("on bypass %q became %q", body, all[len(all)-1].Data)
		}
	})
}
