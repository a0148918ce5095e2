// Package journal keeps the state of something that lives in RAM across a
// restart: an append-only log of its changes in one SQLite file, written off
// the path in batches, and rewritten from the state itself when it has grown
// too long.
//
// It costs a request next to nothing: appending copies a record into a buffer,
// and a batch of any number of records is one row. What a crash loses is what
// the buffer held. It knows nothing of what the records mean, and it is not a
// store: nothing can be looked up in it.
package journal

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

//go:embed migrations
var embedded embed.FS

// Config is what [Open] needs.
type Config struct {
	Path   string       // the SQLite file; required
	Logger *slog.Logger // nil: silent

	// Snapshot lists records that together tell the whole state. It is called
	// by the journal's own goroutine, while others may append.
	Snapshot func() iter.Seq[[]byte]

	FlushEvery time.Duration // how long a record may wait; 0: 100 ms
	Buffer     int           // bytes of records that may wait; 0: 4 MiB
	Limit      int64         // bytes of the log beyond which it is rewritten; 0: 16 MiB
}

// Journal is a log in a file. All methods are safe for concurrent use.
type Journal struct {
	cfg Config
	db  *sqlite.DB

	mu     sync.Mutex // guards what follows
	buffer []byte     // records that wait
	spare  []byte     // a written buffer, to be filled again
	closed bool

	wake    chan struct{}   // holds an entry when something waits
	rewrite chan chan error // of who waits for a rewriting
	closing chan struct{}
	done    chan struct{} // closed when the writer has returned

	lost   atomic.Int64
	broken atomic.Pointer[error] // why the last write failed, nil when it did not

	// The writer's own.
	size, limit int64
}

// errClosed is what a journal that was closed says.
var errClosed = errors.New("journal is closed")

// Open opens the journal, hands what its file holds to restore, record by
// record in the order in which they were appended, and starts the writer. A
// file that can't be used, or a record that restore refuses, is logged: state
// that is lost is no reason not to start. It errs only when ctx ends or the
// file's name is impossible. The caller must Close it.
func Open(ctx context.Context, cfg Config, restore func(record []byte) error) (*Journal, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.FlushEvery <= 0 {
		cfg.FlushEvery = 100 * time.Millisecond
	}
	if cfg.Buffer <= 0 {
		cfg.Buffer = 4 << 20
	}
	if cfg.Limit <= 0 {
		cfg.Limit = 16 << 20
	}
	migrations, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	db, err := sqlite.New(cfg.Path, migrations)
	if err != nil {
		return nil, fmt.Errorf("opening journal: %w", err)
	}
	j := &Journal{
		cfg: cfg, db: db, limit: cfg.Limit, wake: make(chan struct{}, 1), rewrite: make(chan chan error),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	if err := j.replay(ctx, restore); err != nil {
		j.report(err)
	}
	go j.run() // Close ends and awaits it.

	return j, nil
}

func (j *Journal) replay(ctx context.Context, restore func([]byte) error) error {
	if err := j.db.Ready(ctx); err != nil {
		return err
	}
	rows, err := j.db.Reader.QueryContext(ctx, "SELECT data FROM log ORDER BY n")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return err
		}
		j.size += int64(len(data))
		for record := range split(data) {
			if err := restore(record); err != nil {
				j.cfg.Logger.Warn("a record of the journal can't be restored", "error", err)
			}
		}
	}

	return rows.Err()
}

// split yields the records of a row. What is cut off at its end is left out.
func split(data []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(data) > 0 {
			n, used := binary.Uvarint(data)
			if used <= 0 || n > uint64(len(data)-used) {
				return
			}
			record := data[used : used+int(n)]
			data = data[used+int(n):]
			if !yield(record) {
				return
			}
		}
	}
}

func appendRecord(dst, record []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(record))), record...)
}

// Append adds a record, which is copied. It never blocks: when the buffer is
// full, because the file can't be written, the record is lost and counted.
func (j *Journal) Append(record []byte) {
	j.mu.Lock()
	full := j.closed || len(j.buffer)+len(record)+binary.MaxVarintLen64 > j.cfg.Buffer
	if !full {
		j.buffer = appendRecord(j.buffer, record)
	}
	j.mu.Unlock()
	if full {
		j.lost.Add(1)
		return
	}
	select {
	case j.wake <- struct{}{}:
	default: // it is awake
	}
}

// Lost is how many records were given up.
func (j *Journal) Lost() int64 { return j.lost.Load() }

// Waiting is how many bytes of records wait to be written.
func (j *Journal) Waiting() int {
	j.mu.Lock()
	defer j.mu.Unlock()

	return len(j.buffer)
}

// Check returns why the last write failed, nil if it did not.
func (j *Journal) Check() error {
	if err := j.broken.Load(); err != nil {
		return fmt.Errorf("writing journal: %w", *err)
	}

	return nil
}

// Rewrite writes the log anew from the state as it is, so that what is no
// longer part of it is gone from the file.
func (j *Journal) Rewrite(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case j.rewrite <- answer:
	case <-j.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close writes what waits and closes the file. Closing twice is fine.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	close(j.closing)
	<-j.done
	if err := errors.Join(j.Check(), j.db.Close()); err != nil {
		return fmt.Errorf("closing journal: %w", err)
	}

	return nil
}
