package ambient

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// cache holds what was used lately: what was asked for since the last turn of generations, and the generation before. A
// generation turns when it has too many bytes.
type cache[K comparable, V any] struct {
	limit int // bytes of a generation, by estimate; not changed in use

	mu           sync.Mutex // never held while an entry's own is taken
	fresh, stale map[K]*cached[V]
	bytes        int // of fresh
}

// cached is an entry and its share of the bytes.
type cached[V any] struct {
	value V
	bytes int
}

// entryBytes is what an entry takes at least.
const entryBytes = 300

// caches is how many there are; each has two generations.
const caches = 3

// find returns an entry, nil when there is none and create is nil.
func (c *cache[K, V]) find(key K, create func() V) *V {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.fresh[key]; found != nil {
		return &found.value
	}
	found := c.stale[key]
	if found == nil {
		if create == nil {
			return nil
		}
		found = &cached[V]{value: create(), bytes: entryBytes}
	}
	delete(c.stale, key)
	if c.fresh == nil {
		c.fresh = map[K]*cached[V]{}
	}
	c.fresh[key] = found
	c.grow(found.bytes)
	return &found.value
}

// grow counts bytes, and turns the generations when there are too many. mu is held.
func (c *cache[K, V]) grow(bytes int) {
	if c.bytes += bytes; c.bytes > c.limit {
		c.fresh, c.stale, c.bytes = nil, c.fresh, 0
	}
}

// grew counts the bytes that an entry has grown by.
func (c *cache[K, V]) grew(key K, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.fresh[key]; found != nil {
		found.bytes += bytes
		c.grow(bytes)
	} else if found := c.stale[key]; found != nil {
		found.bytes += bytes
	}
}

// drop drops the entries that match, so that they are loaded anew.
func (c *cache[K, V]) drop(match func(K, *V) bool) {
	c.mu.Lock()
	all := make(map[K]*V, len(c.fresh)+len(c.stale))
	for _, generation := range []map[K]*cached[V]{c.stale, c.fresh} {
		for key, found := range generation {
			all[key] = &found.value
		}
	}
	c.mu.Unlock()
	for key, v := range all {
		if !match(key, v) {
			delete(all, key)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range all {
		if found := c.fresh[key]; found != nil {
			c.bytes -= found.bytes
		}
		delete(c.fresh, key)
		delete(c.stale, key)
	}
}

// lazy is the part of an entry that comes from the file. It is loaded when it is first asked for; from then on the writer
// keeps it up to date. Both hold mu while they do, and what the writer tells can be told twice.
type lazy struct {
	mu     sync.Mutex
	loaded bool
	tried  time.Time // when loading failed
}

// retryLoad is for how long a file that could not be read is left alone.
const retryLoad = time.Second

// errNotLoaded says that loading failed a moment ago.
var errNotLoaded = errors.New("the ambient store can't be read for now")

// lock locks the entry, loaded. When it returns nil the caller must unlock mu.
func (l *lazy) lock(ctx context.Context, s *Store, load func(context.Context, *sql.DB) error) error {
	l.mu.Lock()
	if l.loaded {
		return nil
	}
	err := errNotLoaded
	if now := s.cfg.Clock(); now.Sub(l.tried) >= retryLoad {
		if err = load(ctx, s.db.Reader); err != nil {
			l.tried = now
		}
	}
	if err != nil {
		l.mu.Unlock()
		return err
	}
	l.loaded = true
	return nil
}
