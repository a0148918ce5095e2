package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/proxy"
)

const goodAnswer = `{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"Fine."}}]}`

func sizedAnswer(status int, headers, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", status, headers, len(body), body)
}

func sayOnce(s string, end llmtest.End) llmtest.Script {
	return llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(s)}}, End: end}
}

// dribble sends an answer a byte at a time.
func dribble(s string) (script llmtest.Script) {
	for i := range len(s) {
		script.Pieces = append(script.Pieces, llmtest.Piece{Bytes: []byte(s[i : i+1])})
	}
	return script
}

// faults are what an upstream may do, and what has to become of it. A result
// is the status, the code of an error of ours, "cut" for an answer that broke
// off, and the outcome that is accounted or, for what is passed through,
// counted.
var faults = []struct {
	name   string
	script llmtest.Script
	whole  string // of a chat completion that is not streamed, also on bypass
	stream string // of one that is
	passed string // of a request to another path
	falls  bool   // another model is asked where routing chose the first
}{
	{"reset before the head", llmtest.Script{End: llmtest.ResetConn}, "502 upstream_broken unreachable", "502 upstream_broken unreachable", "502 upstream_broken unreachable", true},
	{"closed before the head", llmtest.Script{End: llmtest.CloseConn}, "502 upstream_broken unreachable", "502 upstream_broken unreachable", "502 upstream_broken unreachable", true},
	{"reset in the head", sayOnce("HTTP/1.1 200 OK\r\nContent-", llmtest.ResetConn), "502 upstream_broken unreachable", "502 upstream_broken unreachable", "502 upstream_broken unreachable", true},
	{"closed in the body", sayOnce(sizedAnswer(200, "", goodAnswer)[:150], llmtest.CloseConn), "502 upstream_broken unreachable", "502 upstream_broken unreachable", "200 cut stream_incomplete", false},
	{"reset in a stream", sayOnce(sseHead+chunkOf(sseWord), llmtest.ResetConn), "200 cut stream_incomplete", "200 cut stream_incomplete", "200 cut stream_incomplete", false},
	{"stream without an end", sayOnce(sseHead+chunkOf(sseWord)+lastChunk, llmtest.KeepOpen), "200 stream_incomplete", "200 stream_incomplete", "200 ok", false},
	{"429", sayOnce(sizedAnswer(429, "", `{"error":{"code":"slow"}}`), llmtest.KeepOpen), "429 slow upstream_error", "429 slow upstream_error", "429 slow upstream_error", true},
	{"429 with Retry-After", sayOnce(sizedAnswer(429, "Retry-After: 7\r\n", `{"error":{"code":"slow"}}`), llmtest.KeepOpen), "429 slow upstream_error", "429 slow upstream_error", "429 slow upstream_error", true},
	{"500", sayOnce(sizedAnswer(500, "", `{"error":{"code":"x"}}`), llmtest.KeepOpen), "500 x upstream_error", "500 x upstream_error", "500 x upstream_error", true},
	{"503", sayOnce(sizedAnswer(503, "", `{"error":{"code":"x"}}`), llmtest.KeepOpen), "503 x upstream_error", "503 x upstream_error", "503 x upstream_error", true},
	{"529", sayOnce(sizedAnswer(529, "", `{"error":{"code":"x"}}`), llmtest.KeepOpen), "529 x upstream_error", "529 x upstream_error", "529 x upstream_error", true},
	{"400", sayOnce(sizedAnswer(400, "", `{"error":{"code":"x"}}`), llmtest.KeepOpen), "400 x upstream_error", "400 x upstream_error", "400 x upstream_error", false},
	{"an error in a 200", sayOnce(sizedAnswer(200, "", `{"error":{"code":"x"}}`), llmtest.KeepOpen), "200 x upstream_error", "200 x upstream_error", "200 x ok", false},
	{"an error in a stream", sayOnce(sseHead+chunkOf(sseWord+"data: {\"error\":{\"code\":\"x\"}}\n\n")+lastChunk, llmtest.KeepOpen), "200 stream_incomplete", "200 stream_incomplete", "200 ok", false},
	{"garbage for JSON", sayOnce(sizedAnswer(200, "", "<html>"), llmtest.KeepOpen), "200 upstream_error", "200 upstream_error", "200 ok", false},
	{"garbage for HTTP", sayOnce("SSH-2.0-OpenSSH_9.2\r\n\r\n", llmtest.KeepOpen), "502 upstream_broken unreachable", "502 upstream_broken unreachable", "502 upstream_broken unreachable", true},
	{"no answer", llmtest.Script{End: llmtest.Hang}, "504 upstream_timeout timeout", "504 upstream_timeout timeout", "504 upstream_timeout timeout", true},
	{"silence in the head", sayOnce("HTTP/1.1 200 OK\r\nX-", llmtest.Hang), "504 upstream_timeout timeout", "504 upstream_timeout timeout", "504 upstream_timeout timeout", true},
	{"silence in the body", sayOnce(sizedAnswer(200, "", goodAnswer)[:150], llmtest.Hang), "504 upstream_stalled timeout", "504 upstream_stalled timeout", "200 cut stream_incomplete", false},
	{"silence in a stream", sayOnce(sseHead+chunkOf(sseWord), llmtest.Hang), "200 cut timeout", "200 cut timeout", "200 cut stream_incomplete", false},
	{"a byte at a time", dribble(sizedAnswer(200, "", goodAnswer)), "200 ok", "200 ok", "200 ok", false},
	{"a stream's byte at a time", dribble(sseHead + chunkOf(sseWord+sseFinish) + lastChunk), "200 ok", "200 ok", "200 ok", false},
	{"6 KB of headers", sayOnce(sizedAnswer(200, "X-Long: "+strings.Repeat("x", 6<<10)+"\r\n", goodAnswer), llmtest.KeepOpen), "200 ok", "200 ok", "200 ok", false},
	{"too many headers", sayOnce(sizedAnswer(200, strings.Repeat("X-Long: "+strings.Repeat("x", 1<<10)+"\r\n", 80), goodAnswer), llmtest.CloseConn), "502 upstream_broken unreachable", "502 upstream_broken unreachable", "502 upstream_broken unreachable", true},
}

// TestFaultMatrix has each kind of request meet each fault, where nobody else
// can be asked and where somebody can.
func TestFaultMatrix(t *testing.T) {
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, raw := rawStack(t, func(r llmtest.RawRequest) llmtest.Script {
				if gjson.GetBytes(r.Data, "model").String() == mid {
					return sayOnce(sizedAnswer(200, "", goodAnswer), llmtest.KeepOpen)
				}
				return tt.script
			}, func(c *proxy.Config) {
				setUpstream(c, func(u *proxy.UpstreamConfig) { u.FirstByte, u.Idle = 500*time.Millisecond, 500*time.Millisecond })
			})
			streamed := strings.Replace(ask("ghost", "hi"), "{", `{"stream":true,`, 1)
			kinds := []struct {
				name, path, body string
				headers          []string
				want             string
			}{
				{"whole", "/v1/chat/completions", ask("ghost", "hi"), nil, tt.whole},
				{"stream", "/v1/chat/completions", streamed, nil, tt.stream},
				{"whole on bypass", "/v1/chat/completions", ask("ghost", "hi"), []string{"X-Bypass: true"}, strings.Replace(tt.whole, " ok", " bypass", 1)},
				{"passed", "/v1/embeddings", ask("ghost", "hi"), nil, tt.passed},
			}
			for _, kind := range kinds {
				if got := s.meet(kind.path, kind.body, kind.headers...); got != kind.want {
					t.Errorf("%s: got %q, want %q", kind.name, got, kind.want)
				}
			}
			before := len(raw.Requests())
			got := s.meet("/v1/chat/completions", ask("auto", "hi"))
			asked := len(raw.Requests()) - before
			if want := 2; tt.falls && (asked != want || got != "200 ok") {
				t.Errorf("with another model to ask: %d asked, got %q; want %d and an answer", asked, got, want)
			}
			if !tt.falls && (asked != 1 || got != tt.whole) {
				t.Errorf("with another model to ask: %d asked, got %q; want 1 and %q", asked, got, tt.whole)
			}
			s.awaitQuiet(1 << 10) // none is in flight
		})
	}
}

// meet sends a request and says what became of it.
func (s *stack) meet(path, body string, headers ...string) string {
	s.t.Helper()
	counted := s.outcomes()
	conn, resp := s.request(&turn{method: http.MethodPost, path: path, headers: headers, body: []byte(body)})
	defer conn.Close()
	answer, err := io.ReadAll(resp.Body)
	words := []string{fmt.Sprint(resp.StatusCode)}
	if code := gjson.GetBytes(answer, "error.code").String(); code != "" && gjson.ValidBytes(answer) {
		words = append(words, code)
	}
	if err != nil {
		words = append(words, "cut")
	}
	for range 1000 {
		for outcome, n := range s.outcomes() {
			if n != counted[outcome] {
				return strings.Join(append(words, outcome), " ")
			}
		}
		<-time.After(5 * time.Millisecond) // it is counted after the answer
	}
	return strings.Join(append(words, "and is not counted"), " ")
}

func (s *stack) outcomes() map[string]float64 {
	counted := make(map[string]float64)
	for labels, value := range s.eachSeries("understudy_requests_total") {
		counted[labels["outcome"]] += value
	}
	return counted
}
