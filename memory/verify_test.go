package memory

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// TestVerify holds that a store with everything in it is found well, and that
// each kind of damage is found.
func TestVerify(t *testing.T) {
	tests := []struct {
		name, damage string
		want         string // in the one problem; "" for none
	}{
		{"none", "", ""},
		{"search text gone", "DELETE FROM memories_fts WHERE rowid = 1", "memory without search text"},
		{"memory gone", "PRAGMA foreign_keys = 0; DELETE FROM memories WHERE n = 3; DELETE FROM sources; DELETE FROM mentions; DELETE FROM edges", "search text without a memory"},
		{"other words", "UPDATE memories_fts SET text = 'tea' WHERE rowid = 1", "not its own"},
		{"history is found", "UPDATE memories SET valid_to = 7, value = '' WHERE n = 2", "in the wrong place"},
		{"two homes", "UPDATE memories SET valid_to = NULL WHERE n = 1; UPDATE memories_fts SET scope = (SELECT scope FROM memories_fts WHERE rowid = 2) WHERE rowid = 1", "two current values"},
		{"twice", "UPDATE memories SET hash = (SELECT hash FROM memories WHERE n = 2) WHERE n = 3", "a memory twice"},
		{"foreign edge", "INSERT INTO edges SELECT 1, n, 'related_to' FROM memories WHERE user = 'bob'", "an edge out of its scope"},
		{"foreign mention", "INSERT INTO mentions SELECT id, (SELECT n FROM memories WHERE user = 'bob') FROM entities LIMIT 1", "a mention out of its scope"},
		{"foreign source", "INSERT INTO sources SELECT (SELECT n FROM memories WHERE user = 'bob'), n FROM exchanges WHERE user = 'ann' LIMIT 1", "a source out of its scope"},
		{"vector cut off", "INSERT INTO vectors VALUES (1, 'm', 4, x'0102')", "a vector that isn't as long"},
		{"reference to nothing", "PRAGMA foreign_keys = 0; INSERT INTO turns (exchange, role, text) VALUES (999, 'user', 'x')", "refers to nothing"},
		{"index behind", "UPDATE memories SET hits = 99 WHERE n = 2", "an index in RAM"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, nil)
			ann, bob := scopeOf(t, "ann"), scopeOf(t, "bob")
			warm(t, s, ann)
			say(t, s, ann, "I live in Bern.", "I moved to Zurich.", "We decided to sell the Clipperton piano to Acme.")
			say(t, s, bob, "We decided to keep it.")
			if _, err := s.db.Writer.Exec(test.damage); test.damage != "" && err != nil {
				t.Fatal(err)
			}
			got, err := s.Verify(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := strings.Join(got.Problems, "\n")
			if (test.want == "") != (found == "") || !strings.Contains(found, test.want) {
				t.Errorf("problems %q, want one with %q", got.Problems, test.want)
			}
			got.Problems = nil
			if len(got.Vectors) > 0 != strings.HasPrefix(test.name, "vector") {
				t.Errorf("vectors %+v", got.Vectors)
			}
			if want := (Report{Memories: 4, Scopes: 2, Turns: 4}); test.want == "" && !cmp.Equal(got, want) {
				t.Errorf("Verify = %+v, want %+v", got, want)
			}
		})
	}
}

// TestVerifyDamagedPages overwrites a part of the file.
func TestVerifyDamagedPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := openStore(t, func(cfg *Config) { cfg.Path = path })
	fill(t, s, scopeOf(t, "ann"), 300)
	if err := s.db.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndex(string(data), "spring")
	copy(data[at-200:], strings.Repeat("\xff", 400))
	if err = os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, func(cfg *Config) { cfg.Path = path })
	if got, err := s.Verify(t.Context()); err == nil && len(got.Problems) == 0 {
		t.Error("the damage isn't found")
	}
}

// TestBackup copies a store that is in use, and opens the copy.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path, dest := filepath.Join(dir, "memory.db"), filepath.Join(dir, "copy.db")
	s := openStore(t, func(cfg *Config) { cfg.Path = path })
	scope := scopeOf(t, "ann")
	say(t, s, scope, "We decided to keep the piano.", "We decided to sell the xylophone.")
	if _, err := s.Forget(t.Context(), scope, list(t, s, scope, Filter{Text: "xylophone"})[0].ID); err != nil {
		t.Fatal(err)
	}
	told := int64(0)
	if err := sqlite.Backup(t.Context(), path, dest, func(bytes int64, _ string) { told = bytes }); err != nil || told == 0 {
		t.Fatalf("Backup = %v, told of %d bytes", err, told)
	}
	say(t, s, scope, "We decided to buy a drum.") // not in the copy, and not in its way

	if info, err := os.Stat(dest); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v, error %v, want mode 0600", info, err)
	}
	if strings.Contains(string(rawBytes(t, dest)), "xylophone") {
		t.Error("what was forgotten is in the copy")
	}
	twin := openStore(t, func(cfg *Config) { cfg.Path = dest })
	if diff := cmp.Diff([]string{"We decided to keep the piano."}, contents(list(t, twin, scope, Filter{}))); diff != "" {
		t.Errorf("the copy (-want +got):\n%s", diff)
	}
	if got, err := twin.Verify(t.Context()); err != nil || len(got.Problems) > 0 {
		t.Errorf("the copy is %v, error %v", got, err)
	}

	if err := sqlite.Backup(t.Context(), path, dest, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("Backup onto a file = %v, want ErrExist", err)
	}
	if err := sqlite.Backup(t.Context(), path+"x", dest+"x", nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Backup of nothing = %v, want ErrNotExist", err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if err := sqlite.Backup(gone, path, dest+"y", nil); err == nil {
		t.Error("Backup with an ended context succeeded")
	}
	left, err := filepath.Glob(dest + "?*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if !strings.HasSuffix(name, "-wal") && !strings.HasSuffix(name, "-shm") {
			t.Errorf("left behind: %s", name)
		}
	}
}
