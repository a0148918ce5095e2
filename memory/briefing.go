package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// maxBrief bounds each list of a brief: twice what the largest model is
	// shown, because some of it will be in its prompt already.
	maxBrief = 20

	// lately is for how long a change is news.
	lately = 7 * 24 * time.Hour

	// maxBriefCache bounds the bytes of the briefs that are kept, some
	// thousands of scopes.
	maxBriefCache = 16 << 20

	// briefAge is how long a kept brief may go on calling news what isn't any
	// more.
	briefAge = time.Hour
)

// Brief is what a scope remembers apart from any question: what a newcomer
// would be told first. Nothing in it may be changed by the caller, since
// others get it, too.
type Brief struct {
	State   []Item   // current decisions and facts, the most important first, then the newest
	Work    []Item   // open goals and to-dos, in the same order
	Changes []Change // what was added or replaced in the last seven days, the newest first
	// Entities names what State is about, what is mentioned most first.
	Entities []string
}

// Change is a memory that is new, and what it took the place of.
type Change struct {
	Item
	Was string // content of the memory that it replaced; "" for none
}

// Brief returns the scope's brief: the workspace's memories and the user's own.
// Of each scope it is read from the file once after every change, and kept in
// RAM. It errs with [ErrScope], ctx's error, or what the file says.
func (s *Store) Brief(ctx context.Context, scope Scope) (Brief, error) {
	if err := scope.check(); err != nil {
		return Brief{}, fmt.Errorf("briefing: %w", err)
	}
	var out Brief
	for i, sc := range scope.sees() {
		part, err := s.briefs.of(ctx, s, sc)
		if err != nil {
			return Brief{}, fmt.Errorf("briefing: %w", err)
		}
		if i == 0 {
			out = part
			continue
		}
		out = Brief{
			State: mergeBrief(out.State, part.State, byWeight), Work: mergeBrief(out.Work, part.Work, byWeight),
			Changes: mergeBrief(out.Changes, part.Changes, byNews), Entities: mergeNames(part.Entities, out.Entities),
		}
	}

	return out, nil
}

func byWeight(a, b Item) int {
	return cmp.Or(cmp.Compare(b.Importance, a.Importance), b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

func byNews(a, b Change) int {
	return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
}

// mergeBrief merges two lists in order, up to maxBrief.
func mergeBrief[T any](a, b []T, order func(a, b T) int) []T {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0:
		return a
	}

	return firstOf(slices.Concat(a, b), order)
}

func mergeNames(a, b []string) []string {
	out := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}

	return out[:min(len(out), maxBrief)]
}

// briefs keeps the briefs of single scopes. A write drops its scopes' entries,
// those that are being read as well, so that no brief is older than the last
// write that has returned.
type briefs struct {
	mu    sync.Mutex
	kept  map[Scope]*briefEntry
	bytes int
}

type briefEntry struct {
	brief Brief
	ready bool // brief has been read
	until time.Time
	bytes int
}

func (b *briefs) of(ctx context.Context, s *Store, scope Scope) (Brief, error) {
	now := s.cfg.Clock()
	b.mu.Lock()
	if e := b.kept[scope]; e != nil && e.ready && now.Before(e.until) {
		b.mu.Unlock()
		return e.brief, nil
	}
	e := &briefEntry{}
	b.put(scope, e)
	b.mu.Unlock()

	brief, err := s.readBrief(ctx, scope, now)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept[scope] != e { // Something changed meanwhile, or another call reads, too.
		return brief, err
	}
	b.drop(scope)
	if err == nil {
		b.put(scope, &briefEntry{brief: brief, ready: true, until: now.Add(briefAge), bytes: brief.size()})
	}

	return brief, err
}

// put keeps an entry. When there is no room the cache starts over.
func (b *briefs) put(scope Scope, e *briefEntry) {
	b.drop(scope)
	e.bytes += briefOverhead
	if b.kept == nil || b.bytes+e.bytes > maxBriefCache {
		b.kept, b.bytes = map[Scope]*briefEntry{}, 0
	}
	b.kept[scope] = e
	b.bytes += e.bytes
}

func (b *briefs) drop(scope Scope) {
	if e := b.kept[scope]; e != nil {
		b.bytes -= e.bytes
		delete(b.kept, scope)
	}
}

// apply drops what changes have made stale.
func (b *briefs) apply(changes []change) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range changes {
		if kind := changes[i].kind; kind != changeHits && kind != changeOuter {
			b.drop(changes[i].scope)
		}
	}
}

// What an item and an entry take beside their texts, roughly.
const (
	itemOverhead  = 320
	briefOverhead = 256
)

func (b Brief) size() int {
	size := 0
	for _, items := range [][]Item{b.State, b.Work} {
		for i := range items {
			size += itemOverhead + len(items[i].Content)
		}
	}
	for i := range b.Changes {
		size += itemOverhead + len(b.Changes[i].Content) + len(b.Changes[i].Was)
	}

	return size
}

// newestOf selects the newest current memories of a type.
const newestOf = `SELECT * FROM (SELECT ` + columns + `, '' FROM memories m
	WHERE m.tenant = ?1 AND m.agent = ?2 AND m.user = ?3 AND m.type = `

const (
	newestLimit = recallable + `ORDER BY m.created_at DESC, m.n DESC LIMIT ?4) `

	selectBrief = newestOf + `'goal'` + newestLimit + ` UNION ALL ` + newestOf + `'decision'` + newestLimit + ` UNION ALL ` +
		newestOf + `'todo'` + newestLimit + ` UNION ALL ` + newestOf + `'fact'` + newestLimit + ` UNION ALL ` +
		newestOf + `'event'` + newestLimit

	selectReplaced = `SELECT ` + columns + `, o.content FROM memories o JOIN memories m ON m.id = o.superseded_by
		WHERE o.tenant = ?1 AND o.agent = ?2 AND o.user = ?3 AND o.status = 'active' AND o.superseded_by <> '' AND o.valid_to >= ?5
		AND m.tenant = ?1 AND m.agent = ?2 AND m.user = ?3` + recallable + `ORDER BY o.valid_to DESC LIMIT ?4`

	// selectAbout names what the newest decisions and facts mention.
	selectAbout = `SELECT e.label FROM (SELECT m.n FROM memories m
			WHERE m.tenant = ?1 AND m.agent = ?2 AND m.user = ?3 AND m.type IN ('decision', 'fact')` + recallable + `
			ORDER BY m.created_at DESC LIMIT ?4) state
		JOIN mentions t ON t.memory = state.n JOIN entities e ON e.id = t.entity
		GROUP BY e.id ORDER BY count(*) DESC, max(t.memory) DESC LIMIT ?4`
)

// readBrief reads one scope's brief from the file.
func (s *Store) readBrief(ctx context.Context, scope Scope, now time.Time) (Brief, error) {
	var b Brief
	since := now.Add(-lately)
	args := []any{scope.tenant, scope.agent, scope.user, maxBrief, since.UnixMilli()}
	replaced := map[string]bool{}
	err := s.eachChange(ctx, selectReplaced, args, func(c Change) {
		replaced[c.ID] = true
		b.Changes = append(b.Changes, c)
	})
	if err != nil {
		return Brief{}, err
	}
	err = s.eachChange(ctx, selectBrief, args[:4], func(c Change) {
		switch c.Type {
		case Decision, Fact:
			b.State = append(b.State, c.Item)
		case Goal, Todo:
			b.Work = append(b.Work, c.Item)
		}
		if c.CreatedAt.After(since) && !replaced[c.ID] {
			b.Changes = append(b.Changes, c)
		}
	})
	if err != nil {
		return Brief{}, err
	}
	b.State, b.Work, b.Changes = firstOf(b.State, byWeight), firstOf(b.Work, byWeight), firstOf(b.Changes, byNews)
	b.Entities, err = s.readNames(ctx, args[:4])

	return b, err
}

// firstOf sorts a list and cuts it to maxBrief.
func firstOf[T any](list []T, order func(a, b T) int) []T {
	slices.SortStableFunc(list, order)

	return slices.Clip(list[:min(len(list), maxBrief)])
}

// eachChange reads the rows of a query that are safe to recall.
func (s *Store) eachChange(ctx context.Context, query string, args []any, take func(Change)) error {
	rows, err := s.db.Reader.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var c Change
		if c.Item, _, err = scanItem(rows, &c.Was); err != nil {
			return err
		}
		if Scan(c.Content).Action != Allow {
			continue
		}
		if c.Was != "" && Scan(c.Was).Action != Allow {
			c.Was = ""
		}
		take(c)
	}

	return rows.Err()
}

func (s *Store) readNames(ctx context.Context, args []any) ([]string, error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectAbout, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}

	return names, rows.Err()
}
