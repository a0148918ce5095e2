package cmd

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// child is a server in a process of its own: the real binary.
type child struct {
	cmd  *exec.Cmd
	log  childLog
	base string // URL without a path
	wait func() error
	dies bool // it may end badly
}

// childLog is what a running server has logged.
type childLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *childLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *childLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// startChild starts a command that serves at a free port, and waits until it
// does. When the test ends it has to end well.
func startChild(t *testing.T, env []string, command ...string) *child {
	t.Helper()
	c := &child{cmd: exec.Command(command[0], command[1:]...)}
	c.cmd.Env = append(os.Environ(), append(env, "UNDERSTUDY_LIMITS_SMART_BUDGET=20s")...)
	c.cmd.Stderr = &c.log
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.wait = sync.OnceValue(c.cmd.Wait)
	t.Cleanup(func() {
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		if err := c.wait(); err != nil && !c.dies {
			t.Errorf("the server ended with %v:\n%s", err, c.log.String())
		}
	})
	if !eventually(func() bool {
		at := servingAt.FindStringSubmatch(c.log.String())
		if at != nil {
			c.base = "http://" + at[1]
		}
		return at != nil
	}) {
		t.Fatalf("it does not serve:\n%s", c.log.String())
	}
	return c
}

func (c *child) get(path string) (status int, body string) {
	resp, err := http.Get(c.base + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}
