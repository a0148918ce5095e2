package scoring

import (
	"errors"
	"fmt"
)

// Scorer scores messages. It is immutable and safe for concurrent use.
type Scorer struct {
	model   linear
	words   *matcher // groups are dimensions and, for the learned scorer, concepts behind them
	deep    bool     // it reads concepts, structure and n-grams, too
	learned *learned // nil: by keywords alone
}

// New returns a scorer for c. Its error joins every fault found: an unknown kind, an unknown dimension, a weight that
// is negative or not finite, boundaries out of order, a keyword without a word in it, a keyword to remove that is not
// in its list.
func New(c Config) (*Scorer, error) {
	model, modelErr := c.model()
	words, wordsErr := compileDimensions(c.Keywords)
	s := &Scorer{model: model, words: words}
	var kindErr error
	switch c.Kind {
	case Keyword:
	case Learned:
		var weightsErr error
		s.deep = true
		s.learned, weightsErr = builtIn()
		kindErr = errors.Join(weightsErr, addConcepts(words))
	default:
		kindErr = fmt.Errorf("scorer: unknown kind %q, want %q or %q", c.Kind, Learned, Keyword)
	}
	if err := errors.Join(kindErr, modelErr, wordsErr); err != nil {
		return nil, fmt.Errorf("building scorer: %w", err)
	}
	return s, nil
}

// Score scores one human message, as [HumanText] returned it. Empty text scores 0 and abstains. The work is
// bounded: of a text longer than 4 KiB only the first and the last paragraph are read, at most 1 KiB of each,
// for there the request stands when material is pasted; the rest counts for length alone.
func (s *Scorer) Score(text string) Score {
	var r reading
	if s.learned == nil {
		s.examine(text, &r)
		return s.model.score(r.features(len(text)))
	}
	r.ngrams.table = s.learned.table
	s.examine(text, &r)
	dims, _ := r.features(len(text))
	v := s.learned.judge(&r, dims)
	out := Score{Value: v.value, Dimensions: dims}
	for d, x := range dims {
		out.Contributions[d] = x * s.learned.weight(&v, d)
	}
	if r.shape.words == 0 {
		return Score{Dimensions: dims, Abstained: true}
	}
	s.model.decide(&out, s.learned.certain)
	return out
}
