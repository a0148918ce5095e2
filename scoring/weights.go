package scoring

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
)

// weightsFile is made by `make weights`; docs/SCORING.md says how. It is a line of JSON, see weightsHead, and behind it
// the table: for each place one signed byte for each judge, in their order.
//
//go:embed weights.bin
var weightsFile []byte

// weightsHead is the first line of the weights.
type weightsHead struct {
	Features []string  `json:"features"` // in their order
	Steady   fitted    `json:"steady"`
	Judges   [4]fitted `json:"judges"`
	Certain  float64   `json:"certain"`
}

// builtIn returns the embedded weights. They are decoded once.
var builtIn = sync.OnceValues(func() (*learned, error) { return decodeWeights(weightsFile) })

// decodeWeights reads a file of weights and holds them against this program's features.
func decodeWeights(file []byte) (*learned, error) {
	line, table, _ := bytes.Cut(file, []byte("\n"))
	var head weightsHead
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, fmt.Errorf("reading weights: %w", err)
	}
	if !slices.Equal(head.Features, featureNames()) {
		return nil, errors.New("reading weights: they were fitted for other features: run `make weights`")
	}
	if want := int(numJudges) << ngramBits; len(table) != want {
		return nil, fmt.Errorf("reading weights: the table has %d bytes, want %d", len(table), want)
	}
	m := &learned{steady: head.Steady, judges: head.Judges, certain: head.Certain, table: make([]slot, 1<<ngramBits)}
	for _, f := range append(m.judges[:], m.steady) {
		if len(f.Features) != numFeatures || !finite(f.Bias, f.Scale) || !finite(f.Features...) {
			return nil, fmt.Errorf("reading weights: want %d finite numbers for each judge", numFeatures)
		}
	}
	for i := range m.table {
		for j := range m.table[i] {
			m.table[i][j] = int8(table[i*int(numJudges)+j])
		}
	}
	return m, nil
}

func finite(numbers ...float64) bool {
	return !slices.ContainsFunc(numbers, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
}
