package embed

import (
	"math/rand/v2"
	"testing"
)

func TestQuery(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	v, w := make([]int8, Dim), make([]int8, Dim)
	for _, c := range []struct {
		name string
		next func() int8
	}{
		{"largest", func() int8 { return 127 }},
		{"least", func() int8 { return -128 }},
		{"nothing", func() int8 { return 0 }},
		{"largest or least", func() int8 { return int8(random.IntN(2)*255 - 128) }},
		{"any", func() int8 { return int8(random.IntN(256) - 128) }},
	} {
		for range 100 {
			for i := range v {
				v[i], w[i] = c.next(), int8(random.IntN(256)-128)
			}
			for _, other := range [][]int8{v, w} {
				q := NewQuery(v)
				if got, want := q.Dot(other), Dot(v, other); got != want {
					t.Fatalf("%s: %d, want %d", c.name, got, want)
				}
			}
		}
	}
}

func BenchmarkQueryDot(b *testing.B) {
	v, w := make([]int8, Dim), make([]int8, Dim)
	table(b).Embed(v, "a cat")
	table(b).Embed(w, "a dog")
	q := NewQuery(v)
	for b.Loop() {
		q.Dot(w)
	}
}
