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
	"sync"
	"syscall"
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

// DB is one SQLite file. It is safe for concurrent use.
type DB struct {
	// Writer holds exactly one connection; its transactions begin immediate,
	// so that two of them queue in Go and never fail with "database is locked".
	Writer *sql.DB

	// Reader holds up to four connections that refuse to write.
	Reader *sql.DB

	path       string
	migrations fs.FS

	mu      sync.Mutex  // guards what follows
	ready   bool        // the file is as it should be
	suspect bool        // damage was met, so the whole of it is looked at
	damage  error       // what was found then
	damaged os.FileInfo // of the file in which it was found
}

// Open is [New] and [DB.Ready]: it opens the file at path, creating it (mode
// 0600) and its folder (0700) where they are missing, and brings its schema up
// to date with [Migrate]. The caller must Close the result.
func Open(ctx context.Context, path string, migrations fs.FS) (*DB, error) {
	db, err := New(path, migrations)
	if err != nil {
		return nil, err
	}
	if err := db.Ready(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}

	return db, nil
}

// New returns a DB whose file has not been touched. Before Ready has succeeded
// its statements are likely to fail. The caller must Close the result.
func New(path string, migrations fs.FS) (*DB, error) {
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
		return nil, fmt.Errorf("opening store %q: %w", path, err)
	}
	reader, err := connect(path, readers, url.Values{"_pragma": {"query_only(1)"}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening store %q: %w", path, err), writer.Close())
	}

	return &DB{Writer: writer, Reader: reader, path: path, migrations: migrations}, nil
}

// Ready makes the file where it is missing and brings its schema up to date.
// Once that has succeeded it does nothing until Failed has seen an error. After
// damage it checks the whole file, which takes long for a large one, and does
// so again only when the file has changed.
func (db *DB) Ready(ctx context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.ready {
		return nil
	}
	now, _ := os.Stat(db.path) // nil when it is missing
	if db.damage != nil && same(now, db.damaged) {
		return db.damage
	}
	if err := db.open(ctx); err != nil {
		err = fmt.Errorf("opening store %q: %w", db.path, err)
		if db.damage = nil; Damaged(err) {
			db.damage, db.damaged, db.suspect = err, now, true
		}
		db.keepConns(false)
		return err
	}
	db.ready, db.suspect, db.damage = true, false, nil
	db.keepConns(true)

	return nil
}

func (db *DB) open(ctx context.Context) error {
	if err := create(db.path); err != nil {
		return err
	}
	if err := Migrate(ctx, db.Writer, db.migrations); err != nil {
		return err
	}
	if !db.suspect {
		return nil
	}
	var found string
	if err := db.Writer.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("checking the file: %w", err)
	}
	if found != "ok" {
		return fmt.Errorf("%w: %s", errDamaged, found)
	}

	return nil
}

func same(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

var errDamaged = errors.New("the file is damaged")

// Failed reports whether err is [Unavailable]. If it is about more than a lock,
// the connections are given up, so that the file is opened anew, and Ready
// looks at it again: it may have been repaired, replaced, or made writable.
// After a statement that failed by itself, for a table that is missing for
// example, Ready looks whether another file has taken this one's place.
func (db *DB) Failed(err error) bool {
	if !Unavailable(err) {
		if codeOf(err) == lib.SQLITE_ERROR {
			db.mu.Lock()
			defer db.mu.Unlock()
			db.ready = false
		}
		return false
	}
	if code := codeOf(err); code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED {
		return true
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.ready, db.suspect = false, db.suspect || Damaged(err)
	db.keepConns(false)

	return true
}

// keepConns says whether connections outlive their use. Those of before a
// fault must not: they go on with a file that may have been replaced.
func (db *DB) keepConns(keep bool) {
	writers, readers := 1, readers
	if !keep {
		writers, readers = -1, -1 // closes the idle ones at once
	}
	db.Writer.SetMaxIdleConns(writers)
	db.Reader.SetMaxIdleConns(readers)
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

	return pool, nil
}

// Unavailable reports whether an error is about the file as a whole, locked,
// full, read-only, damaged or failing, so that the same statement may succeed
// later.
func Unavailable(err error) bool {
	switch codeOf(err) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_READONLY, lib.SQLITE_IOERR, lib.SQLITE_FULL, lib.SQLITE_CANTOPEN:
		return true
	}

	return Damaged(err) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC)
}

// Refused reports whether an error is about the row that was to be written: the
// same one will be refused again.
func Refused(err error) bool {
	switch codeOf(err) {
	case lib.SQLITE_CONSTRAINT, lib.SQLITE_MISMATCH, lib.SQLITE_TOOBIG:
		return true
	}

	return false
}

// Damaged reports whether an error says that the file is not what SQLite wrote.
func Damaged(err error) bool {
	code := codeOf(err)

	return code == lib.SQLITE_CORRUPT || code == lib.SQLITE_NOTADB || errors.Is(err, errDamaged)
}

// codeOf is SQLite's primary result code, 0 of another error.
func codeOf(err error) int {
	e, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return 0
	}

	return e.Code() & 0xff // the rest of a code refines it
}

// Checkpoint moves the write-ahead log into the file and empties it.
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

// Wipe takes what has been deleted off the disk: it writes the whole file anew
// and empties the log. Secure deletion alone leaves bytes behind, since a page
// that gives rows to its neighbours keeps their copies in its unused part. It
// takes some 15 ms for each MB and needs room for a second file; readers go on
// meanwhile, writers wait.
func (db *DB) Wipe(ctx context.Context) error {
	if _, err := db.Writer.ExecContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("writing the file anew: %w", err)
	}

	return db.Checkpoint(ctx)
}

// Close closes both pools; the writer last, so that it folds the log into the
// file.
func (db *DB) Close() error {
	return errors.Join(db.Reader.Close(), db.Writer.Close())
}
