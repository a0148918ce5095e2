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

	queue chan job
	gate  sync.RWMutex // held for reading while sending to queue
	shut  bool         // guarded by gate
	done  chan struct{}
	stop  context.CancelFunc // ends waiting for a file that can't be used

	rooms   cache[roomKey, room]
	streets cache[agentKey, street]
	feeds   cache[hall, feed]
	lately  lately
	graves  graves

	briefings briefings
	syntheses syntheses
	wiped     atomic.Int64 // how often something was forgotten that texts may have been made of
	runner    *background.Runner

	broken  atomic.Pointer[error] // why the last write failed, nil when it didn't
	dropped atomic.Int64

	// What follows belongs to the writer.
	books  map[hall]*book   // emptied when a transaction fails
	late   map[hallDay]bool // days that are over and got events in the transaction under way
	purged time.Time        // when old events were deleted last
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

var errClosed = errors.New("ambient store is closed")

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
	writing, stop := context.WithCancel(context.Background())
	s := &Store{
		cfg: cfg, db: db, queue: make(chan job, cfg.Queue), done: make(chan struct{}), stop: stop,
		books: map[hall]*book{}, late: map[hallDay]bool{},
	}
	limit := cfg.CacheBytes / (2 * caches)
	s.rooms.limit, s.streets.limit, s.feeds.limit = limit, limit, limit
	if err := db.Ready(ctx); db.Failed(err) {
		s.fault(err)
		s.later(func(context.Context, *sql.Tx) error { return nil }, nil) // so that the writer tries until it can
	} else if err != nil {
		stop()
		return nil, fmt.Errorf("opening ambient store: %w", errors.Join(err, db.Close()))
	}
	s.runner = background.New(background.Config{
		Jobs: s.jobs(), Clock: cfg.Clock, Logger: cfg.Logger, CallsPerHour: cfg.Background.CallsPerHour, USDPerHour: cfg.Background.USDPerHour,
	})
	go s.run(writing) // ends when the queue is closed; Close waits for it
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
// nothing. It is false, and the write counted as lost, when the queue is full.
func (s *Store) later(w write, done func()) bool {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if !s.shut {
		select {
		case s.queue <- job{write: w, done: done}:
			return true
		default:
		}
	}
	s.dropped.Add(1)
	return false
}

// do queues a write as later does, and waits for its result.
func (s *Store) do(ctx context.Context, w write, done func()) error {
	result := make(chan error, 1)
	if err := s.send(ctx, job{w, done, result}); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.writeError())
	}
}

func (s *Store) send(ctx context.Context, j job) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.shut {
		return errClosed
	}
	select {
	case s.queue <- j:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), s.writeError())
	}
}

// Sync waits until all that was told before has been written, and returns why it couldn't be.
func (s *Store) Sync(ctx context.Context) error {
	return s.do(ctx, func(context.Context, *sql.Tx) error { return nil }, nil)
}

// batch is how many writes go into one transaction at most.
const batch = 256

// run writes what is queued, as much as there is in one transaction.
func (s *Store) run(ctx context.Context) {
	defer close(s.done)
	jobs := make([]job, 0, batch)
	for first := range s.queue {
		jobs = append(jobs[:0], first)
	gather:
		for len(jobs) < batch {
			select {
			case next, open := <-s.queue:
				if !open {
					break gather
				}
				jobs = append(jobs, next)
			default:
				break gather
			}
		}
		s.writeAll(ctx, jobs)
		clear(jobs)
	}
}

// retryEvery is how often a file that can't be used is tried again.
const retryEvery = time.Second

// writeAll writes jobs together, and when that fails for one of them, each alone. While the file as a whole can't be used
// it tries again until Close begins.
func (s *Store) writeAll(ctx context.Context, jobs []job) {
	err := s.transact(jobs)
	for s.db.Failed(err) {
		s.fault(err)
		select {
		case <-time.After(retryEvery):
			err = s.transact(jobs)
			continue
		case <-ctx.Done():
		}
		err = s.transact(jobs) // the last try
		break
	}
	if err == nil {
		s.broken.Store(nil)
	} else if len(jobs) > 1 && !s.db.Failed(err) {
		for i := range jobs {
			s.writeAll(ctx, jobs[i:i+1])
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
func (s *Store) QueueLen() int { return len(s.queue) }

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
func (s *Store) Close() error {
	s.runner.Close() // its jobs may still write
	s.stop()
	s.gate.Lock()
	if s.shut {
		s.gate.Unlock()
		return nil
	}
	s.shut = true
	close(s.queue)
	s.gate.Unlock()
	<-s.done
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("closing ambient store: %w", err)
	}
	return nil
}
