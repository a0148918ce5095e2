package memory

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/understudy-ai/understudy/internal/embed"
)

const (
	// weightOuter is what the embedder's model counts for in a search, as much
	// as the table's sight of a memory and its neighbours. Nothing measured it:
	// how good a model is differs from one to the next.
	weightOuter = 3.0

	// outerBytes is what a vector takes in RAM beside its elements.
	outerBytes = 96
)

// outer is a vector of the embedder's model, whatever its dimension. The zero
// outer stands for none.
type outer struct {
	vector  []int8   // padded with zeros to what embed.Dot wants
	signs   []uint64 // of the elements
	dim     int
	inverse float32 // 1 / length; 0: it has no direction
}

// outerOf makes an outer of a vector as the file has it.
func outerOf(blob []byte) outer {
	o := outer{vector: make([]int8, (len(blob)+3)&^3), signs: make([]uint64, (len(blob)+63)/64), dim: len(blob)}
	for i, b := range blob {
		o.vector[i] = int8(b)
		if int8(b) > 0 {
			o.signs[i/64] |= 1 << (i % 64)
		}
	}
	if length := embed.Norm(o.vector); length > 0 {
		o.inverse = 1 / length
	}

	return o
}

// quantized is a model's vector as the file has it.
func quantized(x []float32) []byte {
	v := make([]int8, len(x))
	embed.Quantize(v, x)
	blob := make([]byte, len(v))
	for i, e := range v {
		blob[i] = byte(e)
	}

	return blob
}

func (o outer) bytes() int64 { return outerBytes + int64(len(o.vector)+8*len(o.signs)) }

// comparable reports whether the two have a cosine. Their model is the same,
// since no other's vectors are held in RAM.
func (o outer) comparable(p outer) bool { return o.inverse > 0 && p.inverse > 0 && o.dim == p.dim }

// cosine returns the cosine of two that are comparable.
func (o outer) cosine(p outer) float32 {
	return float32(embed.Dot(o.vector, p.vector)) * o.inverse * p.inverse
}

// distance is how many signs of two that are comparable differ.
func (o outer) distance(p outer) (n int) {
	for i, signs := range o.signs {
		n += bits.OnesCount64(signs ^ p.signs[i])
	}

	return n
}

// setOuter gives the memory of a row its vector.
func (t *table) setOuter(row int64, o outer) {
	place, ok := t.rows[row]
	if !ok {
		return
	}
	if missing := len(t.entries) - len(t.outers); missing > 0 {
		t.outers = append(t.outers, make([]outer, missing)...)
	}
	t.dropOuter(place)
	t.outers[place] = o
	t.bytes += o.bytes()
}

// dropOuter takes the vector of a place away.
func (t *table) dropOuter(place int32) {
	if o := t.outer(place); o.dim > 0 {
		t.bytes -= o.bytes()
		t.outers[place] = outer{}
	}
}

// outer returns the vector of a place.
func (t *table) outer(place int32) outer {
	if int(place) >= len(t.outers) {
		return outer{}
	}

	return t.outers[place]
}

// outerNear adds to s.choice the documents whose vectors of the embedder's
// model have the most signs in common with the query's.
func (v view) outerNear(s *scratch) {
	if s.outer.inverse == 0 {
		return
	}
	nearest := s.leading[:0] // Whose work is done.
	bar, base := s.outer.dim*7/16, int32(0)
	for _, t := range v {
		for place, o := range t.outers {
			if !o.comparable(s.outer) {
				continue
			}
			d := o.distance(s.outer)
			if d >= bar {
				continue
			}
			if len(nearest) == leads {
				nearest = nearest[:leads-1]
			}
			i, _ := slices.BinarySearchFunc(nearest, float32(d), func(l lead, d float32) int { return cmp.Compare(l.score, d) })
			nearest = slices.Insert(nearest, i, lead{base + int32(place), float32(d)})
			if len(nearest) == leads {
				bar = int(nearest[leads-1].score)
			}
		}
		base += int32(len(t.entries))
	}
	s.leading = nearest
	for _, l := range nearest {
		v.choose(s, l.doc)
	}
}

// outerCosine returns the cosine of a document with the query by the embedder's
// model, not below 0, and whether there is one.
func (v view) outerCosine(s *scratch, doc int32) (float32, bool) {
	if s.outer.inverse == 0 {
		return 0, false
	}
	t, place := v.at(doc)
	o := t.outer(place)
	if !o.comparable(s.outer) {
		return 0, false
	}

	return max(o.cosine(s.outer), 0), true
}
