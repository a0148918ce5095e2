//go:build unix

package cmd

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
)

// TestSignals asks the real binary to end in the middle of a stream. Once: it
// accepts nothing more, lets the stream end, and has written what was queued.
// Twice: it ends at once.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals int
	}{{"one", 1}, {"two", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			goOn := make(chan struct{})
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-goOn:
				case <-r.Context().Done():
				}
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"delta\":{\"content\":\" and half\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			}))
			defer upstream.Close()
			data := filepath.Join(t.TempDir(), "data")
			c := startChild(t, []string{"UNDERSTUDY_UPSTREAMS_DEFAULT_BASE_URL=" + upstream.URL + "/v1"},
				"understudy", "serve", "-listen", "127.0.0.1:0", "-data-dir", data)
			c.dies = tt.signals == 2
			resp, err := http.Post(c.base+"/v1/chat/completions", "application/json",
				strings.NewReader(`{"model":"m","stream":true,"user":"ana","messages":[{"role":"user","content":"We decided to use PostgreSQL."}]}`))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer := bufio.NewReader(resp.Body)
			if _, err := answer.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			c.signal(t)
			if !eventually(func() bool { return strings.Contains(c.log.String(), "msg=stopping") }) {
				t.Fatal("it does not stop")
			}
			if tt.signals == 2 {
				c.signal(t)
				exit, ok := errors.AsType[*exec.ExitError](c.wait()) // the stream still hangs
				if !ok || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
					t.Errorf("it ended with %v, want by the signal", exit)
				}
				return
			}
			if !eventually(func() bool {
				conn, err := net.Dial("tcp", strings.TrimPrefix(c.base, "http://"))
				return err != nil || conn.Close() != nil
			}) {
				t.Error("it still accepts connections")
			}
			close(goOn)
			if rest, err := io.ReadAll(answer); err != nil || !strings.HasSuffix(string(rest), "[DONE]\n\n") {
				t.Errorf("the rest of the stream is %q, %v", rest, err)
			}
			if err := c.wait(); err != nil {
				t.Errorf("it ended with %v", err)
			}
			checkWritten(t, data, resp.Header.Get("X-Request-Id"))
		})
	}
}

func (c *child) signal(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// checkWritten looks at the stores of a server that has ended.
func checkWritten(t *testing.T, data, id string) {
	t.Helper()
	if e := entryOf(t, data, id); e.Outcome != ledger.OutcomeOK {
		t.Errorf("outcome %q, want ok", e.Outcome)
	}
	m, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(data, "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if n, err := m.Count(t.Context()); n != 1 || err != nil {
		t.Errorf("%d memories, %v; want what was said", n, err)
	}
}
