package sqlite_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

func TestOpenReader(t *testing.T) {
	one := fstest.MapFS{"0001_a.sql": {Data: []byte("CREATE TABLE a (n INTEGER) STRICT; INSERT INTO a VALUES (7)")}}
	two := fstest.MapFS{"0001_a.sql": one["0001_a.sql"], "0002_b.sql": {Data: []byte("CREATE TABLE b (n INTEGER) STRICT")}}
	path := filepath.Join(t.TempDir(), "store.db")
	writer, err := sqlite.Open(t.Context(), path, one)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { writer.Close() })

	reader, err := sqlite.OpenReader(t.Context(), path, one)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	var n int
	if err := reader.QueryRowContext(t.Context(), "SELECT n FROM a").Scan(&n); err != nil || n != 7 {
		t.Errorf("read %d, error %v, want 7, while another holds the file open", n, err)
	}
	if _, err := reader.ExecContext(t.Context(), "INSERT INTO a VALUES (8)"); err == nil {
		t.Error("a reader wrote")
	}

	tests := []struct {
		name       string
		path       string
		migrations fs.FS
		want       error
	}{
		{"no file", path + ".none", one, fs.ErrNotExist},
		{"an older file", path, two, sqlite.ErrOlder},
		{"a newer file", path, fstest.MapFS{}, sqlite.ErrNewer},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if db, err := sqlite.OpenReader(t.Context(), tt.path, tt.migrations); !errors.Is(err, tt.want) {
				t.Errorf("OpenReader = %v, %v, want %v", db, err, tt.want)
			}
		})
	}
}
