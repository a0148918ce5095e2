package scoring

import (
	"errors"
	"fmt"
)

// Scorer scores messages by keywords. It is immutable and safe for concurrent use.
type Scorer struct {
	model linear
	words *matcher // groups are dimensions
}

// New returns a scorer for c. Its error joins every fault found: an unknown dimension, a weight that is
// negative or not finite, boundaries out of order, a keyword without a word in it, a keyword to remove that
// is not in its list.
func New(c Config) (*Scorer, error) {
	model, modelErr := c.model()
	words, wordsErr := compileDimensions(c.Keywords)
	if err := errors.Join(modelErr, wordsErr); err != nil {
		return nil, fmt.Errorf("building scorer: %w", err)
	}
	return &Scorer{model: model, words: words}, nil
}

// Score scores one human message, as [HumanText] returned it. Empty text scores 0 and abstains. The work is
// bounded: of a text longer than 4 KiB only the first and the last paragraph are read, at most 1 KiB of each,
// for there the request stands when material is pasted; the rest counts for length alone.
func (s *Scorer) Score(text string) Score {
	features, signal := s.features(text)
	return s.model.score(features, signal)
}
