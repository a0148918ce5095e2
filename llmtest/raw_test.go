package llmtest_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/llmtest"
)

func startRaw(t *testing.T, answer func(llmtest.RawRequest) llmtest.Script) *llmtest.Raw {
	t.Helper()
	raw, err := llmtest.StartRaw(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := raw.Close(); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, goleak.IgnoreCurrent())
	})
	return raw
}

func dial(t *testing.T, raw *llmtest.Raw) *net.TCPConn {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(raw.URL(), "http://"), "/v1")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

func send(t *testing.T, conn net.Conn, bytes string) {
	t.Helper()
	if _, err := io.WriteString(conn, bytes); err != nil {
		t.Fatal(err)
	}
}

func say(end llmtest.End, pieces ...string) llmtest.Script {
	s := llmtest.Script{End: end}
	for _, p := range pieces {
		s.Pieces = append(s.Pieces, llmtest.Piece{Bytes: []byte(p)})
	}
	return s
}

func TestRawKeepsTheBytes(t *testing.T) {
	tests := []struct {
		name string
		sent string
		want llmtest.RawRequest
	}{
		{
			name: "no body", sent: "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n",
			want: llmtest.RawRequest{Head: []byte("GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")},
		},
		{
			name: "sized", sent: "POST / HTTP/1.1\r\nContent-length:  5\r\n\r\n\x00\r\n\r\n",
			want: llmtest.RawRequest{Head: []byte("POST / HTTP/1.1\r\nContent-length:  5\r\n\r\n"), Body: []byte("\x00\r\n\r\n"), Data: []byte("\x00\r\n\r\n")},
		},
		{
			name: "chunked", sent: "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n",
			want: llmtest.RawRequest{
				Head: []byte("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"),
				Body: []byte("3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-T: 1\r\n\r\n"), Data: []byte("abc0123456789"),
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			raw := startRaw(t, func(llmtest.RawRequest) llmtest.Script {
				return say(llmtest.CloseConn, "HTTP/1.1 20", "4 No Content\r\n\r\n")
			})
			conn := dial(t, raw)
			send(t, conn, tt.sent)
			answer, err := io.ReadAll(conn)
			if string(answer) != "HTTP/1.1 204 No Content\r\n\r\n" || err != nil {
				t.Errorf("answer = %q, %v; want the script's bytes and an orderly end", answer, err)
			}
			tt.want.Number, tt.want.Conn = 1, 1
			if diff := cmp.Diff([]llmtest.RawRequest{tt.want}, raw.Requests()); diff != "" {
				t.Errorf("Requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRawKeepsAConnection(t *testing.T) {
	raw := startRaw(t, func(r llmtest.RawRequest) llmtest.Script {
		if r.Number == 1 {
			return say(llmtest.KeepOpen, "one")
		}
		return say(llmtest.CloseConn, "two")
	})
	conn := dial(t, raw)
	send(t, conn, "GET / HTTP/1.1\r\n\r\n")
	if _, err := io.ReadFull(conn, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	send(t, conn, "GET / HTTP/1.1\r\n\r\n")
	rest, err := io.ReadAll(conn)
	if string(rest) != "two" || err != nil {
		t.Errorf("second answer = %q, %v; want two", rest, err)
	}
	if got := raw.Conns(); got != 1 {
		t.Errorf("Conns() = %d, want 1", got)
	}
}

func TestRawResets(t *testing.T) {
	raw := startRaw(t, func(llmtest.RawRequest) llmtest.Script { return say(llmtest.ResetConn) })
	conn := dial(t, raw)
	send(t, conn, "GET / HTTP/1.1\r\n\r\n")
	if _, err := io.ReadAll(conn); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("reading gave %v, want a reset", err)
	}
}

// TestRawNotesDepartures has the client leave while it waits, while a piece
// is held back, and after a complete answer, which is no departure.
func TestRawNotesDepartures(t *testing.T) {
	never := make(chan struct{})
	tests := []struct {
		name   string
		script llmtest.Script
		want   bool
	}{
		{name: "while nothing comes", script: llmtest.Script{End: llmtest.Hang}, want: true},
		{name: "before a signal", script: llmtest.Script{Pieces: []llmtest.Piece{{When: never}}}, want: true},
		{name: "before a time", script: llmtest.Script{Pieces: []llmtest.Piece{{After: time.Hour}}}, want: true},
		{name: "after the answer", script: say(llmtest.KeepOpen, "x")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			raw := startRaw(t, func(llmtest.RawRequest) llmtest.Script {
				asked <- struct{}{}
				return tt.script
			})
			conn := dial(t, raw)
			send(t, conn, "GET / HTTP/1.1\r\n\r\n")
			<-asked
			if !tt.want {
				if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			conn.Close()
			if !tt.want {
				if err := raw.Close(); err != nil || len(raw.Gone()) != 0 {
					t.Errorf("Close() = %v, and %d departures; want none of a client that had its answer", err, len(raw.Gone()))
				}
				return
			}
			select {
			case <-raw.Gone():
			case <-time.After(10 * time.Second):
				t.Error("Gone() did not tell that the client left")
			}
		})
	}
}

func TestRawCloseEndsScripts(t *testing.T) {
	asked := make(chan struct{}, 1)
	raw := startRaw(t, func(llmtest.RawRequest) llmtest.Script {
		asked <- struct{}{}
		return llmtest.Script{End: llmtest.Hang}
	})
	conn := dial(t, raw)
	send(t, conn, "GET / HTTP/1.1\r\n\r\n")
	<-asked
	if err := raw.Close(); err != nil { // waits for its goroutines
		t.Fatal(err)
	}
	if len(raw.Gone()) != 0 {
		t.Error("Gone() told of a client that Close sent away")
	}
}
