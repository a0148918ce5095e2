package memory

import (
	"context"
	"sync"
	"time"
)

const (
	// maxDigests bounds the bytes of the digests of one kind that are kept,
	// some thousands of scopes.
	maxDigests = 16 << 20

	// digestAge is how long one may go on calling news what isn't any more.
	digestAge = time.Hour

	// What an item and an entry take beside their texts, roughly.
	itemOverhead   = 320
	digestOverhead = 256
)

// sized is a digest of a scope: something that is read from the file as a whole.
type sized interface{ size() int }

// digests keeps one kind of digest of single scopes. A write drops its scopes'
// entries, those that are being read as well, so that none is older than the
// last write that has returned.
type digests[T sized] struct {
	mu    sync.Mutex
	kept  map[Scope]*digest[T]
	bytes int
}

type digest[T sized] struct {
	value T
	ready bool // value has been read
	until time.Time
	bytes int
}

// of returns the digest of a scope, with read's help where none is kept.
func (d *digests[T]) of(ctx context.Context, now time.Time, scope Scope, read func(context.Context, Scope, time.Time) (T, error)) (T, error) {
	d.mu.Lock()
	if e := d.kept[scope]; e != nil && e.ready && now.Before(e.until) {
		d.mu.Unlock()
		return e.value, nil
	}
	e := &digest[T]{}
	d.put(scope, e)
	d.mu.Unlock()

	value, err := read(ctx, scope, now)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept[scope] != e { // Something changed meanwhile, or another call reads, too.
		return value, err
	}
	d.drop(scope)
	if err == nil {
		d.put(scope, &digest[T]{value: value, ready: true, until: now.Add(digestAge), bytes: value.size()})
	}

	return value, err
}

// outdate drops the digests that changes have made stale, and tells whose.
func (s *Store) outdate(changes []change) {
	s.briefs.apply(changes)
	s.known.apply(changes)
	var last Scope
	for i := range changes {
		if sc := changes[i].scope; changes[i].dates() && sc != last {
			s.cfg.OnChange(sc.tenant, sc.agent, sc.user)
			last = sc
		}
	}
}

// dates reports whether a change makes digests stale: those of a number or a
// vector don't.
func (c *change) dates() bool { return c.kind != changeHits && c.kind != changeOuter }

// put keeps an entry. When there is no room the cache starts over.
func (d *digests[T]) put(scope Scope, e *digest[T]) {
	d.drop(scope)
	e.bytes += digestOverhead
	if d.kept == nil || d.bytes+e.bytes > maxDigests {
		d.kept, d.bytes = map[Scope]*digest[T]{}, 0
	}
	d.kept[scope] = e
	d.bytes += e.bytes
}

func (d *digests[T]) drop(scope Scope) {
	if e := d.kept[scope]; e != nil {
		d.bytes -= e.bytes
		delete(d.kept, scope)
	}
}

// apply drops what changes have made stale.
func (d *digests[T]) apply(changes []change) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range changes {
		if changes[i].dates() {
			d.drop(changes[i].scope)
		}
	}
}
