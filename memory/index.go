package memory

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/understudy-ai/understudy/internal/embed"
	"github.com/understudy-ai/understudy/internal/sqlite"
)

const (
	// defaultIndexBytes holds about 75,000 memories.
	defaultIndexBytes = 64 << 20

	// maxLoads is how many tables may load at once. Requests whose scopes are
	// cold meanwhile read the file, and for them the other half of the reading
	// connections stays free.
	maxLoads = 2

	// bytesPerCounter sizes the cache's record of how often scopes are asked
	// for: a few counters for each of the smallest tables.
	bytesPerCounter = tableBytes / 4
)

// index keeps the tables of the scopes that are in use, within a bound of
// bytes. It is never ahead of the file and, once a write has returned, never
// behind it:
//   - one write at a time commits and then hands its changes to apply, so
//     that changes arrive in the order of their commits;
//   - a table that loads meanwhile gets them all once more after what it read,
//     and each says how a row now is, so that it may have been read already;
//   - what may or may not have been committed makes its tables be read anew.
type index struct {
	db      *sql.DB // for reading
	logger  *slog.Logger
	bound   int64 // bytes of one table
	scratch sync.Pool
	embed   *embed.Table
	model   string // the embedder's; "": there is none

	loading context.Context // ends with close
	stop    context.CancelFunc
	group   sync.WaitGroup // the loads

	// mu is held for reading to look a table up, and for writing to change
	// which there are, until the cache has settled: it takes changes by a
	// queue of its own.
	mu     sync.RWMutex
	cache  *ristretto.Cache[string, *table] // by Scope.name
	loads  map[string]*load
	closed bool
}

// load is a table on its way; guarded by the index.
type load struct {
	changes []change // that came meanwhile
	void    bool     // what it reads can't be relied on

	done chan struct{} // closed when it is over
}

func newIndex(db *sql.DB, logger *slog.Logger, bytes int64, model string) (*index, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[string, *table]{
		NumCounters: max(bytes/bytesPerCounter, 1024),
		MaxCost:     bytes,
		BufferItems: 64, // As its authors advise.
	})
	if err != nil {
		return nil, fmt.Errorf("making the recall index: %w", err)
	}
	vectors, err := embed.Default()
	if err != nil {
		return nil, fmt.Errorf("making the recall index: %w", err)
	}
	x := &index{db: db, logger: logger, bound: bytes / 2, cache: cache, loads: map[string]*load{}, embed: vectors, model: model}
	x.scratch.New = func() any { return &scratch{} }
	x.loading, x.stop = context.WithCancel(context.Background())

	return x, nil
}

// close ends the loads and lets go of all tables.
func (x *index) close() {
	x.mu.Lock()
	x.closed = true
	x.mu.Unlock()
	x.stop()
	x.group.Wait()
	x.mu.Lock()
	x.cache.Close()
	x.mu.Unlock()
}

// recall answers from the tables that the scope sees. It reports false, and
// has them loaded, when they aren't there.
func (x *index) recall(scope Scope, r recallRequest) (Recalled, bool) {
	v, ok := x.view(scope)
	if !ok || !v.lock() {
		return Recalled{}, false
	}
	defer v.unlock()
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)

	return v.recall(r, s), true
}

// view returns the tables that the scope sees, if all are there, and begins to
// load those that aren't.
func (x *index) view(scope Scope) (view, bool) {
	scopes := scope.sees()
	v := make(view, 0, len(scopes))
	x.mu.RLock()
	for _, sc := range scopes {
		if t := x.find(sc); t != nil {
			v = append(v, t)
		}
	}
	x.mu.RUnlock()
	if len(v) == len(scopes) {
		return v, true
	}
	for _, sc := range scopes {
		x.load(sc)
	}

	return nil, false
}

// await has the tables that the scope sees loaded, and waits for that as long
// as ctx does.
func (x *index) await(ctx context.Context, scope Scope) {
	if _, ok := x.view(scope); ok {
		return
	}
	for _, sc := range scope.sees() {
		x.mu.RLock()
		l := x.loads[sc.name()]
		x.mu.RUnlock()
		if l == nil {
			continue
		}
		select {
		case <-l.done:
		case <-ctx.Done():
		}
	}
}

// find returns the scope's table, or nil. The caller holds mu.
func (x *index) find(scope Scope) *table {
	if x.closed {
		return nil
	}
	t, ok := x.cache.Get(scope.name())
	if !ok || t.scope != scope { // The cache knows scopes by hashes.
		return nil
	}

	return t
}

// load begins to load the scope's table, unless it is there or on its way, or
// enough others are.
func (x *index) load(scope Scope) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || len(x.loads) >= maxLoads || x.loads[scope.name()] != nil || x.find(scope) != nil {
		return
	}
	l := &load{done: make(chan struct{})}
	x.loads[scope.name()] = l
	x.group.Go(func() {
		defer close(l.done)
		x.finish(scope, l, x.fetch(scope))
	})
}

// finish puts a loaded table, nil if that failed, into the cache.
func (x *index) finish(scope Scope, l *load, t *table) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.loads, scope.name())
	if t == nil || l.void || x.closed {
		return
	}
	t.apply(l.changes)
	x.keep(t)
}

// keep tells the cache a table's size, which may make it drop this or others.
// The caller holds mu.
func (x *index) keep(t *table) {
	t.mu.Lock()
	if t.bytes > x.bound {
		t.outgrow()
	}
	t.told = t.bytes
	t.mu.Unlock()

	name := t.scope.name()
	x.cache.Set(name, t, t.told)
	x.cache.Wait()
	if x.cache.RemainingCost() < 0 { // A table that grows isn't asked to make room; a new one is.
		x.cache.Del(name)
		x.cache.Set(name, t, t.told)
		x.cache.Wait()
	}
}

const selectTable = `SELECT n, id, external_id, type, content, subject, attribute, importance, source, created_at, valid_from, hits, session, name
	FROM memories WHERE tenant = ? AND agent = ? AND user = ? AND status = 'active' AND valid_to IS NULL ORDER BY n`

// fetch reads the scope's table from the file; nil if that fails.
func (x *index) fetch(scope Scope) *table {
	t := newTable(scope, x.embed)
	err := x.read(x.loading, t)
	if err == nil && x.model != "" {
		err = x.readOuters(x.loading, t)
	}
	if err != nil {
		if x.loading.Err() == nil && !sqlite.Unavailable(err) { // or recall from the file says so
			x.logger.Warn("loading a recall index", "error", err)
		}
		return nil
	}

	return t
}

func (x *index) read(ctx context.Context, t *table) error {
	rows, err := x.db.QueryContext(ctx, selectTable, t.scope.tenant, t.scope.agent, t.scope.user)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		item := Item{Agent: t.scope.agent, User: t.scope.user, Status: StatusActive}
		var row, created, from int64
		var typ, source string
		err = rows.Scan(&row, &item.ID, &item.ExternalID, &typ, &item.Content, &item.Subject, &item.Attribute,
			&item.Importance, &source, &created, &from, &item.Hits,
			&item.Session, &item.Name)
		if err != nil {
			return err
		}
		item.Type, item.Source = known(Type(typ), Types()...), known(source, SourceUser, SourceAssistant, SourceImported)
		item.CreatedAt, item.ValidFrom = time.UnixMilli(created).UTC(), time.UnixMilli(from).UTC()
		t.put(row, item, tokens(item.Content))
		if t.bytes > x.bound {
			t.outgrow()
			return nil
		}
	}

	return rows.Err()
}

const selectOuters = `SELECT v.memory, v.vector FROM memories m JOIN vectors v ON v.memory = m.n
	WHERE m.tenant = ? AND m.agent = ? AND m.user = ? AND v.model = ?`

// readOuters reads the vectors of the embedder's model.
func (x *index) readOuters(ctx context.Context, t *table) error {
	rows, err := x.db.QueryContext(ctx, selectOuters, t.scope.tenant, t.scope.agent, t.scope.user, x.model)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row int64
		var blob []byte
		if err = rows.Scan(&row, &blob); err != nil {
			return err
		}
		t.setOuter(row, outerOf(blob))
		if t.bytes > x.bound {
			t.outgrow()
			return nil
		}
	}

	return rows.Err()
}

// known returns the one of values that equals s, so that many items share its
// bytes, or s.
func known[S ~string](s S, values ...S) S {
	for _, v := range values {
		if v == s {
			return v
		}
	}

	return s
}
