package bench

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ask = "Content-Length: 2\r\n\r\n{}"

// scripted answers each request with the next of the answers.
func scripted(t *testing.T, answers ...llmtest.Script) *client {
	t.Helper()
	raw, err := llmtest.StartRaw(func(r llmtest.RawRequest) llmtest.Script { return answers[r.Number-1] })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close() })
	target, err := newTarget(Peer{Name: "raw", URL: raw.URL()}, "")
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(target)
	t.Cleanup(c.close)
	return c
}

func TestClient(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name, answer string
		kept         bool
		want         string // part of the error, "" none
	}{
		{name: "sized", answer: ok + "content-length: 5\r\n\r\nhello", kept: true},
		{name: "chunked", answer: ok + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", kept: true},
		{name: "last of its connection", answer: ok + "Connection: close\r\nContent-Length: 1\r\n\r\nx"},
		{name: "refused", answer: "HTTP/1.1 429 Slow\r\nContent-Length: 4\r\n\r\nwait", want: "HTTP 429: wait"},
		{name: "empty", answer: ok + "Content-Length: 0\r\n\r\n", want: "empty body"},
		{name: "unframed", answer: ok + "\r\nhello", want: "neither"},
		{name: "cut off", answer: ok + "Content-Length: 9\r\n\r\nhello", want: "EOF"},
		{name: "cut off in a chunk", answer: ok + "Transfer-Encoding: chunked\r\n\r\n9\r\nabc", want: "EOF"},
		{name: "no chunk", answer: ok + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", want: "chunk size"},
		{name: "no status", answer: "HTTP/1.1 two OK\r\n\r\n", want: "malformed"},
		{name: "no HTTP", answer: "hello\r\n\r\n", want: "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			end := llmtest.CloseConn
			if tt.kept {
				end = llmtest.KeepOpen
			}
			script := llmtest.Script{Pieces: []llmtest.Piece{{Bytes: []byte(tt.answer)}}, End: end}
			c := scripted(t, script, script)
			for range 2 { // also on the same connection, or on a new one
				took, err := c.do([]byte(ask))
				if tt.want != "" {
					if err == nil || !strings.Contains(err.Error(), tt.want) || !took.failed() {
						t.Fatalf("do = %v, %v, want %q", took, err, tt.want)
					}
					continue
				}
				if err != nil || took.failed() || took.first > took.total {
					t.Fatalf("do = %v, %v", took, err)
				}
				if open := c.conn != nil; open != tt.kept {
					t.Errorf("connection kept = %v, want %v", open, tt.kept)
				}
			}
		})
	}
}

func TestClientAgainstCanned(t *testing.T) {
	up, err := llmtest.StartCanned("", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	target, err := newTarget(Peer{Name: "canned", URL: up.URL() + "/"}, "X-Extra: 1\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "POST /v1/chat/completions HTTP/1.1\r\nHost: " + target.addr + "\r\nX-Extra: 1\r\n"; target.head != want {
		t.Errorf("head = %q, want %q", target.head, want)
	}
	c := newClient(target)
	defer c.close()
	for _, stream := range []bool{false, true} {
		b := writer{w: cell{name: "t", size: 30_000, stream: stream}.workload("m")}
		for range 5 {
			if took, err := c.do(b.next()); err != nil || took.failed() {
				t.Fatalf("stream %v: %v, %v", stream, took, err)
			}
		}
		if err := c.abandon(b.next()); err != nil || c.conn != nil {
			t.Fatalf("abandon = %v, connection kept = %v", err, c.conn != nil)
		}
	}
}

func TestParsePeer(t *testing.T) {
	tests := []struct {
		name, in string
		want     Peer
		bad      bool
	}{
		{name: "with a process", in: "nginx=http://127.0.0.1:9000/v1,42", want: Peer{"nginx", "http://127.0.0.1:9000/v1", 42}},
		{name: "without", in: "a=http://h:1/v1", want: Peer{"a", "http://h:1/v1", 0}},
		{name: "no name", in: "=http://h:1/v1", bad: true},
		{name: "no URL", in: "nginx", bad: true},
		{name: "TLS", in: "a=https://h/v1", bad: true},
		{name: "no process", in: "a=http://h/v1,x", bad: true},
		{name: "negative process", in: "a=http://h/v1,-1", bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParsePeer(tt.in)
			if (err != nil) != tt.bad || !tt.bad && got != tt.want {
				t.Errorf("ParsePeer(%q) = %+v, %v, want %+v", tt.in, got, err, tt.want)
			}
		})
	}
}
