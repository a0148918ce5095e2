//go:build unix

package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/llmtest"
	"github.com/understudy-ai/understudy/memory"
)

const (
	kills   = 50
	servers = 5 // at once

	// mayLose is how old an answer must be for what it taught to outlive the
	// process, as long as the writer keeps up. Where the machine lets an answer
	// or a sync of the disk wait, it lets the writer wait, too: lag times that.
	mayLose = 100 * time.Millisecond
	lag     = 10

	// clients talk at once; each pauses for nothing.
	clients = 4
)

// TestKilled kills servers that learn, again and again, with no warning and at
// any moment. Whenever it was, the store opens, all its parts agree, and it
// has what answers of more than mayLose before had taught.
func TestKilled(t *testing.T) {
	noLeaks(t)
	upstream, err := llmtest.Start("small-one")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	t.Run("servers", func(t *testing.T) { // ends once all of them have
		for i := range servers {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for round := range kills / servers {
					killOnce(t, dir, upstream.URL(), fmt.Sprint("user", round))
				}
			})
		}
	})
}

// killOnce has a server learn from a user, kills it, and holds what is left
// against what it had answered.
func killOnce(t *testing.T, dir, upstream, user string) {
	t.Helper()
	acked, killed, slowest, err := learnUntilKilled(t.Context(), dir, upstream, user, 30+rand.IntN(120))
	if err != nil {
		t.Fatalf("%s: %v", user, err)
	}
	slowest = max(slowest, syncTime(t, dir))
	kept := inspectKilled(t, dir, user)
	had, worst := len(kept), time.Duration(0)
	for text, at := range acked {
		if age := killed.Sub(at); !kept[text] {
			worst = max(worst, age)
		}
		delete(kept, text)
	}
	if worst > mayLose+lag*slowest {
		t.Errorf("%s: what was answered %v before the kill is lost, with nothing slower than %v", user, worst, slowest)
	}
	for text := range kept { // In flight: sent, and not yet answered.
		if !strings.Contains(text, "locker") {
			t.Errorf("%s: nobody said %q", user, text)
		}
	}
	t.Logf("%s: %d answers, %d kept, the oldest lost one was of %v before; slowest %v", user, len(acked), had, worst, slowest)
}

// learnUntilKilled runs a server on dir, has it learn, and kills it once it has
// answered so often and twice mayLose has passed. It returns when each statement
// was answered, when the kill was, and how long the slowest answer took.
func learnUntilKilled(
	ctx context.Context, dir, upstream, user string, answers int,
) (acked map[string]time.Time, killed time.Time, slowest time.Duration, err error) {
	server := exec.Command("understudy", "serve", "-listen", "127.0.0.1:0", "-data-dir", dir, "-set", "upstreams.default.base_url="+upstream)
	log, err := server.StderrPipe()
	if err != nil {
		return nil, killed, 0, err
	}
	if err = server.Start(); err != nil {
		return nil, killed, 0, err
	}
	lines := bufio.NewReader(log)
	url := ""
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, killed, 0, fmt.Errorf("the server ends before it serves: %w", errors.Join(err, server.Wait()))
		}
		url = servingAt.FindString(line)
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	acked = map[string]time.Time{}
	began := time.Now()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				text := fmt.Sprintf("locker %d of row %d holds a kite.", n, i)
				asked := time.Now()
				if err := teach(ctx, url, user, "Remember that "+text); err != nil {
					stop(err) // unless it was killed
					return
				}
				mu.Lock()
				now := time.Now()
				acked[text] = now
				slowest = max(slowest, now.Sub(asked))
				if killed.IsZero() && len(acked) >= answers && now.Sub(began) > 2*mayLose {
					killed = now
					stop(nil)
				}
				mu.Unlock()
			}
		})
	}
	<-ctx.Done()
	err = server.Process.Kill()
	group.Wait()
	_, _ = io.Copy(io.Discard, lines) // Wait must not be called before
	_ = server.Wait()                 // it was killed
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(err, cause)
	}
	return acked, killed, slowest, err
}

// syncTime is how long the disk takes for a small file.
func syncTime(t *testing.T, dir string) time.Duration {
	t.Helper()
	began := time.Now()
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(make([]byte, 1<<20))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// teach has one exchange.
func teach(ctx context.Context, url, user, text string) error {
	body := fmt.Sprintf(`{"model":"small-one","messages":[{"role":"user","content":%q}]}`, text)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("X-User-Id", user)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(io.Discard, resp.Body); err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(resp.Status)
	}
	return err
}

// inspectKilled opens the store that a killed server has left, verifies it and
// returns what it has of a user.
func inspectKilled(t *testing.T, dir, user string) map[string]bool {
	t.Helper()
	store, err := memory.Open(t.Context(), memory.Config{Path: filepath.Join(dir, memoryFile)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	scope, err := memory.NewScope("default", "default", user)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Search(t.Context(), scope, memory.Query{Text: "kite"}); err != nil { // loads the index
		t.Error(err)
	}
	report, err := store.Verify(t.Context())
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the store is not well: %q, %v", report.Problems, err)
	}
	kept := map[string]bool{}
	for row, err := range store.Export(t.Context(), scope) {
		if err != nil {
			t.Fatal(err)
		}
		kept[row.Content] = true
	}
	return kept
}
