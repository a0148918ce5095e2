package routing

import (
	"testing"

	"github.com/understudy-ai/understudy/internal/chat"
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
