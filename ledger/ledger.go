package ledger

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-ai/understudy/internal/batch"
	"github.com/understudy-ai/understudy/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config is what [Open] needs. Path alone must be set.
type Config struct {
	Path       string           // The SQLite file.
	Logger     *slog.Logger     // Nil: nothing is logged.
	Clock      func() time.Time // Stands in for a missing Entry.At. Nil: time.Now.
	Queue      int              // Entries that may wait to be written. Default 8192, some 8 MB.
	FlushEvery time.Duration    // How long an entry may wait for company. Default 50 ms, so that on a busy machine, too, it is in the file within 100.
	Retention  time.Duration    // How long single entries are kept; their sums are for good. 0: for good, too.
}

// Ledger keeps entries in a SQLite file. One goroutine writes them in batches.
// A Ledger is safe for concurrent use.
type Ledger struct {
	Reader
	db        *sqlite.DB
	logger    *slog.Logger
	clock     func() time.Time
	retention time.Duration

	queue *batch.Queue[*Entry]
	house *time.Timer // wakes the writer to keep house when nothing comes

	// The writer's alone, until it has ended.
	inserts    map[columnSet]*[len(rowsAtOnce)]*sql.Stmt
	values     []any // What a batch's rows hold, kept for the next one.
	args       []any // So are the arguments of an insert.
	pending    pending
	folded     time.Time // When pending last went into the file.
	tended     time.Time // When rows that are too old were last looked for.
	compacted  time.Time // The day on which roll-ups last were.
	complained bool
	lost       int   // Entries given up at Close,
	lostBy     error // and why.

	dropped   atomic.Int64          // Entries given up while the queue was full and the file broken.
	failure   atomic.Pointer[error] // Why the last write failed, nil when it didn't.
	closeOnce sync.Once
	closeErr  error // Set by closeOnce.
}

// Open opens the ledger at cfg.Path, making the file where there is none, and
// starts its writer. ctx bounds the opening alone. A file that can't be used
// for now, because it is locked, read-only, damaged or its disk full, is no
// error: Check says so, entries wait, and the writer opens it as soon as it
// can. The caller must Close it.
func Open(ctx context.Context, cfg Config) (*Ledger, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Queue <= 0 {
		cfg.Queue = 8192
	}
	if cfg.FlushEvery <= 0 {
		cfg.FlushEvery = 50 * time.Millisecond
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	db, err := sqlite.New(cfg.Path, files)
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	ready := db.Ready(ctx)
	if ready != nil && !db.Failed(ready) {
		return nil, fmt.Errorf("opening ledger: %w", errors.Join(ready, db.Close()))
	}

	l := &Ledger{
		Reader:    Reader{db.Reader},
		db:        db,
		logger:    cfg.Logger,
		clock:     cfg.Clock,
		retention: cfg.Retention,
		queue:     batch.New[*Entry](cfg.Queue, maxBatch, cfg.FlushEvery),
		pending:   pending{counts: make(map[combination]*sums), behind: true},
		inserts:   make(map[columnSet]*[len(rowsAtOnce)]*sql.Stmt),
	}
	if ready != nil {
		l.fault(ready)
	} else if err := l.catchUp(ctx); err != nil {
		return nil, fmt.Errorf("opening ledger: %w", errors.Join(err, db.Close()))
	}
	l.house = time.AfterFunc(foldEvery, l.queue.Hurry)
	go l.queue.Run(l.write) // Close ends and awaits it.

	return l, nil
}

// Record takes e to be written within the flush interval. While the file can
// be written it never drops an entry: when the queue is full it waits for room,
// so that a burst slows down instead of losing rows. While the file can't be
// written, because it is locked or the disk full, it keeps as many entries as
// the queue holds and counts the rest as lost: requests go on. Call it after
// the answer. What is recorded after Close is lost, and logged.
func (l *Ledger) Record(e Entry) {
	if e.At.IsZero() {
		e.At = l.clock()
	}
	err := l.queue.Put(&e)
	for errors.Is(err, batch.ErrFull) && l.failure.Load() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), doorWait)
		err = l.queue.PutWait(ctx, &e)
		cancel()
	}
	switch {
	case errors.Is(err, batch.ErrClosed):
		l.logger.Error("ledger entry lost", "request_id", e.ID, "error", err)
	case err != nil:
		l.dropped.Add(1)
	}
}

// doorWait is how often an entry that waits for room looks whether there is
// still hope.
const doorWait = 20 * time.Millisecond

// Lost is how many entries were given up: because the file could not be written
// and the queue was full, or because it refuses them.
func (l *Ledger) Lost() int64 { return l.dropped.Load() }

// Sync waits until all that was recorded before has been written, and returns
// why it couldn't be.
func (l *Ledger) Sync(ctx context.Context) error {
	if err := l.queue.Sync(ctx); err != nil {
		return fmt.Errorf("syncing ledger: %w", errors.Join(err, l.writeError()))
	}

	return l.writeError()
}

// QueueLen is how many entries wait to be written.
func (l *Ledger) QueueLen() int { return l.queue.Len() }

// Check returns nil if the ledger can be read and its last write went through,
// else why not. Entries are not lost meanwhile; readiness should be.
func (l *Ledger) Check(ctx context.Context) error {
	if err := l.writeError(); err != nil {
		return err
	}
	var some bool
	if err := l.db.Reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM requests)").Scan(&some); err != nil {
		if sqlite.Unavailable(err) {
			l.fault(err)
		}
		return fmt.Errorf("reading ledger: %w", err)
	}

	return nil
}

// writeError is why the last write failed, nil if it didn't.
func (l *Ledger) writeError() error {
	if err := l.failure.Load(); err != nil {
		return fmt.Errorf("writing ledger: %w", *err)
	}

	return nil
}

// Close writes what is left and closes the file. A file that can't be written
// now gets one more attempt for each batch; the error says how many entries
// were lost. Closing again returns the same.
func (l *Ledger) Close() error {
	l.closeOnce.Do(func() {
		l.queue.Close()
		l.house.Stop()
		l.complain(l.fold())
		l.closeErr = l.db.Close()
		if l.lost > 0 {
			l.closeErr = errors.Join(fmt.Errorf("%d entries lost: writing ledger: %w", l.lost, l.lostBy), l.closeErr)
		}
		if l.closeErr != nil {
			l.closeErr = fmt.Errorf("closing ledger: %w", l.closeErr)
		}
	})

	return l.closeErr
}
