package scoring

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Boundaries cut the score into tiers: below LightStandard is light, above StandardHeavy is heavy, the rest
// (both boundaries included) is standard.
type Boundaries struct {
	LightStandard float64
	StandardHeavy float64
}

// KeywordEdit changes the built-in keyword list of one dimension. Entries are written as in the files under
// keywords/: words in any case; "^" in front ties a phrase to the start of a sentence or line; "!" in front
// makes it count double; " ... " lets up to 40 words stand between two parts.
type KeywordEdit struct {
	Add    []string
	Remove []string // must be in the list; markers are ignored
}

// Kind is a way of scoring.
type Kind string

// The kinds of scorer.
const (
	// Learned scores by weights that were fitted offline: of the seven dimensions, of concepts in some thirty
	// languages, of structure, of words and pairs of words.
	Learned Kind = "learned"
	// Keyword scores by the weights of the seven dimensions alone.
	Keyword Kind = "keyword"
)

// Config says how messages are scored. Start from [DefaultConfig]: the zero Config has no valid boundaries.
type Config struct {
	Kind Kind
	// Weights of a keyword scorer by dimension name; those not named keep their default. Each is finite and not negative:
	// simple_indicators is negative already as a feature.
	Weights map[string]float64
	// Boundaries between the tiers, in units of the score.
	Boundaries Boundaries
	// MinConfidence, in [0, 1), is the confidence below which the scorer abstains. Confidence is never
	// below 0.5 for a message with a signal, so values up to 0.5 switch this off.
	MinConfidence float64
	// Keywords edit the built-in lists, by dimension name.
	Keywords map[string]KeywordEdit
}

// DefaultConfig returns the default weights, boundaries 0.0 and 0.4 and the built-in lists. MinConfidence 0.55
// makes the scorer abstain within 0.017 of a boundary.
func DefaultConfig() Config {
	weights := make(map[string]float64, NumDimensions)
	for d, w := range defaultWeights() {
		weights[dimensionNames[d]] = w
	}
	return Config{
		Kind:          Learned,
		Weights:       weights,
		Boundaries:    Boundaries{LightStandard: 0, StandardHeavy: 0.4},
		MinConfidence: 0.55,
	}
}

// defaultWeights sum to 1.
func defaultWeights() Vector {
	return Vector{
		TokenCount:           0.10,
		CodePresence:         0.20,
		ReasoningMarkers:     0.20,
		SimpleIndicators:     0.15,
		TechnicalDepth:       0.15,
		MultiStep:            0.10,
		ConstraintComplexity: 0.10,
	}
}

// model checks the numbers of c and returns the linear model that they describe.
func (c Config) model() (linear, error) {
	var errs []error
	m := linear{weights: defaultWeights(), bounds: c.Boundaries, minConfidence: c.MinConfidence}
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		d, ok := dimensionNamed(name)
		w := c.Weights[name]
		switch {
		case !ok:
			errs = append(errs, unknownDimension("weights", name))
		case math.IsNaN(w) || math.IsInf(w, 0) || w < 0:
			errs = append(errs, fmt.Errorf("weights: %s is %v, want a finite number ≥ 0", name, w))
		default:
			m.weights[d] = w
		}
	}
	low, high := c.Boundaries.LightStandard, c.Boundaries.StandardHeavy
	if !(low < high) || math.IsInf(low, 0) || math.IsInf(high, 0) { // also true for NaN
		errs = append(errs, fmt.Errorf("boundaries: light_standard %v must be below standard_heavy %v", low, high))
	}
	if !(c.MinConfidence >= 0 && c.MinConfidence < 1) {
		errs = append(errs, fmt.Errorf("min_confidence is %v, want [0, 1)", c.MinConfidence))
	}
	return m, errors.Join(errs...)
}

func unknownDimension(where, name string) error {
	return fmt.Errorf("%s: unknown dimension %q, want one of %s", where, name, strings.Join(dimensionNames[:], ", "))
}
