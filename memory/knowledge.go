package memory

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

const (
	// maxKnown bounds the memories of one type in a Knowledge: a page of some
	// hundred words has no room for more.
	maxKnown = 40

	// maxOpposed and maxUnknown bound what is odd about them.
	maxOpposed = 5
	maxUnknown = 5
)

// Knowledge is what a scope knows, by type, and what is odd about it. Nothing in
// it may be changed by the caller, since others get it, too.
type Knowledge struct {
	Known   []Known
	Opposed []Opposed // the newest first
	// Unknown names what goals and to-dos speak of and no other memory does.
	Unknown []string
	// Version tells what one scope knows from what it knew before; 0: nothing.
	// What several scopes know together has none.
	Version uint64
}

// Known is the current memories of one type.
type Known struct {
	Type  Type
	Items []Item // those stated most often first, then the newest
	Total int    // how many there are; Items may hold fewer
}

// Opposed is two memories that contradict each other.
type Opposed struct {
	Item
	Other Item // the older one
}

// knowledgeTypes are the types that knowledge is made of, the most important
// first.
var knowledgeTypes = [...]Type{Goal, Decision, Preference, Fact, Observation}

// Knowledge returns what the scope knows: the workspace's memories and the
// user's own. Of each scope it is read from the file once after every change,
// and kept in RAM. Equal memories give equal knowledge. It errs with [ErrScope],
// ctx's error, or what the file says.
func (s *Store) Knowledge(ctx context.Context, scope Scope) (Knowledge, error) {
	if err := scope.check(); err != nil {
		return Knowledge{}, fmt.Errorf("gathering knowledge: %w", err)
	}
	var out Knowledge
	for i, sc := range scope.sees() {
		part, err := s.known.of(ctx, s.cfg.Clock(), sc, s.readKnowledge)
		if err != nil {
			return Knowledge{}, fmt.Errorf("gathering knowledge: %w", err)
		}
		if i == 0 {
			out = part
		} else {
			out = out.with(&part)
		}
	}

	return out, nil
}

// OwnKnowledge is Knowledge of the scope alone: a user's without the workspace's.
func (s *Store) OwnKnowledge(ctx context.Context, scope Scope) (Knowledge, error) {
	if err := scope.check(); err != nil {
		return Knowledge{}, fmt.Errorf("gathering knowledge: %w", err)
	}
	k, err := s.known.of(ctx, s.cfg.Clock(), scope, s.readKnowledge)
	if err != nil {
		return Knowledge{}, fmt.Errorf("gathering knowledge: %w", err)
	}

	return k, nil
}

// version hashes what is known.
func (k *Knowledge) version() uint64 {
	if len(k.Known) == 0 {
		return 0
	}
	h := fnv.New64a()
	for _, known := range k.Known {
		fmt.Fprintf(h, "%s %d\n", known.Type, known.Total)
		for i := range known.Items {
			item := &known.Items[i]
			fmt.Fprintf(h, "%s %d %s\n", item.ID, item.CreatedAt.UnixMilli(), item.Content)
		}
	}
	for i := range k.Opposed {
		fmt.Fprintf(h, "%s %s\n", k.Opposed[i].ID, k.Opposed[i].Other.ID)
	}
	fmt.Fprintf(h, "%q", k.Unknown)

	return h.Sum64() | 1 // not 0
}

// with adds a user's own knowledge to the workspace's.
func (k Knowledge) with(own *Knowledge) Knowledge {
	switch {
	case len(own.Known) == 0:
		return k
	case len(k.Known) == 0:
		return *own
	}
	out := Knowledge{Opposed: append(opposed(k.Known, own.Known), slices.Concat(own.Opposed, k.Opposed)...), Unknown: mergeNames(own.Unknown, k.Unknown)}
	for _, typ := range knowledgeTypes {
		a, b := of(k.Known, typ), of(own.Known, typ)
		if total := a.Total + b.Total; total > 0 {
			out.Known = append(out.Known, Known{Type: typ, Items: merged(a.Items, b.Items), Total: total})
		}
	}
	out.Opposed = out.Opposed[:min(len(out.Opposed), maxOpposed)]
	out.Unknown = slices.DeleteFunc(out.Unknown, func(name string) bool { return mentioned(out.Known, name) })
	out.Unknown = out.Unknown[:min(len(out.Unknown), maxUnknown)]

	return out
}

func of(known []Known, typ Type) Known {
	for _, k := range known {
		if k.Type == typ {
			return k
		}
	}

	return Known{}
}

// opposed finds what the workspace and a user say differently of one attribute
// of one subject.
func opposed(shared, own []Known) (out []Opposed) {
	type slot struct{ subject, attribute string }
	said := map[slot]*Item{}
	for _, k := range shared {
		for i := range k.Items {
			if item := &k.Items[i]; item.Subject != "" && item.Attribute != "" && !strings.EqualFold(item.Subject, "user") {
				said[slot{fold(item.Subject), item.Attribute}] = item
			}
		}
	}
	if len(said) == 0 {
		return nil
	}
	for _, k := range own {
		for i := range k.Items {
			item := k.Items[i]
			if item.Subject == "" {
				continue
			}
			other := said[slot{fold(item.Subject), item.Attribute}]
			if other == nil || fold(other.Content) == fold(item.Content) || sameClaim(other.Content, item.Content) {
				continue
			}
			if o := (Opposed{item, *other}); other.CreatedAt.After(item.CreatedAt) {
				out = append(out, Opposed{o.Other, o.Item})
			} else {
				out = append(out, o)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Opposed) int { return byAge(&a.Item, &b.Item) })

	return out
}

// mentioned reports whether a memory that is no goal has the name in it.
func mentioned(known []Known, name string) bool {
	for _, k := range known {
		for i := range k.Items {
			if k.Type != Goal && strings.Contains(k.Items[i].Content, name) {
				return true
			}
		}
	}

	return false
}

func byAge(a, b *Item) int { return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID)) }

// ranked sorts the memories of one type by importance. They were born equally important: what was stated more often counts
// for more, then what is newer.
func ranked(items []Item) []Item {
	slices.SortStableFunc(items, func(a, b Item) int { return byHits(&a, &b) })

	return slices.Clip(items)
}

func byHits(a, b *Item) int {
	return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(b.Hits, a.Hits), byAge(a, b))
}

// merged is two ranked lists as one, cut to maxKnown.
func merged(a, b []Item) []Item {
	out := make([]Item, 0, min(len(a)+len(b), maxKnown))
	for len(out) < cap(out) {
		if len(b) == 0 || len(a) > 0 && byHits(&a[0], &b[0]) < 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}

	return out
}

func (k Knowledge) size() int {
	size := 0
	for _, known := range k.Known {
		for i := range known.Items {
			size += itemOverhead + len(known.Items[i].Content)
		}
	}
	for i := range k.Opposed {
		size += 2*itemOverhead + len(k.Opposed[i].Content) + len(k.Opposed[i].Other.Content)
	}

	return size
}

const (
	ofType = ` FROM memories m WHERE m.tenant = ?1 AND m.agent = ?2 AND m.user = ?3 AND m.type = ?4` + recallable

	selectKnown = `SELECT ` + columns + `, ''` + ofType + `ORDER BY m.created_at DESC, m.n DESC LIMIT ?5`
	countKnown  = `SELECT count(*)` + ofType

	// selectOpposed finds what the newest preferences say the opposite of.
	selectOpposed = `SELECT ` + columns + `, p.id FROM (SELECT m.n, m.id, m.created_at` + ofType + `ORDER BY m.created_at DESC, m.n DESC LIMIT ?5) p
		JOIN edges e ON e.source = p.n AND e.kind = 'contradicts' JOIN memories m ON m.n = e.target
		WHERE m.status = 'active' ORDER BY p.created_at DESC, p.n DESC, m.n DESC LIMIT ?6`

	// selectUnknown names what the newest goals and to-dos mention and no
	// current memory of another type does. The first word of a sentence has a
	// capital that says nothing. Of a name that is on everybody's lips the
	// newest memories tell.
	selectUnknown = `SELECT e.label FROM (SELECT m.n, m.content FROM memories m
			WHERE m.tenant = ?1 AND m.agent = ?2 AND m.user = ?3 AND m.type IN ('goal', 'todo')` + recallable + `
			ORDER BY m.created_at DESC, m.n DESC LIMIT 40) open
		JOIN mentions t ON t.memory = open.n JOIN entities e ON e.id = t.entity
		WHERE instr(open.content, ' ' || e.label) > 0 AND NOT EXISTS (SELECT 1
			FROM (SELECT memory FROM mentions WHERE entity = e.id ORDER BY memory DESC LIMIT 50) o JOIN memories m ON m.n = o.memory
			WHERE m.type NOT IN ('goal', 'todo')` + recallable + `)
		GROUP BY e.id ORDER BY count(*) DESC, max(open.n) DESC LIMIT ?4`
)

// readKnowledge reads what one scope knows from the file.
func (s *Store) readKnowledge(ctx context.Context, scope Scope, _ time.Time) (Knowledge, error) {
	var k Knowledge
	args := func(typ Type, rest ...any) []any {
		return append([]any{scope.tenant, scope.agent, scope.user, typ}, rest...)
	}
	for _, typ := range knowledgeTypes {
		known := Known{Type: typ}
		err := s.eachRow(ctx, selectKnown, args(typ, maxKnown), func(item Item, _ string) { known.Items = append(known.Items, item) })
		if err != nil {
			return Knowledge{}, err
		}
		if known.Total = len(known.Items); known.Total == 0 {
			continue
		}
		if known.Total == maxKnown {
			if err := s.db.Reader.QueryRowContext(ctx, countKnown, args(typ)...).Scan(&known.Total); err != nil {
				return Knowledge{}, err
			}
		}
		known.Items = ranked(known.Items)
		k.Known = append(k.Known, known)
	}
	preferences := of(k.Known, Preference)
	err := s.eachRow(ctx, selectOpposed, args(Preference, maxKnown, maxOpposed), func(older Item, id string) {
		if i := slices.IndexFunc(preferences.Items, func(item Item) bool { return item.ID == id }); i >= 0 {
			k.Opposed = append(k.Opposed, Opposed{preferences.Items[i], older})
		}
	})
	if err == nil {
		k.Unknown, err = s.readNames(ctx, selectUnknown, []any{scope.tenant, scope.agent, scope.user, maxUnknown})
	}

	k.Version = k.version()

	return k, err
}
