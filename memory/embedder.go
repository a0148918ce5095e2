package memory

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Embedder has a model make vectors of meaning, beside the static table. No
// request waits for it.
type Embedder struct {
	// Model names the model. It is kept with each vector; vectors of another
	// name are not looked at and are made anew.
	Model string

	// Dimensions is how long its vectors should be; 0: as it makes them. What
	// comes is what counts: a memory whose vector isn't as long as the newest
	// answer's gets a new one.
	Dimensions int

	// MinCosine in [0, 1] is the cosine from which on a memory is recalled for
	// its meaning alone.
	MinCosine float64

	// Embed returns a vector for each text, all of one length. It accounts for
	// the call, which is made on behalf of the scope named in the question;
	// the question has no text of its own.
	Embed func(context.Context, Question, []string) ([][]float32, error)
}

const (
	// maxAsked bounds the queries that wait for a vector: what is older isn't
	// asked again soon.
	maxAsked = 64

	// maxEmbedded bounds the memories of one call.
	maxEmbedded = 32

	// maxDim bounds a vector. The longest of known models have 4096.
	maxDim = 8192

	// queryBytes bounds the vectors of queries in RAM: 4,000 of 1536 elements.
	queryBytes = 8 << 20

	// After a failure the embedder rests, twice as long each time.
	minRest = 250 * time.Millisecond
	maxRest = 5 * time.Minute
)

// unembedded is a query that waits for its vector.
type unembedded struct {
	scope Scope
	key   [sha256.Size]byte
	text  string
}

// embedder gets the vectors of memories and of queries, one call at a time.
type embedder struct {
	Embedder
	store   *Store
	queries chan unembedded
	wake    chan struct{} // holds one entry while there may be memories without a vector
	done    chan struct{}
	lost    atomic.Int64

	calls context.Context // ends with close
	stop  context.CancelFunc

	mu    sync.Mutex
	cache map[[sha256.Size]byte]outer // of queries; the zero outer: it has been asked for
	bytes int64                       // of cache
	after int64                       // memories up to this row have been looked at
	again bool                        // some of them in vain

	dim int // of the newest answer; 0: not yet known. Of run alone.
}

// startEmbedder starts the embedder of a store, if it is to have one.
func (s *Store) startEmbedder() {
	if s.cfg.Embedder == nil {
		return
	}
	e := &embedder{
		Embedder: *s.cfg.Embedder, store: s, dim: s.cfg.Embedder.Dimensions, cache: map[[sha256.Size]byte]outer{},
		queries: make(chan unembedded, maxAsked), wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	e.calls, e.stop = context.WithCancel(context.Background())
	e.rouse()
	s.embedder = e // It writes to the store, which tells it of that.
	go e.run()
}

// close ends the call under way.
func (e *embedder) close() {
	if e == nil {
		return
	}
	e.stop()
	<-e.done
}

func (e *embedder) rouse() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// hear takes what has been written: new memories want a vector.
func (e *embedder) hear(changes []change) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range changes {
		if c.kind == changePut {
			e.after = min(e.after, c.row-1) // The row of one that was deleted may be taken again.
			e.rouse()
		}
	}
}

// query returns the vector of what a scope asks. While there is none yet it has
// it asked for, and returns the zero outer.
func (e *embedder) query(scope Scope, text string) outer {
	text = clip(text, maxQueryText)
	key := sha256.Sum256([]byte(scope.name() + "\x00" + text))
	e.mu.Lock()
	defer e.mu.Unlock()
	o, known := e.cache[key]
	if known {
		return o
	}
	select {
	case e.queries <- unembedded{scope, key, strings.Clone(text)}:
		e.keep(key, outer{})
	default:
		e.lost.Add(1)
	}

	return outer{}
}

// keep caches the vector of a query, and drops any others that there is no room
// for. The caller holds mu.
func (e *embedder) keep(key [sha256.Size]byte, o outer) {
	e.drop(key)
	for k := range e.cache {
		if e.bytes+o.bytes() <= queryBytes {
			break
		}
		e.drop(k)
	}
	e.cache[key] = o
	e.bytes += o.bytes()
}

func (e *embedder) drop(key [sha256.Size]byte) {
	if o, known := e.cache[key]; known {
		e.bytes -= o.bytes()
		delete(e.cache, key)
	}
}

func (e *embedder) run() {
	defer close(e.done)
	rest := time.Duration(0)
	for {
		var err error
		select {
		case <-e.calls.Done():
			return
		case q := <-e.queries:
			err = e.answer(q)
		case <-e.wake:
			err = e.sweep()
		}
		if err == nil {
			rest = 0
			continue
		}
		rest = min(max(2*rest, minRest), maxRest)
		if e.calls.Err() == nil {
			e.store.cfg.Logger.Warn("the embedder's model", "error", err, "rest", rest)
		}
		select {
		case <-e.calls.Done():
		case <-time.After(rest):
		}
	}
}

// answer gets the vector of a query.
func (e *embedder) answer(q unembedded) error {
	blobs, err := e.ask(q.scope, []string{Redact(q.text)})
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.drop(q.key)
		e.lost.Add(1)
		return err
	}
	e.keep(q.key, outerOf(blobs[0]))

	return nil
}

// ask makes one call. Where the dimension isn't what it was, all memories are
// looked at again, after a rest: an upstream that keeps changing it mustn't cost
// a call after the other.
func (e *embedder) ask(scope Scope, texts []string) ([][]byte, error) {
	ctx, cancel := context.WithTimeout(e.calls, modelTimeout)
	defer cancel()
	vectors, err := e.Embed(ctx, Question{Tenant: scope.tenant, Agent: scope.agent, User: scope.user}, texts)
	if err != nil {
		return nil, fmt.Errorf("embedding: %w", err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embedding: %d vectors of %d texts", len(vectors), len(texts))
	}
	blobs := make([][]byte, len(vectors))
	for i, v := range vectors {
		if len(v) == 0 || len(v) > maxDim || len(v) != len(vectors[0]) {
			return nil, fmt.Errorf("embedding: a vector of %d elements", len(v))
		}
		blobs[i] = quantized(v)
	}
	was, dim := e.dim, len(vectors[0])
	if dim == was {
		return blobs, nil
	}
	e.mu.Lock()
	e.dim, e.after = dim, 0
	e.mu.Unlock()
	e.rouse()
	if was != 0 {
		return nil, fmt.Errorf("embedding: vectors now have %d elements, not %d", dim, was)
	}

	return blobs, nil
}

const (
	selectBare = `SELECT m.n, m.id, m.tenant, m.agent, m.user, m.content FROM memories m LEFT JOIN vectors v ON v.memory = m.n
		WHERE m.n > ?1` + recallable + `AND (v.memory IS NULL OR v.model <> ?2 OR ?3 <> 0 AND v.dim <> ?3) ORDER BY m.n LIMIT ?4`

	// The row may meanwhile hold another memory, or none.
	insertVector = `INSERT OR REPLACE INTO vectors (memory, model, dim, vector) SELECT n, ?, ?, ? FROM memories WHERE n = ? AND id = ?`
)

// bare is a memory without a vector that counts.
type bare struct {
	row         int64
	id, content string
}

// sweep gives the next few memories of one scope a vector, and has itself called
// again while there may be more. Those for which it fails come once more at the
// end, so that none holds up all others.
func (e *embedder) sweep() error {
	scope, found, err := e.next()
	if err != nil || len(found) == 0 {
		return err
	}
	e.rouse()
	texts := make([]string, len(found))
	for i, b := range found {
		texts[i] = b.content
	}
	blobs, err := e.ask(scope, texts)
	if err == nil {
		err = e.store.write(e.calls, func(ctx context.Context, tx *txn) error { return e.put(ctx, tx, scope, found, blobs) })
	}
	if err != nil {
		e.mu.Lock()
		e.again = true
		e.mu.Unlock()
		e.lost.Add(int64(len(found)))
	}

	return err
}

func (e *embedder) put(ctx context.Context, tx *txn, scope Scope, found []bare, blobs [][]byte) error {
	for i, b := range found {
		res, err := tx.ExecContext(ctx, insertVector, e.Model, len(blobs[i]), blobs[i], b.row, b.id)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n > 0 {
			tx.note(change{scope: scope, kind: changeOuter, row: b.row, outer: outerOf(blobs[i])})
		}
	}

	return nil
}

// next returns memories of one scope that want a vector, none if none does.
func (e *embedder) next() (scope Scope, found []bare, err error) {
	e.mu.Lock()
	from := e.after
	e.after = math.MaxInt64 // What hear says meanwhile holds.
	e.mu.Unlock()
	last := from
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.after = min(e.after, last)
		if err != nil || len(found) == 0 && e.again {
			e.after, e.again = 0, false
			e.rouse()
		}
	}()

	rows, err := e.store.db.Reader.QueryContext(e.calls, selectBare, from, e.Model, e.dim, maxEmbedded)
	if err != nil {
		return scope, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var b bare
		var s Scope
		if err = rows.Scan(&b.row, &b.id, &s.tenant, &s.agent, &s.user, &b.content); err != nil {
			return scope, nil, err
		}
		if len(found) > 0 && s != scope {
			break
		}
		scope, found, last = s, append(found, b), b.row
	}

	return scope, found, rows.Err()
}
