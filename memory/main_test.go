package memory

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/internal/embed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests begin.
var noon = time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)

// openStore opens a fresh store that the test closes.
func openStore(tb testing.TB, change func(*Config)) *Store {
	tb.Helper()
	cfg := Config{Path: filepath.Join(tb.TempDir(), "memory.db"), Clock: func() time.Time { return noon }}
	if change != nil {
		change(&cfg)
	}
	s, err := Open(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})

	return s
}

func scopeOf(tb testing.TB, user string) Scope {
	tb.Helper()
	return scopeIn(tb, "bot", user)
}

// scopeIn is a scope of an agent: a case of a table has one to itself, in a
// store that the cases share.
func scopeIn(tb testing.TB, agent, user string) Scope {
	tb.Helper()
	scope, err := NewScope("acme", agent, user)
	if err != nil {
		tb.Fatal(err)
	}

	return scope
}

// say learns what the user says, one message an hour, and waits.
func say(tb testing.TB, s *Store, scope Scope, texts ...string) {
	tb.Helper()
	for i, text := range texts {
		if !s.Learn(Exchange{Scope: scope, At: noon.Add(time.Duration(i-len(texts)) * time.Hour), UserText: text}) {
			tb.Fatal("queue full")
		}
	}
	settle(tb, s)
}

func settle(tb testing.TB, s *Store) {
	tb.Helper()
	if err := s.Sync(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func add(tb testing.TB, s *Store, scope Scope, item NewItem) Outcome {
	tb.Helper()
	out, err := s.Add(tb.Context(), scope, item)
	if err != nil {
		tb.Fatal(err)
	}

	return out
}

// addAll adds items in one transaction.
func addAll(tb testing.TB, s *Store, scope Scope, items ...NewItem) {
	tb.Helper()
	err := s.write(tb.Context(), func(ctx context.Context, tx *txn) error {
		for _, item := range items {
			if _, _, err := put(ctx, tx, scope, s.draft(item, Fact)); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func recall(tb testing.TB, s *Store, scope Scope, text string) Recalled {
	tb.Helper()
	got, err := s.Recall(tb.Context(), scope, Query{Text: text})
	if err != nil {
		tb.Fatal(err)
	}

	return got
}

// warm has the tables that the scope sees loaded.
func warm(tb testing.TB, s *Store, scope Scope) {
	tb.Helper()
	s.index.view(scope)
	s.index.group.Wait()
	if _, ok := s.index.view(scope); !ok {
		tb.Fatal("the index didn't load")
	}
}

// vectors returns the table of embeddings.
func vectors(tb testing.TB) *embed.Table {
	tb.Helper()
	t, err := embed.Default()
	if err != nil {
		tb.Fatal(err)
	}

	return t
}

// recallBoth recalls from the index, and holds the file's answer against it.
func recallBoth(tb testing.TB, s *Store, scope Scope, text string) Recalled {
	tb.Helper()
	file, err := s.recallFile(tb.Context(), scope, s.parse(Query{Text: text}))
	if err != nil {
		tb.Fatal(err)
	}
	warm(tb, s, scope)
	indexed := recall(tb, s, scope, text)
	if diff := cmp.Diff(contents(file.Pinned), contents(indexed.Pinned)); diff != "" {
		tb.Errorf("%q, pinned (-file +index):\n%s", text, diff)
	}
	if diff := cmp.Diff(contents(file.Items), contents(indexed.Items)); diff != "" {
		tb.Errorf("%q, items (-file +index):\n%s", text, diff)
	}

	return indexed
}

func list(tb testing.TB, s *Store, scope Scope, f Filter) []Item {
	tb.Helper()
	page, err := s.List(tb.Context(), scope, f)
	if err != nil {
		tb.Fatal(err)
	}

	return page.Items
}

func contents(items []Item) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, item.Content)
	}

	return out
}
