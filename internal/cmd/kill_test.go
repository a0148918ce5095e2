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
	kills = 50

	// mayLose is how old an answer must be for what it taught to outlive the
	// process, as long as the writer keeps up. Where the machine lets an answer
	// or a sync of the disk wait, it lets the writer wait, too: lag times that.
	mayLose = 100 * time.Millisecond
	lag     = 10

	// clients talk at once; each pauses for nothing.
	clients = 4
)

// TestKilled kills a server that learns, again and again, with no warning and
// at any moment. Whenever it was, the store opens, all its parts agree, and it
// has what answers of more than mayLose before had taught.
func TestKilled(t *testing.T) {
	noLeaks(t)
	upstream, err := llmtest.Start("small-one")
	if err != nil {
		t.Fatal(err)
	}
	defer upstream.Close()
	dir := t.TempDir()
	total, worst := 0, time.Duration(0)
	for round := range kills {
		user := fmt.Sprint("user", round)
		acked, killed, slowest := learnUntilKilled(t, dir, upstream.URL(), user, 30+rand.IntN(120))
		slowest = max(slowest, syncTime(t, dir))
		kept := inspectKilled(t, dir, user)
		for text, at := range acked {
			age := killed.Sub(at)
			if kept[text] {
				total++
			} else if worst = max(worst, age); age > mayLose+lag*slowest {
				t.Errorf("round %d: %q is lost, answered %v before the kill, with nothing slower than %v", round, text, age, slowest)
			}
			delete(kept, text)
		}
		for text := range kept { // In flight: sent, and not yet answered.
			if !strings.Contains(text, "locker") {
				t.Errorf("round %d: nobody said %q", round, text)
			}
		}
	}
	t.Logf("%d kills, %d memories kept, the oldest lost one was %v old", kills, total, worst)
}

// learnUntilKilled runs a server on dir, has it learn, and kills it once it has
// answered so often and twice mayLose has passed. It returns when each statement
// was answered, when the kill was, and how long the slowest answer took.
func learnUntilKilled(t *testing.T, dir, upstream, user string, answers int) (acked map[string]time.Time, killed time.Time, slowest time.Duration) {
	t.Helper()
	server := exec.Command("understudy", "serve", "-listen", "127.0.0.1:0", "-data-dir", dir, "-set", "upstreams.default.base_url="+upstream)
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err = server.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(log)
	url := ""
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the server ends before it serves: %v", errors.Join(err, server.Wait()))
		}
		url = servingAt.FindString(line)
	}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
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
					if ctx.Err() == nil {
						t.Errorf("before the kill: %v", err)
					}
					return
				}
				mu.Lock()
				now := time.Now()
				acked[text] = now
				slowest = max(slowest, now.Sub(asked))
				if killed.IsZero() && len(acked) >= answers && now.Sub(began) > 2*mayLose {
					killed = now
					stop()
				}
				mu.Unlock()
			}
		})
	}
	<-ctx.Done()
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	_, _ = io.Copy(io.Discard, lines) // Wait must not be called before
	_ = server.Wait()                 // it was killed
	return acked, killed, slowest
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
