package memory

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/understudy-ai/understudy/internal/batch"
	"github.com/understudy-ai/understudy/internal/sqlite"
)

//go:embed migrations
var embedded embed.FS

// Capture says what [Store.Learn] keeps.
type Capture string

// The capture modes.
const (
	CaptureTurns Capture = "turns" // memories, and what was said, for TurnTTL
	CaptureFacts Capture = "facts" // memories only
	CaptureOff   Capture = "off"   // nothing
)

// errUnopened says that the file could not be opened yet.
var errUnopened = errors.New("memory is not open yet")

// defaultQueue is the number of exchanges that may wait: a second's worth of
// a busy proxy, and at most 64 MiB at the size to which Learn cuts them.
const defaultQueue = 1024

// Config configures a store.
type Config struct {
	Path   string       // the SQLite file; required
	Logger *slog.Logger // nil: silent

	// Clock returns the present time; nil: time.Now.
	Clock func() time.Time

	QueueSize int           // exchanges that may wait to be learned; 0: 1024
	TurnTTL   time.Duration // age at which turns are deleted; 0: never
	Capture   Capture       // "": CaptureTurns

	// IndexBytes bounds what the recall indexes of all scopes take in RAM
	// together; 0: 64 MiB, about 75,000 memories. A scope that would take more
	// than half of it is searched in the file, which is slower.
	IndexBytes int64

	// Zone, if set, names the zone of an agent's days, by which "yesterday" gets
	// its date; nil, or a nil zone: UTC.
	Zone func(agent string) *time.Location

	// Model, if set, reads what people say beside the rules, one message at a
	// time and after the answer. Nothing waits for it; see [Question].
	Model Model

	// Embedder, if set, makes vectors of meaning beside the static table.
	Embedder *Embedder

	// OnLearned, if set, is told what became of each statement that was
	// learned or added: an outcome of [Outcome], or with an empty type
	// "failed" for an exchange that could not be written and "unread" for one that
	// Model has not read. It may be called from
	// several goroutines and must not call the store.
	OnLearned func(Type, string)

	// OnNews, if set, is told of each memory that was stored because of what
	// somebody said, once it is in the file. The same holds for it as for
	// OnLearned, and it must not block: what is learned next waits for it.
	OnNews func(News)

	// OnChange, if set, is told whose memories a write has changed, user "" for
	// the workspace's. The same holds for it as for OnLearned.
	OnChange func(tenant, agent, user string)

	// OnIndex, if set, is told of each recall whether the index answered it
	// (true) or the file did. The same holds for it as for OnLearned.
	OnIndex func(hit bool)
}

// Store is a memory store over one SQLite file. All methods are safe for
// concurrent use.
type Store struct {
	cfg Config
	db  *sqlite.DB

	index  *index
	briefs digests[Brief]
	known  digests[Knowledge]

	// opened says that what is prepared below has been. It stays when the file
	// fails later: statements are prepared again on new connections.
	opened atomic.Bool

	// The two queries of a recall from the file, prepared: parsing them is a
	// third of what they cost.
	pinnedStmt, matchesStmt *sql.Stmt

	turn     chan struct{} // holds one entry while a write is under way
	wiping   wiping
	prepared map[string]*sql.Stmt // the statements of writes that are hot; fixed

	extractor *extractor // nil without a model
	embedder  *embedder  // nil without a model

	queue  *batch.Queue[Exchange]
	purged time.Time // when turns past their TTL were looked for last; the writer's
	once   sync.Once // closes

	// broken is why the file can't be used or the writer's last batch was not
	// written, nil after a good one.
	broken atomic.Pointer[error]
}

// Open opens the store, creating its file when it is missing, deletes turns
// that are past their time, and starts the writer. A file that can't be used
// for now, because it is locked, read-only, damaged or its disk full, is no
// error: Check says so, exchanges wait, and the writer opens it as soon as it
// can. The error wraps [sqlite.ErrNewer] when a newer build wrote the file.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg = withDefaults(cfg)
	switch cfg.Capture {
	case CaptureTurns, CaptureFacts, CaptureOff:
	default:
		return nil, fmt.Errorf("opening memory: capture %q is none of turns, facts, off", cfg.Capture)
	}

	migrations, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, fmt.Errorf("opening memory: %w", err)
	}
	db, err := sqlite.New(cfg.Path, migrations)
	if err != nil {
		return nil, fmt.Errorf("opening memory: %w", err)
	}

	s := &Store{
		cfg: cfg, db: db, turn: make(chan struct{}, 1), prepared: map[string]*sql.Stmt{},
		queue: batch.New[Exchange](cfg.QueueSize, maxBatch, maxWait), purged: cfg.Clock(),
	}
	if s.index, err = newIndex(db.Reader, cfg.Logger, cfg.IndexBytes, cfg.model()); err != nil {
		return nil, errors.Join(fmt.Errorf("opening memory: %w", err), db.Close())
	}
	if err = s.ready(ctx); s.failed(err) {
		s.fault(err)
		s.queue.Hurry() // the writer tries until it can be used
	} else if err != nil {
		s.index.close()
		return nil, errors.Join(fmt.Errorf("opening memory: %w", err), db.Close())
	}
	s.extractor = newExtractor(s)
	s.startEmbedder()
	go s.queue.Run(s.learn) // Close ends and awaits it.

	return s, nil
}

// ready opens the file and prepares statements, once, and after a failure the
// file again. Only one write at a time may call it.
func (s *Store) ready(ctx context.Context) (err error) {
	if err = s.db.Ready(ctx); err != nil || s.opened.Load() {
		return err
	}
	if err = s.purge(ctx); err != nil {
		return err
	}
	for _, query := range hot() {
		if s.prepared[query] != nil {
			continue
		}
		if s.prepared[query], err = s.db.Writer.PrepareContext(ctx, query); err != nil {
			return err
		}
	}
	if s.pinnedStmt, err = s.db.Reader.PrepareContext(ctx, selectPinned); err != nil {
		return err
	}
	if s.matchesStmt, err = s.db.Reader.PrepareContext(ctx, selectMatches); err != nil {
		return err
	}
	s.opened.Store(true)

	return nil
}

// failed reports whether an error is about the file as a whole. What a damaged
// file held is not in the one that takes its place.
func (s *Store) failed(err error) bool {
	if sqlite.Damaged(err) {
		s.index.clear()
	}

	return s.db.Failed(err)
}

// fault notes why the file can't be used, and logs it when that begins.
func (s *Store) fault(err error) {
	if s.broken.Swap(&err) == nil {
		s.cfg.Logger.Error("memory cannot be used, exchanges wait", "error", err)
	}
}

// readFailed takes the error of a reader, nil too. If it is about the file as a
// whole, the writer is to try until the file can be used again.
func (s *Store) readFailed(err error) {
	if !s.failed(err) {
		return
	}
	s.fault(err)
	s.queue.Hurry()
}

// model is the name of the embedder's model, "" without one.
func (cfg *Config) model() string {
	if cfg.Embedder == nil {
		return ""
	}

	return cfg.Embedder.Model
}

func withDefaults(cfg Config) Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.QueueSize <= 0 {
		cfg.QueueSize = defaultQueue
	}
	if cfg.Capture == "" {
		cfg.Capture = CaptureTurns
	}
	if cfg.IndexBytes <= 0 {
		cfg.IndexBytes = defaultIndexBytes
	}
	if cfg.Zone == nil {
		cfg.Zone = func(string) *time.Location { return nil }
	}
	if cfg.OnChange == nil {
		cfg.OnChange = func(string, string, string) {}
	}
	if cfg.OnLearned == nil {
		cfg.OnLearned = func(Type, string) {}
	}
	if cfg.OnIndex == nil {
		cfg.OnIndex = func(bool) {}
	}

	return cfg
}

const purgeTurns = `DELETE FROM exchanges WHERE at < ?`

// purge deletes exchanges older than the TTL; their turns go with them.
func (s *Store) purge(ctx context.Context) error {
	if s.cfg.TurnTTL <= 0 {
		return nil
	}
	limit := s.cfg.Clock().Add(-s.cfg.TurnTTL).UnixMilli()
	if _, err := s.db.Writer.ExecContext(ctx, purgeTurns, limit); err != nil {
		return fmt.Errorf("purging old turns: %w", err)
	}

	return nil
}

// Count returns how many memories the store holds over all scopes, history and
// quarantine included.
func (s *Store) Count(ctx context.Context) (int, error) {
	var n int
	if err := s.db.Reader.QueryRowContext(ctx, "SELECT count(*) FROM memories").Scan(&n); err != nil {
		return 0, fmt.Errorf("counting memories: %w", err)
	}

	return n, nil
}

// Unheard returns how many exchanges wait for the extractor's model.
func (s *Store) Unheard() int {
	if s.extractor == nil {
		return 0
	}

	return s.extractor.queue.Len()
}

// Unembedded returns how many queries wait for a vector of the embedder's model.
func (s *Store) Unembedded() int {
	if s.embedder == nil {
		return 0
	}

	return len(s.embedder.queries)
}

// EmbeddingsLost returns how often a query or a memory did not get a vector of
// the embedder's model: there were too many at once, or the call failed.
func (s *Store) EmbeddingsLost() int64 {
	if s.embedder == nil {
		return 0
	}

	return s.embedder.lost.Load()
}

// QueueLen returns how many exchanges wait for the writer to take them.
func (s *Store) QueueLen() int { return s.queue.Len() }

// Check returns nil if the store can be read and its last write went through,
// else why not.
func (s *Store) Check(ctx context.Context) error {
	var n int
	if err := s.db.Reader.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM memories)").Scan(&n); err != nil {
		s.readFailed(err)
		return fmt.Errorf("reading memory: %w", err)
	}
	if err := s.broken.Load(); err != nil {
		return fmt.Errorf("writing memory: %w", *err)
	}

	return nil
}

// Close refuses further exchanges, writes all that are queued, and closes the
// file. Closing twice is fine.
func (s *Store) Close() (err error) {
	s.once.Do(func() { err = s.close() })

	return err
}

func (s *Store) close() error {
	s.queue.Close()
	s.extractor.close()
	s.embedder.close()
	s.index.close()

	var errs []error
	for _, st := range append(slices.Collect(maps.Values(s.prepared)), s.pinnedStmt, s.matchesStmt) {
		if st != nil {
			errs = append(errs, st.Close())
		}
	}
	if err := errors.Join(append(errs, s.db.Close())...); err != nil {
		return fmt.Errorf("closing memory: %w", err)
	}

	return nil
}
