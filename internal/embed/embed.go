// Package embed turns text into a vector of its meaning without a model to
// run: a table, which is part of the binary, holds one small vector for each of
// the pieces that words are made of, and a text's vector is their sum. Texts
// that share a meaning but no word come to lie near each other; word order and
// negation make no difference.
//
// The package does no input or output and keeps nothing of what it is given.
// The table knows English best; of other languages it knows little more than
// spelling. It is made by tools/embed from the weights of all-MiniLM-L6-v2; see
// NOTICE for their licence.
package embed

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
)

// Model names the table: vectors of different names must not be compared.
const Model = "static-minilm-1"

// Dim is the length of a vector.
const Dim = 128

//go:embed table.bin
var tableBytes string

// Table holds the vectors of word pieces. It is never changed and safe for
// concurrent use.
type Table struct {
	pieces  map[string]int32 // what begins a word
	tails   map[string]int32 // what goes on in a word
	longest int              // bytes of the longest piece
	scales  []float32        // by piece
	rows    string           // Dim int8 a piece
}

// Default returns the table of the binary, which all callers share. An error
// means that the binary was built wrong.
func Default() (*Table, error) { return load() }

var load = sync.OnceValues(func() (*Table, error) { return parse(tableBytes) })

// magic opens a table file. After it come, little-endian: the number of
// pieces, Dim, and the bytes of the list of pieces (uint32 each); the pieces,
// each ended by a line feed, those that go on in a word with ## before them;
// their scales (float32); their rows (Dim int8 each).
const magic = "understudy embeddings 1\n"

var errTable = errors.New("not a table of embeddings")

func parse(file string) (*Table, error) {
	rest, ok := strings.CutPrefix(file, magic)
	if !ok || len(rest) < 12 {
		return nil, errTable
	}
	head := []byte(rest[:12])
	n, dim, text := int(binary.LittleEndian.Uint32(head)), int(binary.LittleEndian.Uint32(head[4:])), int(binary.LittleEndian.Uint32(head[8:]))
	rest = rest[12:]
	if dim != Dim || len(rest) != text+n*(4+Dim) {
		return nil, fmt.Errorf("%w of %d pieces and %d dimensions in %d bytes", errTable, n, dim, len(file))
	}

	t := &Table{pieces: make(map[string]int32, n), tails: make(map[string]int32, n/4), scales: make([]float32, n)}
	list := strings.Split(strings.TrimSuffix(rest[:text], "\n"), "\n")
	if len(list) != n {
		return nil, fmt.Errorf("%w: %d of %d pieces are named", errTable, len(list), n)
	}
	scales := []byte(rest[text : text+4*n])
	for i, piece := range list {
		t.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(scales[4*i:]))
		if tail, ok := strings.CutPrefix(piece, "##"); ok {
			t.tails[tail] = int32(i)
		} else {
			t.pieces[piece] = int32(i)
		}
		t.longest = max(t.longest, len(piece))
	}
	t.rows = rest[text+4*n:]

	return t, nil
}

// Embed writes the direction of a text's meaning to v, which must have Dim
// elements, scaled so that the largest is 127. It reports false, and writes
// zeros, if the text holds nothing that the table knows. It reads the first 256
// pieces.
func (t *Table) Embed(v []int8, text string) bool {
	var sum [Dim]float32
	t.Pieces(text, func(piece int32) {
		scale := t.scales[piece]
		row := t.rows[int(piece)*Dim : int(piece)*Dim+Dim]
		for i := range Dim {
			sum[i] += scale * float32(int8(row[i]))
		}
	})

	return Quantize(v, sum[:])
}

// Quantize writes the direction of x to v, scaled so that the largest element
// is 127. It reports false, and writes zeros, if x has no direction.
func Quantize(v []int8, x []float32) bool {
	most := float32(0)
	for _, e := range x {
		most = max(most, e, -e)
	}
	if !(most > 0) || math.IsInf(float64(most), 0) {
		clear(v)
		return false
	}
	for i, e := range x {
		v[i] = int8(math.RoundToEven(float64(e / most * 127)))
	}

	return true
}

// Dot returns the inner product of two vectors of one length, which is a
// multiple of 4.
func Dot(a, b []int8) int32 {
	var s0, s1, s2, s3 int32
	b = b[:len(a)]
	for i := 0; i+3 < len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += int32(x[0]) * int32(y[0])
		s1 += int32(x[1]) * int32(y[1])
		s2 += int32(x[2]) * int32(y[2])
		s3 += int32(x[3]) * int32(y[3])
	}

	return s0 + s1 + s2 + s3
}

// Norm returns the length of a vector.
func Norm(v []int8) float32 { return float32(math.Sqrt(float64(Dot(v, v)))) }
