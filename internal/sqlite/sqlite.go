// Package sqlite opens SQLite files the one way this program uses them: WAL,
// one writing connection, a small pool of reading ones, secure deletion, and
// numbered migrations.
//
// It knows nothing of what is stored: tables, statements and transactions
// belong to the packages that own a file. It builds no queries and hides no
// part of database/sql.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	driver "modernc.org/sqlite" // Registers the driver named "sqlite".
	lib "modernc.org/sqlite/lib"
)

const (
	// busyTimeout is how long a connection waits for a lock that another
	// process holds. Within this process there is nothing to wait for: one
	// connection writes, and WAL readers never block it.
	busyTimeout = 5 * time.Second

	// readers bounds the reading pool. Readers are CPU-bound, and more of
	// them than cores only lengthens the tail (p99 doubled at eight).
	readers = 4
)

// DB is one SQLite file. Both pools are safe for concurrent use.
type DB struct {
	// Writer holds exactly one connection; its transactions begin immediate,
	// so that two of them queue in Go and never fail with "database is locked".
	Writer *sql.DB

	// Reader holds up to four connections that refuse to write.
	Reader *sql.DB
}

// Open opens the file at path, creating it (mode 0600) and its folder (0700)
// where they are missing, and brings its schema up to date with [Migrate].
// The caller must Close the result.
func Open(ctx context.Context, path string, migrations fs.FS) (*DB, error) {
	db, err := open(ctx, path, migrations)
	if err != nil {
		return nil, fmt.Errorf("opening store %q: %w", path, err)
	}

	return db, nil
}

func open(ctx context.Context, path string, migrations fs.FS) (*DB, error) {
	if err := create(path); err != nil {
		return nil, err
	}

	writer, err := connect(path, 1, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"journal_mode(WAL)",
			"synchronous(NORMAL)",
			"foreign_keys(1)",
			"secure_delete(1)",
		},
	})
	if err != nil {
		return nil, err
	}
	if err = Migrate(ctx, writer, migrations); err != nil {
		return nil, errors.Join(err, writer.Close())
	}

	reader, err := connect(path, readers, url.Values{"_pragma": {"query_only(1)"}})
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}

	return &DB{Writer: writer, Reader: reader}, nil
}

// create makes the file before SQLite does, so that its mode, which the WAL
// and shared-memory files inherit, keeps other users of the machine out.
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making its folder: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("making its file: %w", err)
	}

	return f.Close()
}

// connect returns a pool of n connections that live as long as the pool does.
// The busy timeout comes first, since setting WAL may itself meet a lock.
func connect(path string, n int, params url.Values) (*sql.DB, error) {
	timeout := "busy_timeout(" + strconv.FormatInt(busyTimeout.Milliseconds(), 10) + ")"
	params["_pragma"] = append([]string{timeout}, params["_pragma"]...)
	name := "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + params.Encode()

	pool, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)

	return pool, nil
}

// Unavailable reports whether an error is about the file as a whole, locked,
// full, read-only or failing, so that the same statement may succeed later.
func Unavailable(err error) bool {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return false
	}
	switch e.Code() & 0xff { // the rest of a code refines it
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_READONLY, lib.SQLITE_IOERR, lib.SQLITE_FULL, lib.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// Checkpoint moves the write-ahead log into the file and empties it. After a
// deletion this is what takes the deleted bytes off the disk.
func (db *DB) Checkpoint(ctx context.Context) error {
	var busy, logged, moved int
	err := db.Writer.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &moved)
	if err != nil {
		return fmt.Errorf("checkpointing: %w", err)
	}
	if busy != 0 {
		return errors.New("checkpointing: the file is in use by a reader")
	}

	return nil
}

// Close closes both pools; the writer last, so that it folds the log into the
// file.
func (db *DB) Close() error {
	return errors.Join(db.Reader.Close(), db.Writer.Close())
}
