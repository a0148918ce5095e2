//go:build soak

package soak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/ledger"
)

const conns = 64

// answered is a request that a client has its answer to.
type answered struct {
	id string
	at time.Time
}

// binary builds the program.
func binary(t *testing.T) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "understudy")
	if out, err := exec.Command("go", "build", "-o", exe, "../..").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return exe
}

// start runs a command of the binary until the test ends, and returns the
// first match of a pattern in what it writes.
func start(t *testing.T, pattern, exe string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "UNDERSTUDY_LIMITS_SMART_BUDGET=20s")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		r.Close()
	})
	found := make(chan string, 1)
	go func() { // ends with the command
		var seen bytes.Buffer
		re, buf := regexp.MustCompile(pattern), make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			seen.Write(buf[:n])
			if m := re.FindSubmatch(seen.Bytes()); m != nil {
				found <- string(m[1])
				_, _ = io.Copy(io.Discard, r)
				return
			}
			if err != nil {
				found <- ""
				return
			}
		}
	}()
	at := <-found
	if at == "" {
		t.Fatalf("%v ended before it served", args)
	}
	return cmd, at
}

// serve starts a server in front of a canned upstream, with its data in dir.
func serve(t *testing.T, exe, dir string) (cmd *exec.Cmd, url string) {
	t.Helper()
	_, upstream := start(t, `(http://\S+)`, exe, "bench", "upstream")
	config := filepath.Join(dir, "config.yaml")
	text := fmt.Sprintf(`upstreams: {default: {base_url: %q}}
models:
  - {name: small, tier: small, context: 100000, price: {input: 0.1, output: 0.4}}
  - {name: large, tier: frontier, context: 100000, price: {input: 5, output: 25}}
routing: {profiles: {balanced: {light: small, standard: large, heavy: large}}}
`, upstream)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, `(http://127\.0\.0\.1:\d+/v1)`, exe, "serve", "-config", config, "-listen", "127.0.0.1:0", "-data-dir", dir)
}

// load sends up to n requests over 64 connections, until ctx ends, and returns
// those that were answered.
func load(ctx context.Context, t *testing.T, url string, n int) []answered {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: conns}}
	defer client.CloseIdleConnections()
	todo := make(chan int)
	go func() {
		defer close(todo)
		for i := range n {
			select {
			case todo <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var mu sync.Mutex
	var all []answered
	var wg sync.WaitGroup
	for range conns {
		wg.Go(func() {
			for i := range todo {
				if a, ok := ask(ctx, client, url, i); ok {
					mu.Lock()
					all = append(all, a)
					mu.Unlock()
				} else if ctx.Err() == nil {
					t.Errorf("request %d was not answered", i)
					return
				}
			}
		})
	}
	wg.Wait()
	return all
}

func ask(ctx context.Context, client *http.Client, url string, i int) (answered, bool) {
	body := fmt.Sprintf(`{"model":"large","messages":[{"role":"user","content":"Hi there, number %d!"}]}`, i)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", bytes.NewReader([]byte(body)))
	if err != nil {
		return answered{}, false
	}
	req.Header.Set("X-Session-Id", fmt.Sprint(i%5000))
	resp, err := client.Do(req)
	if err != nil {
		return answered{}, false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return answered{resp.Header.Get("X-Request-Id"), time.Now()}, err == nil && resp.StatusCode == http.StatusOK
}

// written is what the ledger has: rows, and what its sums count.
func written(t *testing.T, dir string) (ids map[string]bool, counted int64) {
	t.Helper()
	r, err := ledger.OpenReader(t.Context(), filepath.Join(dir, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ids = make(map[string]bool)
	for e, err := range r.Entries(t.Context(), ledger.Selection{Tenant: "default"}) {
		if err != nil {
			t.Fatal(err)
		}
		ids[e.ID] = true
	}
	stats, err := r.Stats(t.Context(), ledger.StatsQuery{Tenant: "default"})
	if err != nil {
		t.Fatal(err)
	}
	return ids, stats.Total.Requests
}

// TestEveryRequestHasItsRow sends a hundred thousand requests at full speed and
// asks the server to end while the last of them are still to be written.
func TestEveryRequestHasItsRow(t *testing.T) {
	const n = 100_000
	dir := t.TempDir()
	cmd, url := serve(t, binary(t), dir)
	began := time.Now()
	all := load(t.Context(), t, url, n)
	took := time.Since(began)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}
	ids, counted := written(t, dir)
	t.Logf("%d requests in %v, %.0f a second", len(all), took.Round(time.Second), float64(len(all))/took.Seconds())
	if len(all) != n || len(ids) != n || counted != n {
		t.Errorf("%d answered, %d rows, %d counted, want %d each", len(all), len(ids), counted, n)
	}
}

// TestKillLosesAMoment kills the server in the middle of the same load: what
// was answered more than 100 ms before is there.
func TestKillLosesAMoment(t *testing.T) {
	exe := binary(t)
	for round := range 5 {
		dir := t.TempDir()
		cmd, url := serve(t, exe, dir)
		ctx, cancel := context.WithCancel(t.Context())
		var killed time.Time
		var wg sync.WaitGroup
		wg.Go(func() {
			<-time.After(time.Duration(round+1) * 700 * time.Millisecond)
			killed = time.Now()
			_ = cmd.Process.Kill()
			cancel()
		})
		all := load(ctx, t, url, 1<<30)
		wg.Wait()
		_ = cmd.Wait() // it was killed
		ids, counted := written(t, dir)
		missing, oldest := 0, time.Duration(0)
		for _, a := range all {
			if !ids[a.id] {
				missing, oldest = missing+1, max(oldest, killed.Sub(a.at))
			}
		}
		t.Logf("of %d answered requests %d are missing, the oldest answered %v before the end", len(all), missing, oldest.Round(time.Millisecond))
		if oldest > 100*time.Millisecond || int64(len(ids)) != counted {
			t.Errorf("a request of %v before the end is missing; %d rows, %d counted", oldest, len(ids), counted)
		}
	}
}
