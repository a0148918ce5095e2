package memory

import (
	"fmt"
	"testing"
)

// fill adds n facts of about a dozen words.
func fill(b *testing.B, s *Store, scope Scope, n int) {
	b.Helper()
	nouns := []string{"harbour", "billing", "kiosk", "drummer", "turbine", "orchard", "ledger", "antenna", "glacier", "bakery"}
	for i := range n {
		content := fmt.Sprintf("the %s team moved the %s report number %d to the %s archive in spring", nouns[i%10], nouns[i/10%10], i, nouns[i/7%10])
		if _, err := s.Add(b.Context(), scope, NewItem{Content: content}); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 8 {
		if _, err := s.Add(b.Context(), scope, NewItem{Type: Preference, Content: fmt.Sprintf("Prefers answers of kind %d", i)}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRecallAll500 has every memory match.
func BenchmarkRecallAll500(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 500)
	b.ReportAllocs()
	for b.Loop() {
		got, err := s.Recall(b.Context(), scope, Query{Text: "Where did the turbine team put the glacier report, and when?"})
		if err != nil || len(got.Items) == 0 {
			b.Fatal(got, err)
		}
	}
}

// BenchmarkRecall500 has a tenth of the memories match.
func BenchmarkRecall500(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 500)
	b.ReportAllocs()
	for b.Loop() {
		got, err := s.Recall(b.Context(), scope, Query{Text: "Who looks after the old turbine?"})
		if err != nil || len(got.Items) == 0 {
			b.Fatal(got, err)
		}
	}
}

func BenchmarkRecallNothing500(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 500)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Recall(b.Context(), scope, Query{Text: "What is a monad?"}); err != nil {
			b.Fatal(err)
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
