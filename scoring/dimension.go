package scoring

import (
	"slices"
	"strconv"
)

// Dimension is one feature of a message.
type Dimension int

// The dimensions. All but TokenCount are fed by the keyword list of the same name.
const (
	TokenCount           Dimension = iota // length, from -1 (a word) to +1 (4,000 tokens)
	CodePresence                          // programming words, code marks
	ReasoningMarkers                      // proofs, derivations, "step by step"
	SimpleIndicators                      // greetings, "what is …": 0 down to -1
	TechnicalDepth                        // architecture, algorithms, distributed systems
	MultiStep                             // "first … then", numbered lists
	ConstraintComplexity                  // "at most", "O(n)", "must not"

	NumDimensions // how many there are
)

var dimensionNames = [NumDimensions]string{
	"token_count", "code_presence", "reasoning_markers", "simple_indicators",
	"technical_depth", "multi_step", "constraint_complexity",
}

// String returns the dimension's name as configurations and JSON spell it.
func (d Dimension) String() string {
	if d < 0 || d >= NumDimensions {
		return "dimension(" + strconv.Itoa(int(d)) + ")"
	}
	return dimensionNames[d]
}

// dimensionNamed returns the dimension of that name, false when there is none.
func dimensionNamed(name string) (Dimension, bool) {
	i := slices.Index(dimensionNames[:], name)
	return Dimension(i), i >= 0
}

// Vector holds one number for each [Dimension]. As features each is in [-1, 1].
type Vector [NumDimensions]float64

// MarshalJSON writes the vector as an object by dimension name, in the order of the constants.
func (v Vector) MarshalJSON() ([]byte, error) {
	out := make([]byte, 0, 256)
	for d, x := range v {
		sep := byte(',')
		if d == 0 {
			sep = '{'
		}
		out = append(out, sep)
		out = strconv.AppendQuote(out, dimensionNames[d])
		out = append(out, ':')
		out = strconv.AppendFloat(out, x, 'g', -1, 64)
	}
	return append(out, '}'), nil
}
