package memory

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
	addAll(tb, s, scope, items...)
}

// recallQueries find much, little and nothing.
var recallQueries = []struct{ name, text string }{
	{"all", "Where did the turbine team put the glacier report, and when?"},
	{"common", "Who moved the archive?"},
	{"tenth", "Who looks after the old turbine?"},
	{"rare", "What do we know of number 417?"},
	{"nothing", "What is a monad?"},
	{"catchup", "Where were we?"},
}

// BenchmarkRecall measures a recall from the index: in the made-up memories a
// common word is in all of them, others in a tenth or two, a rare one in one.
func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{500, 10_000} {
		s := openStore(b, nil)
		scope := scopeOf(b, "ann")
		fill(b, s, scope, n)
		warm(b, s, scope)
		for _, q := range recallQueries {
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

// BenchmarkRecallAmongMany measures recalls of every kind in a scope of 10,000
// memories, where the store has 200,000, and tells their quantiles.
func BenchmarkRecallAmongMany(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 10_000)
	for i := range 19 {
		fill(b, s, scopeOf(b, fmt.Sprint("other", i)), 10_000)
	}
	warm(b, s, scope)
	var took []time.Duration
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		if _, err := s.Recall(b.Context(), scope, Query{Text: recallQueries[i%len(recallQueries)].text}); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	for _, percent := range []int{50, 99} {
		b.ReportMetric(float64(took[len(took)*percent/100].Microseconds()), fmt.Sprintf("p%d-µs", percent))
	}
}

// BenchmarkRecallOuter measures a recall with vectors of an embedder's model.
func BenchmarkRecallOuter(b *testing.B) {
	const dim = 1536
	random := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 {
		v := make([]float32, dim)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}

		return v
	}
	s := openStore(b, nil)
	scope := scopeOf(b, "ann")
	fill(b, s, scope, 10_000)
	warm(b, s, scope)
	v, _ := s.index.view(scope)
	for row := range v[1].rows {
		v[1].setOuter(row, outerOf(quantized(vector())))
	}
	r := s.parse(Query{Text: "Who looks after the old turbine?"})
	query := outerOf(quantized(vector()))
	r.minOuter, r.outer = 0.6, func() outer { return query }
	b.ReportAllocs()
	for b.Loop() {
		if got, ok := s.index.recall(scope, r); !ok || len(got.Items) == 0 {
			b.Fatal(got)
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

// What people write: a question that teaches nothing, a statement, and text
// with and without secrets.
const (
	questionText  = "How can I make a goroutine stop when its context ends, and what does the standard library do there?"
	statementText = "Thanks. We decided to use two turbines for the harbour. Can you draft the order for me?"
	secretText    = "API_KEY=a1b2c3d4e5f6, my password is hunter2, card 4111 1111 1111 1111, postgres://ann:pw@db/x; a token is no secret."
	longSentence  = "In our service, which I like, a handler takes 20 requests from the queue, and the client keeps a token for each user now. "
)

// BenchmarkLearn measures exchanges from the queue, always full, to the file.
func BenchmarkLearn(b *testing.B) {
	texts := []struct{ name, text string }{
		{"question", questionText + " %d"},
		{"statement", "Thanks. We decided to use turbine %d for the harbour. Can you draft it?"},
		{"long", strings.Repeat(longSentence, 16) + "%d"},
	}
	for _, capture := range []Capture{CaptureTurns, CaptureFacts} {
		for _, t := range texts {
			b.Run(fmt.Sprintf("%s-%s", t.name, capture), func(b *testing.B) {
				s := openStore(b, func(cfg *Config) { cfg.Capture = capture })
				scope := scopeOf(b, "ann")
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					e := Exchange{Scope: scope, UserText: fmt.Sprintf(t.text, i), AssistantText: longSentence}
					for !s.Learn(e) {
						settle(b, s)
					}
					i++
				}
				settle(b, s)
				b.ReportMetric(float64(i)/b.Elapsed().Seconds(), "exchanges/s")
			})
		}
	}
}

// BenchmarkImport measures rows of a conversation from JSONL to the file and a
// loaded index.
func BenchmarkImport(b *testing.B) {
	var text strings.Builder
	const rows = 5000
	for i := range rows {
		fmt.Fprintf(&text, `{"id":"D%d:%d","session":"s%d","name":"Ann","role":"user","content":"The bakery moved report number %d to the glacier archive in spring, and the harbour has %d of them.","created_at":"2023-05-08T13:56:00Z"}`+"\n", i/20, i, i/20, i, i*7)
	}
	s := openStore(b, nil)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		scope := scopeIn(b, fmt.Sprint("bot", n), "ann")
		warm(b, s, scope)
		if r := importText(b, s, scope, text.String(), ImportOptions{}); r.Stored != rows {
			b.Fatal(r)
		}
	}
	b.ReportMetric(float64(n*rows)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkExtract(b *testing.B) {
	for _, t := range []struct{ name, text string }{
		{"question", questionText}, {"statement", statementText}, {"long", strings.Repeat(longSentence, 16)},
	} {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				extract(t.text)
			}
		})
	}
}

func BenchmarkRedact(b *testing.B) {
	for _, t := range []struct{ name, text string }{
		{"question", questionText}, {"long", strings.Repeat(longSentence, 16)}, {"secrets", strings.Repeat(secretText, 4)},
	} {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Redact(t.text)
			}
		})
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

// BenchmarkTell measures the model on sentences that no rule knows.
func BenchmarkTell(b *testing.B) {
	for _, t := range []struct{ name, text string }{
		{"short", "been a nurse since 98"},
		{"sentence", "Our delivery van only runs on Tuesdays and Fridays, since the driver has another job."},
		{"nothing", "The handler takes a list of requests from the queue and gives each of them to a worker."},
	} {
		b.Run(t.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				statementModel.tell(t.text, clueOnly)
			}
		})
	}
}
