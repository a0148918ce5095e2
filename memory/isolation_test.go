package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// world is a store with scopes whose names resemble each other. Every memory
// carries the label of the scope that made it.
type world struct {
	*testing.T
	store  *Store
	random *rand.Rand
	scopes []Scope
	made   []struct{ id, content string }
	seen   map[string]int // memories that came back, by operation
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, store: openStore(t, nil), random: rand.New(rand.NewPCG(1, 2)), seen: map[string]int{}}
	for _, tenant := range []string{"t", "t2"} {
		for _, agent := range []string{"a", "a/u1"} {
			for _, user := range []string{"", "u1", "u10", "U1", "u1 "} {
				scope, err := NewScope(tenant, agent, user)
				if err != nil {
					t.Fatal(err)
				}
				w.scopes = append(w.scopes, scope)
			}
		}
	}

	return w
}

func label(s Scope) string { return fmt.Sprintf("[%s|%s|%s]", s.tenant, s.agent, s.user) }

// sees reports whether a scope may see a text: its own or its workspace's.
func sees(s Scope, content string) bool {
	return strings.Contains(content, label(s)) || strings.Contains(content, label(Scope{s.tenant, s.agent, ""}))
}

func (w *world) pick() Scope { return w.scopes[w.random.IntN(len(w.scopes))] }

func (w *world) text(s Scope) string {
	return fmt.Sprintf("the Clipperton locker %d belongs to %s", w.random.IntN(20), label(s))
}

// operations are the ways in and out of a store; each returns what the scope
// was shown.
var operations = map[string]func(*world, context.Context, Scope) ([]Item, error){
	"learn": func(w *world, _ context.Context, s Scope) ([]Item, error) {
		w.store.Learn(Exchange{Scope: s, UserText: "Remember that " + w.text(s)})
		return nil, nil
	},
	"add": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		typ := Fact
		if s.user != "" && w.random.IntN(2) == 0 {
			typ = Preference
		}
		text := w.text(s)
		out, err := w.store.Add(ctx, s, NewItem{Type: typ, Content: text})
		w.made = append(w.made, struct{ id, content string }{out.ID, text})
		return nil, err
	},
	"import": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		row := fmt.Sprintf(`{"id":"x","content":%q,"session":"s","name":"Ann"}`, w.text(s))
		_, err := w.store.Import(ctx, s, strings.NewReader(row), ImportOptions{Restore: true})
		return nil, err
	},
	"export to another": func(w *world, ctx context.Context, s Scope) ([]Item, error) { // which gets copies that it labels
		var rows strings.Builder
		to := w.pick()
		for row, err := range w.store.Export(ctx, s) {
			if err != nil {
				return nil, err
			}
			if !strings.Contains(row.Content, label(s)) {
				w.Errorf("the export of %s has %q", label(s), row.Content)
			}
			w.seen["export"]++
			fmt.Fprintf(&rows, "{\"id\":%q,\"status\":\"active\",\"type\":\"fact\",\"content\":%q}\n", row.ID, strings.ReplaceAll(row.Content, label(s), label(to)))
		}
		_, err := w.store.Import(ctx, to, strings.NewReader(rows.String()), ImportOptions{Restore: true})
		return nil, err
	},
	"recall": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		got, err := w.store.Recall(ctx, s, Query{Text: w.text(w.pick())})
		return append(got.Items, got.Pinned...), err
	},
	"recall by connections": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		got, err := w.store.Recall(ctx, s, Query{Text: "Clipperton", Profile: "connected"})
		return got.Items, err
	},
	"recall from the file": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		got, err := w.store.recallFile(ctx, s, w.store.parse(Query{Text: w.text(w.pick())}))
		return append(got.Items, got.Pinned...), err
	},
	"catch up": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		got, err := w.store.Recall(ctx, s, Query{Text: "Where were we?"})
		return got.Items, err
	},
	"brief": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		got, err := w.store.Brief(ctx, s)
		items := append(got.State, got.Work...)
		for _, c := range got.Changes {
			items = append(items, c.Item)
			if c.Was != "" && !sees(s, c.Was) {
				w.Errorf("%s is told that it was %q", label(s), c.Was)
			}
		}
		return items, err
	},
	"search": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		return w.store.Search(ctx, s, Query{Text: w.text(w.pick()), NoGate: true, Limit: 50})
	},
	"list": func(w *world, ctx context.Context, s Scope) (items []Item, err error) {
		f := Filter{Limit: 3}
		if w.random.IntN(2) == 0 {
			f.Text = "locker"
		}
		for {
			page, err := w.store.List(ctx, s, f)
			if err != nil {
				return nil, err
			}
			items = append(items, page.Items...)
			if f.Cursor = page.NextCursor; f.Cursor == "" {
				return items, nil
			}
		}
	},
	"list from a stranger's page": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		theirs, err := w.store.List(ctx, w.pick(), Filter{Limit: 1})
		if err != nil {
			return nil, err
		}
		page, err := w.store.List(ctx, s, Filter{Cursor: theirs.NextCursor})
		return page.Items, err
	},
	"forget": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		if len(w.made) == 0 {
			return nil, nil
		}
		m := w.made[w.random.IntN(len(w.made))]
		_, err := w.store.Forget(ctx, s, m.id)
		if err == nil && !sees(s, m.content) {
			w.Errorf("%s forgot %q", label(s), m.content)
		}
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
		return nil, err
	},
	"forget user": func(w *world, ctx context.Context, s Scope) ([]Item, error) {
		if s.user == "" || w.random.IntN(3) > 0 {
			return nil, nil
		}
		agent := s.agent
		if w.random.IntN(4) == 0 {
			agent = ""
		}
		_, err := w.store.ForgetUser(ctx, s.tenant, s.user, agent)
		return nil, err
	},
}

// names are those of operations, in an order that is always the same.
var names = slices.Sorted(maps.Keys(operations))

// step runs a random operation in a random scope, and holds that this sees only
// what is its own or its workspace's.
func (w *world) step() {
	scope, name := w.pick(), names[w.random.IntN(len(names))]
	items, err := operations[name](w, w.Context(), scope)
	if err != nil {
		w.Errorf("%s: %v", name, err)
	}
	for _, item := range items {
		w.seen[name]++
		if !sees(scope, item.Content) || item.Agent != scope.agent || item.User != "" && item.User != scope.user {
			w.Errorf("%s shows %s %q of agent %q, user %q", name, label(scope), item.Content, item.Agent, item.User)
		}
	}
}

// verify holds that the store is well.
func (w *world) verify() {
	settle(w, w.store)
	report, err := w.store.Verify(w.Context())
	if err != nil || len(report.Problems) > 0 {
		w.Errorf("afterwards: %q, %v", report.Problems, err)
	}
}

// TestIsolation runs random operations, one after another.
func TestIsolation(t *testing.T) {
	w := newWorld(t)
	for range 500 {
		w.step()
	}
	for _, name := range []string{
		"recall", "recall by connections", "recall from the file", "catch up", "brief", "search", "list", "list from a stranger's page", "export",
	} {
		if w.seen[name] < 5 {
			t.Errorf("%s showed only %d memories: the test tests nothing", name, w.seen[name])
		}
	}
	w.verify()
}

// TestIsolationAtOnce runs random operations of sixty-four at once.
func TestIsolationAtOnce(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	for i := range 64 {
		own := *w
		own.random, own.seen = rand.New(rand.NewPCG(3, uint64(i))), map[string]int{}
		group.Go(func() {
			for range 4 {
				own.step()
			}
		})
	}
	group.Wait()
	w.verify()
}
