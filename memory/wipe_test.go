package memory

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// TestForgottenBytes looks for what was forgotten in the files of a store in
// which many rows have come and gone, and in a copy that has taken its place:
// pages keep copies of rows that they once held.
func TestForgottenBytes(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "memory.db"), filepath.Join(dir, "copy.db")
	s := openStore(t, func(cfg *Config) { cfg.Path, cfg.QueueSize = path, 4096 })
	ann, bob := scopeOf(t, "ann"), scopeOf(t, "bob")
	for round := range 3 {
		for i := range 600 {
			word := fmt.Sprintf("quokka%dx%03d", round, i)
			say := fmt.Sprintf("We decided to feed %s%s. I live in %sville.", word, strings.Repeat(" many leaves", i*7%31), word)
			s.Learn(Exchange{Scope: ann, At: noon, UserText: say, AssistantText: strings.Repeat("Good. ", i*5%23)})
			s.Learn(Exchange{Scope: bob, At: noon, UserText: strings.Replace(say, "quokka", "wombat", 2)})
		}
		settle(t, s)
		for i, item := range list(t, s, ann, Filter{Limit: 40}) {
			if i%13 == 0 {
				if _, err := s.Forget(t.Context(), ann, item.ID); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := sqlite.Backup(t.Context(), path, backup, nil); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, backup} {
		twin := s
		if file == backup {
			twin = openStore(t, func(cfg *Config) { cfg.Path = backup })
		}
		if n, err := twin.ForgetUser(t.Context(), "acme", "ann", ""); err != nil || n < 1000 {
			t.Fatalf("ForgetUser = %d, %v", n, err)
		}
		raw := string(rawBytes(t, file))
		if n := strings.Count(raw, "quokka"); n > 0 {
			at := strings.Index(raw, "quokka")
			t.Errorf("%s: %d words are left, one in %q", filepath.Base(file), n, raw[max(0, at-30):at+30])
		}
		if got := contents(list(t, twin, bob, Filter{Text: "wombat2x599"})); len(got) != 1 {
			t.Errorf("of another user there is %q", got)
		}
		if got, err := twin.Verify(t.Context()); err != nil || len(got.Problems) > 0 {
			t.Errorf("Verify = %v, %v", got, err)
		}
	}
}

// TestWipedTogether forgets memories while the file is being written anew for
// somebody else: all who wait share the next time. SQLite counts the times in
// the version of its schema.
func TestWipedTogether(t *testing.T) {
	s := openStore(t, nil)
	scope := scopeOf(t, "ann")
	var ids []string
	for i := range 5 {
		ids = append(ids, add(t, s, scope, NewItem{Content: fmt.Sprintf("kiosk %d is closed", i)}).ID)
	}
	version := func() (n int) {
		if err := s.db.Reader.QueryRowContext(t.Context(), "PRAGMA schema_version").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	s.wiping.mu.Lock()
	var group sync.WaitGroup
	for _, id := range ids {
		group.Go(func() {
			if _, err := s.Forget(t.Context(), scope, id); err != nil {
				t.Error(err)
			}
		})
	}
	for s.wiping.asked.Load() < int64(len(ids)) {
		runtime.Gosched()
	}
	before := version()
	s.wiping.mu.Unlock()
	group.Wait()
	if n := version() - before; n != 1 {
		t.Errorf("written anew %d times for %d who waited", n, len(ids))
	}
	if left := list(t, s, scope, Filter{}); len(left) > 0 {
		t.Errorf("%d memories are left", len(left))
	}
}
