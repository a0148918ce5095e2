package memory

// change is what a write does to what a scope can recall.
type change struct {
	scope Scope
	kind  changeKind
	row   int64 // memories.n

	item  Item     // changePut
	words []string // its tokens
	hits  int      // changeHits
	outer outer    // changeOuter
}

type changeKind int

const (
	changePut    changeKind = iota // the row holds item
	changeRemove                   // the row is no longer recalled
	changeHits                     // the row has been stated that often
	changeClear                    // the scope has no rows
	changeOuter                    // the row has a vector of the embedder's model
)

// apply brings the tables up to changes that have been committed.
func (x *index) apply(changes []change) {
	for len(changes) > 0 {
		scope, n := changes[0].scope, 1
		for n < len(changes) && changes[n].scope == scope {
			n++
		}
		x.applyTo(scope, changes[:n])
		changes = changes[n:]
	}
}

func (x *index) applyTo(scope Scope, changes []change) {
	x.mu.RLock()
	l, t := x.loads[scope.name()], x.find(scope)
	if l != nil {
		l.changes = append(l.changes, changes...) // Only the one write under way does.
	}
	x.mu.RUnlock()
	if t == nil || !t.apply(changes) {
		return
	}

	x.mu.Lock()
	defer x.mu.Unlock()
	if x.find(scope) == t { // Not dropped meanwhile.
		x.keep(t)
	}
}

// void drops the tables of changes of which nobody knows if they were
// committed.
func (x *index) void(changes []change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	for _, c := range changes {
		name := c.scope.name()
		if l := x.loads[name]; l != nil {
			l.void = true
		}
		x.cache.Del(name)
	}
	x.cache.Wait()
}

// clear drops all tables.
func (x *index) clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return
	}
	for _, l := range x.loads {
		l.void = true
	}
	x.cache.Clear()
}

// apply makes the changes, and reports whether the table's size has changed by
// so much that the cache should know.
func (t *table) apply(changes []change) (resized bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range changes {
		switch c := &changes[i]; c.kind {
		case changePut:
			t.put(c.row, c.item, c.words)
		case changeRemove:
			t.remove(c.row)
		case changeHits:
			t.setHits(c.row, c.hits)
		case changeOuter:
			t.setOuter(c.row, c.outer)
		case changeClear:
			t.clear()
			t.huge = false
		}
	}

	return max(t.bytes, t.told) > min(t.bytes, t.told)*9/8
}
