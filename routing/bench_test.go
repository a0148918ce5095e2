package routing

import (
	"testing"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

func BenchmarkDecide(b *testing.B) {
	for _, tt := range []struct {
		name   string
		change func(*Request)
	}{
		{"auto", func(*Request) {}},
		{"named", func(r *Request) { r.Model = "large" }},
		{"with needs", func(r *Request) { r.Needs = chat.Needs{Tools: true, Vision: true} }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			r := newTestRouter(b, nil)
			req := request("auto", scoring.Light)
			tt.change(&req)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r.Decide(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConversation is a turn of a conversation and its answer: decided,
// observed and written to the journal.
func BenchmarkConversation(b *testing.B) {
	r := newTestRouter(b, nil)
	r.Keep(nowhere{})
	req := request("auto", scoring.Heavy)
	turns := []string{"one", "two", "three", "four"}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		req.Turn, req.Score.Tier = turns[n%4], scoring.Light+scoring.Tier(n%3)
		d, err := r.Decide(req)
		if err != nil {
			b.Fatal(err)
		}
		r.Served(&req, d.Model, ledger.Usage{Input: 2000, Cached: 1900, Output: 100}, 0)
	}
}

type nowhere struct{}

func (nowhere) Append([]byte) {}
