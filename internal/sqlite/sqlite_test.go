package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

func migrations(texts ...string) fs.FS {
	files := fstest.MapFS{"readme.txt": {Data: []byte("not a migration")}}
	for i, text := range texts {
		files["000"+string(rune('1'+i))+"_step.sql"] = &fstest.MapFile{Data: []byte(text)}
	}

	return files
}

const (
	first  = "CREATE TABLE note (text TEXT NOT NULL) STRICT;"
	second = "ALTER TABLE note ADD COLUMN n INTEGER NOT NULL DEFAULT 7"
)

func open(t *testing.T, path string, texts ...string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, migrations(texts...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})

	return db
}

func TestOpenMigratesFurther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new folder", "a#b?c%20d.db")
	db := open(t, path, first)
	if _, err := db.Writer.Exec("INSERT INTO note VALUES ('kept')"); err != nil {
		t.Fatal(err)
	}
	db.Close()

	db = open(t, path, first, second)
	var text string
	var n, version int
	if err := db.Reader.QueryRow("SELECT text, n FROM note").Scan(&text, &n); err != nil {
		t.Fatal(err)
	}
	if err := db.Reader.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if text != "kept" || n != 7 || version != 2 {
		t.Errorf("after the second migration: text %q, n %d, version %d; want kept, 7, 2", text, n, version)
	}

	info, err := os.Stat(path)
	if err != nil {
		t.Fatalf("the file isn't where it should be: %v", err)
	}
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("file mode %v, want 0600", got)
	}
}

func TestOpenRefusesNewerFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	open(t, path, first, second).Close()

	if _, err := sqlite.Open(t.Context(), path, migrations(first)); !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("Open of a newer file = %v, want ErrNewer", err)
	}
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if _, err := sqlite.Open(t.Context(), path, migrations(first+"CREATE NONSENSE")); err == nil {
		t.Fatal("Open accepted a broken migration")
	}
	open(t, path, first) // Would fail if the table had stayed.
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	junk := filepath.Join(dir, "junk.db")
	if err := os.WriteFile(junk, []byte("this is not a database, and long enough to look like one"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{junk, dir, filepath.Join(junk, "below-a-file.db")} {
		if db, err := sqlite.Open(t.Context(), path, migrations(first)); err == nil {
			t.Errorf("Open(%q) succeeded", path)
			db.Close()
		}
	}
}

func TestPragmas(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), first)
	tests := []struct{ name, want string }{
		{"busy_timeout", "5000"},
		{"journal_mode", "wal"},
		{"synchronous", "1"},
		{"foreign_keys", "1"},
		{"secure_delete", "1"},
		{"query_only", "0"},
	}
	for _, test := range tests {
		var got string
		if err := db.Writer.QueryRow("PRAGMA " + test.name).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != test.want {
			t.Errorf("writer's %s = %s, want %s", test.name, got, test.want)
		}
	}
	if _, err := db.Reader.Exec("INSERT INTO note VALUES ('x')"); err == nil {
		t.Error("the reader wrote")
	}
}

func TestWritersAndReadersAtOnce(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "a.db"), first)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			tx, err := db.Writer.Begin()
			if err != nil {
				t.Error(err)
				return
			}
			if _, err = tx.Exec("INSERT INTO note SELECT 'row ' || count(*) FROM note"); err != nil {
				t.Error(err)
			}
			if err = tx.Commit(); err != nil {
				t.Error(err)
			}
		})
		group.Go(func() {
			var n int
			if err := db.Reader.QueryRow("SELECT count(*) FROM note").Scan(&n); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()

	var n int
	if err := db.Reader.QueryRow("SELECT count(DISTINCT text) FROM note").Scan(&n); err != nil || n != 32 {
		t.Errorf("%d distinct rows, error %v; want 32, nil", n, err)
	}
}

func TestCheckpointEmptiesTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, first)
	if _, err := db.Writer.Exec("INSERT INTO note VALUES ('x')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the log has %v, error %v; want no bytes", info, err)
	}
}

// TestDamage damages a page that opening does not read. Once a reader has met
// it, the file is unready until it is replaced.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, first)
	_, err := db.Writer.Exec("WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM i LIMIT 100) INSERT INTO note SELECT hex(randomblob(500)) FROM i")
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(content[8<<10:], bytes.Repeat([]byte("junk"), 8<<10))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	db = open(t, path, first)
	var n int
	read := db.Reader.QueryRow("SELECT count(text || 1) FROM note").Scan(&n)
	if !sqlite.Damaged(read) || !db.Failed(read) {
		t.Fatalf("reading gives %v, want an error about damage", read)
	}
	found := db.Ready(t.Context())
	if !sqlite.Damaged(found) || !sqlite.Unavailable(found) {
		t.Errorf("Ready = %v, want an error about damage", found)
	}
	if again := db.Ready(t.Context()); again != found {
		t.Errorf("Ready of the same file = %v, want what was found before", again)
	}
	if err := os.Rename(path, path+".damaged"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("Ready once the file was taken away = %v", err)
	}
	if err := db.Reader.QueryRow("SELECT count(text || 1) FROM note").Scan(&n); n != 0 || err != nil {
		t.Errorf("%d rows, %v; want a new file", n, err)
	}
}

func TestUnavailable(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"no error", nil, false},
		{"another error", errors.New("no such table"), false},
		{"no permission", fmt.Errorf("making its file: %w", &fs.PathError{Op: "open", Err: syscall.EACCES}), true},
		{"read-only file system", syscall.EROFS, true},
		{"full disk", syscall.ENOSPC, true},
		{"a folder in its place", syscall.EISDIR, false},
	}
	for _, tt := range tests {
		if got := sqlite.Unavailable(tt.err); got != tt.want {
			t.Errorf("%s: Unavailable(%v) = %v, want %v", tt.name, tt.err, got, tt.want)
		}
	}
}

// TestAnotherFile takes the file away while it is in use: once a statement has
// missed its table, the new file gets its schema.
func TestAnotherFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	db := open(t, path, first)
	other := open(t, filepath.Join(t.TempDir(), "b.db"))
	_, err := other.Reader.Exec("SELECT * FROM note")
	if db.Failed(err) || err == nil {
		t.Fatalf("Failed(%v) = true, want a missing table to be no fault of the file", err)
	}
	if _, err := db.Writer.Exec("DROP TABLE note; PRAGMA user_version = 0"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Writer.Exec("INSERT INTO note VALUES ('x')"); err != nil {
		t.Error(err)
	}
}
