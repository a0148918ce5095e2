package journal

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a journal whose state is what it was told, and returns what its
// file held.
func open(t testing.TB, path string, change func(*Config)) (*Journal, []string) {
	t.Helper()
	cfg := Config{Path: path, Snapshot: func() iter.Seq[[]byte] { return slices.Values([][]byte(nil)) }}
	if change != nil {
		change(&cfg)
	}
	var held []string
	j, err := Open(t.Context(), cfg, func(record []byte) error {
		held = append(held, string(record))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() }) // closed by the test where that matters
	return j, held
}

func closeIt(t testing.TB, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAppendedComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	j, held := open(t, path, nil)
	if len(held) != 0 {
		t.Fatalf("a new file holds %q", held)
	}
	var want []string
	for i := range 1000 {
		want = append(want, fmt.Sprint("record ", i))
		j.Append([]byte(want[i]))
	}
	j.Append(nil)
	closeIt(t, j)
	j.Append([]byte("too late"))
	if j.Lost() != 1 {
		t.Errorf("lost = %d, want the one after Close", j.Lost())
	}

	j, held = open(t, path, nil)
	if diff := cmp.Diff(append(want, ""), held); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	closeIt(t, j)
}

func TestRewriteLeavesTheSnapshot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	secret := bytes.Repeat([]byte("secret of a conversation "), 100)
	j, _ := open(t, path, func(c *Config) {
		c.Snapshot = func() iter.Seq[[]byte] {
			return slices.Values([][]byte{[]byte("all"), make([]byte, maxRow), []byte("there is")})
		}
	})
	j.Append(secret)
	if err := j.Rewrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.Append([]byte("and more"))
	closeIt(t, j)
	for _, suffix := range []string{"", "-wal"} {
		if raw, err := os.ReadFile(path + suffix); err == nil && bytes.Contains(raw, []byte("secret of")) {
			t.Errorf("%s still holds what was rewritten", path+suffix)
		}
	}
	j, held := open(t, path, nil)
	want := []string{"all", string(make([]byte, maxRow)), "there is", "and more"}
	if diff := cmp.Diff(want, held); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	closeIt(t, j)
	if err := j.Rewrite(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("Rewrite after Close = %v, want %v", err, errClosed)
	}
}

// TestLogIsBounded appends far more than the limit from many goroutines.
func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	var mu sync.Mutex
	state := map[string]bool{}
	j, _ := open(t, path, func(c *Config) {
		c.Limit, c.FlushEvery, c.Buffer = 10_000, 1, 1<<20
		c.Snapshot = func() iter.Seq[[]byte] {
			mu.Lock()
			defer mu.Unlock()
			var all [][]byte
			for k := range state {
				all = append(all, []byte(k))
			}
			return slices.Values(all)
		}
	})
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for i := range 500 {
				mu.Lock()
				k := fmt.Sprintf("key %d of %d: %0100d", i%10, w, 0)
				state[k] = true
				j.Append([]byte(k))
				mu.Unlock()
			}
		})
	}
	writers.Wait()
	closeIt(t, j)
	j, held := open(t, path, nil)
	got := map[string]bool{}
	for _, k := range held {
		got[k] = true
	}
	if diff := cmp.Diff(state, got); diff != "" || j.size > 8*10_000 {
		t.Errorf("the log has %d bytes and other keys (-want +got):\n%s", j.size, diff)
	}
	closeIt(t, j)
}

func TestUnusableFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("this is no database. "), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	j, held := open(t, path, func(c *Config) { c.Buffer = 100 })
	if len(held) != 0 || j.Check() == nil {
		t.Errorf("held %q, check %v; want nothing and the reason", held, j.Check())
	}
	for range 20 {
		j.Append(make([]byte, 40))
	}
	if j.Lost() == 0 || j.Waiting() > 100 {
		t.Errorf("lost %d, %d bytes wait; want some lost and at most 100 waiting", j.Lost(), j.Waiting())
	}
	if err := j.Rewrite(t.Context()); err == nil {
		t.Error("Rewrite succeeded")
	}
	if err := j.Close(); err == nil {
		t.Error("Close hides that the file can't be written")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(appendRecord(appendRecord(nil, []byte("a")), []byte("bc")))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var again []byte
		for record := range split(data) {
			again = appendRecord(again, record)
		}
		if len(again) > len(data) {
			t.Errorf("%d bytes of records from %d", len(again), len(data))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j, _ := open(b, filepath.Join(b.TempDir(), "a.db"), func(c *Config) { c.Buffer = 64 << 20 })
	record := make([]byte, 1500)
	b.ReportAllocs()
	for b.Loop() {
		j.Append(record)
	}
}
