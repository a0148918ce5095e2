package memory

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// fill adds n facts of about a dozen words, and a few preferences.
func fill(tb testing.TB, s *Store, scope Scope, n int) {
	tb.Helper()
	nouns := []string{"harbour", "billing", "kiosk", "drummer", "turbine", "orchard", "ledger", "antenna", "glacier", "bakery"}
	var items []NewItem
	for i := range n {
		content := fmt.Sprintf("the %s team moved the %s report number %d to the %s archive in spring", nouns[i%10], nouns[i/10%10], i, nouns[i/7%10])
		items = append(items, NewItem{Content: content, CreatedAt: noon.Add(-time.Duration(i*7919%n) * time.Hour)})
	}
	for i := range 8 {
		items = append(items, NewItem{Type: Preference, Content: fmt.Sprintf("Prefers answers of kind %d", i)})
	}
	err := s.write(tb.Context(), func(ctx context.Context, tx *txn) error {
		for _, item := range items {
			if _, _, err := put(ctx, tx, scope, s.draft(item)); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// BenchmarkRecall measures a recall from the index: in the made-up memories a
// common word is in all of them, others in a tenth or two, a rare one in one.
func BenchmarkRecall(b *testing.B) {
	queries := []struct{ name, text string }{
		{"all", "Where did the turbine team put the glacier report, and when?"},
		{"common", "Who moved the archive?"},
		{"tenth", "Who looks after the old turbine?"},
		{"rare", "What do we know of number 417?"},
		{"nothing", "What is a monad?"},
		{"catchup", "Where were we?"},
	}
	for _, n := range []int{500, 10_000} {
		s := openStore(b, nil)
		scope := scopeOf(b, "ann")
		fill(b, s, scope, n)
		warm(b, s, scope)
		for _, q := range queries {
			b.Run(fmt.Sprintf("%s-%d", q.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					got, err := s.Recall(b.Context(), scope, Query{Text: q.text})
					if err != nil || (len(got.Items) == 0) != (q.name == "nothing") {
						b.Fatal(got, err)
					}
				}
			})
		}
	}
}

// BenchmarkRecallFile measures the same from the file, as for a cold scope.
func BenchmarkRecallFile(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 500)
	b.ReportAllocs()
	for b.Loop() {
		r := s.parse(Query{Text: "Who looks after the old turbine?"})
		if got, err := s.recallFile(b.Context(), scope, r); err != nil || len(got.Items) == 0 {
			b.Fatal(got, err)
		}
	}
}

// BenchmarkLoad measures how long a cold scope takes to load.
func BenchmarkLoad(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		if t := s.index.fetch(scope); t == nil || len(t.rows) != 10_008 {
			b.Fatal("not loaded")
		}
	}
}

// BenchmarkLearn measures an exchange from the queue to the file.
func BenchmarkLearn(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		e := Exchange{Scope: scope, UserText: fmt.Sprintf("Thanks. We decided to use turbine %d for the harbour. Can you draft it?", i)}
		for !s.Learn(e) {
			if err := s.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		i++
	}
	if err := s.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkExtract(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		extract("Thanks. We decided to use two turbines for the harbour. Can you draft the order for me?")
	}
}

func BenchmarkScan(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Scan("the turbine team moved the glacier report number 14 to the bakery archive in spring")
	}
}

func BenchmarkTokens(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		tokens("Where did Đoković's team put the glacier report, and when did they do it?")
	}
}
