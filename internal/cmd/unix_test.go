//go:build unix

package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/understudy-ai/understudy/internal/config"
)

// TestUnixSocket serves on a Unix socket in whose place a dead process left
// one: for this user alone, and not for two.
func TestUnixSocket(t *testing.T) {
	noLeaks(t)
	dir, err := os.MkdirTemp("", "u") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	dead, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()

	a, _ := start(t, func(c *config.Config) { c.Listen = "unix:" + path })
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	client := http.Client{Transport: &http.Transport{DialContext: dial}}
	resp, err := client.Post("http://localhost/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"stage-large","messages":[{"role":"user","content":"Hi there!"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte("simulated answer")) {
		t.Errorf("got %d %s, %v; want an answer", resp.StatusCode, answer, err)
	}
	client.CloseIdleConnections()

	var out, talk bytes.Buffer
	if code := Main([]string{"healthcheck", "-listen", "unix:" + path}, IO{Out: &out, Err: &talk}); code != 0 || out.String() != "ok\n" {
		t.Errorf("healthcheck exits with %d and says %q, %q; want ok", code, out.String(), talk.String())
	}

	second := demoConfig(t.TempDir(), "http://127.0.0.1:1/v1")
	second.Listen = a.cfg.Listen
	if b, err := startApp(t.Context(), second, IO{}, slog.New(slog.DiscardHandler)); !errors.Is(err, syscall.EADDRINUSE) {
		if err == nil {
			closeApp(t, b)
		}
		t.Errorf("a second instance at the same socket: %v, want that it is in use", err)
	}
	closeApp(t, a)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket stays behind: %v", err)
	}
}

// TestUnixSocketTakesNoFile leaves what is no socket alone.
func TestUnixSocketTakesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if ln, err := listenUnix(path); err == nil {
		ln.Close()
		t.Error("listens in the place of a file")
	}
	if text, err := os.ReadFile(path); string(text) != "mine" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}
