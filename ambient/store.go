package ambient

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

	"github.com/understudy-ai/understudy/internal/background"
	"github.com/understudy-ai/understudy/internal/batch"
	"github.com/understudy-ai/understudy/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Config is what [Open] needs. Path alone must be set.
type Config struct {
	Path   string           // the SQLite file
	Logger *slog.Logger     // nil: nothing is logged
	Clock  func() time.Time // nil: time.Now

	Version string // of the program, for prompts; "": it isn't told
	// Zone names the zone of an agent's days; nil, or a nil zone: UTC.
	Zone func(agent string) *time.Location
	// Clean redacts secrets in a text before it is stored, and reports false for one that must not be shown to a
	// model at all. Nil: texts are kept as they are.
	Clean func(text string) (clean string, ok bool)
	// Tokens estimates how many tokens a text has. Nil: a quarter of its bytes.
	Tokens func(text string) int
	// People says what prompts tell of who takes part in a conversation.
	People People
	// Known returns what memory holds of somebody, the most important first. Nil: nothing.
	Known func(context.Context, Whom) []Known
	// Briefing says what workers are told before they begin, Background how work is done that nobody waits for.
	Briefing   Briefing
	Background Background
	// Held returns what memory knows of a scope, user "" for the workspace. Nil: no model is asked about it.
	Held func(ctx context.Context, tenant, agent, user string) (Held, error)
	// Queue is how many writes may wait. 0: 1024.
	Queue int
	// WorkingTokens bounds what a prompt is told of today, yesterday and the week. 0: 1500.
	WorkingTokens int
	// EventsTTL is how long events are kept. Summaries of whole days stay. 0: 30 days.
	EventsTTL time.Duration
	// RunIdle is after how long without a request a worker's, branch's or timetable's run has ended. 0: 5 minutes.
	RunIdle time.Duration
	// CacheBytes bounds what is held in RAM to make prompts of. 0: 32 MiB.
	CacheBytes int
}

// Store keeps what surrounds conversations in a SQLite file. One goroutine writes. It is safe for concurrent use.
type Store struct {
	cfg Config
	db  *sqlite.DB

	queue *batch.Queue[job]
	once  sync.Once // closes

	rooms   cache[roomKey, room]
	streets cache[agentKey, street]
	feeds   cache[hall, feed]
	lately  lately
	graves  graves

	briefings briefings
	syntheses syntheses
	wiped     atomic.Int64 // how often something was forgotten that texts may have been made of
	runner    *background.Runner

	broken   atomic.Pointer[error] // why the last write failed, nil when it didn't
	dropped  atomic.Int64
	setAside atomic.Int64

	// What follows belongs to the writer.
	books  map[hall]*book   // emptied when a transaction fails
	late   map[hallDay]bool // days that are over and got events in the transaction under way
	purged time.Time        // when old events were deleted last
	hot    map[string]*sql.Stmt
}

// write is what a job does in a transaction. It must bear being run again after the transaction failed.
type write func(ctx context.Context, tx *sql.Tx) error

// job is a write, what is done once it is in the file (nil: nothing), and where its result goes: nil when nobody waits
// for it.
type job struct {
	write  write
	done   func()
	result chan error
}

// Open opens the store, making its file where there is none, and starts the writer. ctx bounds the opening alone. A file
// that can't be used for now, because it is locked, read-only, damaged or its disk full, is no error: Check says so, and
// writes wait until the queue is full. The caller must Close it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("opening ambient store: %w", err)
	}
	db, err := sqlite.New(cfg.Path, files)
	if err != nil {
		return nil, fmt.Errorf("opening ambient store: %w", err)
	}
	cfg = cfg.withDefaults()
	s := &Store{
		cfg: cfg, db: db, queue: batch.New[job](cfg.Queue, maxBatch, maxWait),
		books: map[hall]*book{}, late: map[hallDay]bool{}, hot: map[string]*sql.Stmt{},
	}
	limit := cfg.CacheBytes / (2 * caches)
	s.rooms.limit, s.streets.limit, s.feeds.limit = limit, limit, limit
	if err := db.Ready(ctx); db.Failed(err) {
		s.fault(err)
		s.queue.Hurry() // the writer tries until it can be used
	} else if err != nil {
		return nil, fmt.Errorf("opening ambient store: %w", errors.Join(err, db.Close()))
	}
	s.runner = background.New(background.Config{
		Jobs: s.jobs(), Clock: cfg.Clock, Logger: cfg.Logger, CallsPerHour: cfg.Background.CallsPerHour, USDPerHour: cfg.Background.USDPerHour,
	})
	go s.queue.Run(s.write) // Close ends and awaits it
	return s, nil
}

func (cfg Config) withDefaults() Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Zone == nil {
		cfg.Zone = func(string) *time.Location { return nil }
	}
	if cfg.Clean == nil {
		cfg.Clean = func(text string) (string, bool) { return text, true }
	}
	if cfg.Tokens == nil {
		cfg.Tokens = func(text string) int { return (len(text) + 3) / 4 }
	}
	if cfg.Known == nil {
		cfg.Known = func(context.Context, Whom) []Known { return nil }
	}
	if cfg.Briefing.Timeout <= 0 {
		cfg.Briefing.Timeout = 2 * time.Second
	}
	if cfg.Queue <= 0 {
		cfg.Queue = 1024
	}
	if cfg.WorkingTokens <= 0 {
		cfg.WorkingTokens = 1500
	}
	if cfg.EventsTTL <= 0 {
		cfg.EventsTTL = 30 * 24 * time.Hour
	}
	if cfg.RunIdle <= 0 {
		cfg.RunIdle = 5 * time.Minute
	}
	if cfg.CacheBytes <= 0 {
		cfg.CacheBytes = 32 << 20
	}
	return cfg
}

// zone is where an agent's days begin and end.
func (s *Store) zone(agent string) *time.Location {
	if zone := s.cfg.Zone(agent); zone != nil {
		return zone
	}
	return time.UTC
}

// later queues a write that nobody waits for, and what the writer does once it is in the file, such as to update RAM; nil:
// nothing. It waits for company, so it is for what readers find in RAM meanwhile, or don't look for at once. It is false,
// and the write counted as lost, when the queue is full.
func (s *Store) later(w write, done func()) bool {
	if s.queue.Put(job{write: w, done: done}) != nil {
		s.dropped.Add(1)
		return false
	}
	return true
}

// soon is later for what readers find once it is in the file: it waits for nothing.
func (s *Store) soon(w write, done func()) bool {
	defer s.queue.Hurry()
	return s.later(w, done)
}

// do queues a write as soon does, and waits for its result.
func (s *Store) do(ctx context.Context, w write, done func()) error {
	result := make(chan error, 1)
	if err := s.queue.PutWait(ctx, job{w, done, result}); err != nil {
		return errors.Join(err, s.writeError())
	}
	s.queue.Hurry()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.writeError())
	}
}

// Sync waits until all that was told before has been written, and returns why it couldn't be.
func (s *Store) Sync(ctx context.Context) error {
	return s.do(ctx, func(context.Context, *sql.Tx) error { return nil }, nil)
}

const (
	maxBatch = 256                   // writes that go into one transaction
	maxWait  = 50 * time.Millisecond // for others to share it
)

// write writes jobs together, and when that fails for one of them, each alone. While the file as a whole can't be used it
// tries again until Close begins, without jobs, too.
func (s *Store) write(jobs []job) {
	if len(jobs) == 0 && s.broken.Load() == nil {
		return
	}
	var err error
	s.queue.Retry(func() bool {
		if err = s.transact(jobs); !s.db.Failed(err) {
			return true
		}
		s.fault(err)
		return false
	})
	if err == nil {
		s.broken.Store(nil)
	} else if len(jobs) > 1 && !s.db.Failed(err) {
		for i := range jobs {
			s.write(jobs[i : i+1])
		}
		return
	}
	for _, j := range jobs {
		if err == nil && j.done != nil {
			j.done()
		}
		switch {
		case j.result != nil:
			j.result <- err
		case err != nil:
			s.dropped.Add(1)
			s.cfg.Logger.Error("writing what surrounds conversations failed", "error", err)
		}
	}
}

func (s *Store) transact(jobs []job) (err error) {
	ctx := context.Background()
	if err := s.db.Ready(ctx); err != nil {
		return err
	}
	if err := s.prepareHot(ctx); err != nil {
		return err
	}
	tx, err := s.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
			clear(s.books)
			clear(s.late)
		}
	}()
	for _, j := range jobs {
		if err := j.write(ctx, tx); err != nil {
			return err
		}
	}
	late, err := s.sumUpLate(ctx, tx)
	if err != nil {
		return err
	}
	if err := s.purge(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	late.done()
	return nil
}

// prepareHot prepares the statements of a message in a channel, once: parsing them takes longer than running them.
func (s *Store) prepareHot(ctx context.Context) (err error) {
	for _, query := range []string{upsertHuman, upsertPresent, insertSaying, sawProfile, upsertChannel} {
		if s.hot[query] == nil && err == nil {
			s.hot[query], err = s.db.Writer.PrepareContext(ctx, query)
		}
	}
	return err
}

// prepared is one of those in a transaction, which closes it.
func (s *Store) prepared(ctx context.Context, tx *sql.Tx, query string) *sql.Stmt {
	return tx.StmtContext(ctx, s.hot[query])
}

// purgeEvery is how often what is past its time is looked for.
const purgeEvery = time.Hour

// purge deletes events and runs past their time, and the paragraphs of such days. Summaries of whole days stay as they
// are: there is nothing left for a model to word.
func (s *Store) purge(ctx context.Context, tx *sql.Tx) error {
	now := s.cfg.Clock()
	if now.Sub(s.purged) < purgeEvery {
		return nil
	}
	limit := now.Add(-s.cfg.EventsTTL)
	for _, query := range []string{
		"DELETE FROM events WHERE at < ?", "DELETE FROM digests WHERE kind = 'paragraph' AND last_at < ?", "DELETE FROM runs WHERE last < ?",
		"UPDATE digests SET due = 0 WHERE due = 1 AND first_at < ?",
	} {
		if _, err := tx.ExecContext(ctx, query, limit.UnixMilli()); err != nil {
			return err
		}
	}
	if err := purgePeople(ctx, tx, now); err != nil {
		return err
	}
	s.purged = now
	return nil
}

// fault notes why the file can't be used, and logs it when that begins.
func (s *Store) fault(err error) {
	if s.broken.Swap(&err) == nil {
		s.cfg.Logger.Error("the ambient store cannot be used, writes wait", "error", err)
	}
}

func (s *Store) writeError() error {
	if err := s.broken.Load(); err != nil {
		return fmt.Errorf("writing ambient store: %w", *err)
	}
	return nil
}

// QueueLen is how many writes wait.
func (s *Store) QueueLen() int { return s.queue.Len() }

// Lost is how many writes were given up: the queue was full, or the file refused them.
func (s *Store) Lost() int64 { return s.dropped.Load() }

// Check returns nil if the store can be read and its last write went through, else why not.
func (s *Store) Check(ctx context.Context) error {
	if err := s.writeError(); err != nil {
		return err
	}
	var some bool
	if err := s.db.Reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM events)").Scan(&some); err != nil {
		return fmt.Errorf("reading ambient store: %w", err)
	}
	return nil
}

// Close writes what is queued, once more if the file can't be used, and closes the file. Closing twice is fine.
func (s *Store) Close() (err error) {
	s.once.Do(func() { err = s.close() })
	return err
}

func (s *Store) close() error {
	s.runner.Close() // its jobs may still write
	s.queue.Close()
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("closing ambient store: %w", err)
	}
	return nil
}
