package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// maxBrief bounds each list of a brief: twice what the largest model is
	// shown, because some of it will be in its prompt already.
	maxBrief = 20

	// lately is for how long a change is news.
	lately = 7 * 24 * time.Hour
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
		part, err := s.briefs.of(ctx, s.cfg.Clock(), sc, s.readBrief)
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
	b.Entities, err = s.readNames(ctx, selectAbout, args[:4])

	return b, err
}

// firstOf sorts a list and cuts it to maxBrief.
func firstOf[T any](list []T, order func(a, b T) int) []T {
	slices.SortStableFunc(list, order)

	return slices.Clip(list[:min(len(list), maxBrief)])
}

// eachChange reads the rows of a query that are safe to recall.
func (s *Store) eachChange(ctx context.Context, query string, args []any, take func(Change)) error {
	return s.eachRow(ctx, query, args, func(item Item, was string) {
		if was != "" && Scan(was).Action != Allow {
			was = ""
		}
		take(Change{item, was})
	})
}

// eachRow reads memories that are safe to recall, with what stands beside each.
func (s *Store) eachRow(ctx context.Context, query string, args []any, take func(item Item, beside string)) error {
	rows, err := s.db.Reader.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var beside string
		item, _, err := scanItem(rows, &beside)
		if err != nil {
			return err
		}
		if Scan(item.Content).Action == Allow {
			take(item, beside)
		}
	}

	return rows.Err()
}

func (s *Store) readNames(ctx context.Context, query string, args []any) ([]string, error) {
	rows, err := s.db.Reader.QueryContext(ctx, query, args...)
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
