package scoring

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Contribution is what one thing in a text adds to its score.
type Contribution struct {
	// Name is a dimension, a concept, a mark of structure, or a word or two in quotes.
	Name      string  `json:"name"`
	Dimension bool    `json:"dimension"` // it is one of the seven
	Value     float64 `json:"value"`     // how often or how much it is there
	Adds      float64 `json:"adds"`
}

// Explanation is a [Score] in full.
type Explanation struct {
	Score
	// Request and Exam, in [0, 1], are the shares in the score of what was learned from handwritten requests and from
	// exam questions: how much the text looks like them. The rest is judged by signals that mean the same everywhere.
	// Both are 0 for a keyword scorer.
	Request float64 `json:"request"`
	Exam    float64 `json:"exam"`
	// Parts sum to the score, the largest first.
	Parts []Contribution `json:"parts"`
}

// Explain scores text as [Scorer.Score] does and says what made the score. It is for people: it allocates.
func (s *Scorer) Explain(text string) Explanation {
	e := Explanation{Score: s.Score(text)}
	if s.learned == nil {
		for d, adds := range e.Contributions {
			e.Parts = append(e.Parts, Contribution{Name: dimensionNames[d], Dimension: true, Value: e.Dimensions[d], Adds: adds})
		}
	} else {
		s.explain(text, &e)
	}
	e.Parts = slices.DeleteFunc(e.Parts, func(c Contribution) bool { return c.Adds == 0 })
	slices.SortStableFunc(e.Parts, func(a, b Contribution) int { return cmp.Compare(math.Abs(b.Adds), math.Abs(a.Adds)) })
	return e
}

func (s *Scorer) explain(text string, e *Explanation) {
	m := s.learned
	grams := map[string]*Contribution{}
	slots := map[string]slot{}
	r := reading{ngrams: ngrams{table: m.table, seen: func(slot uint32, gram string) {
		if grams[gram] == nil {
			grams[gram] = &Contribution{Name: strconv.Quote(gram)}
			slots[gram] = m.table[slot]
		}
		grams[gram].Value++
	}}}
	s.examine(text, &r)
	if r.shape.words == 0 {
		return
	}
	v := m.judge(&r, e.Dimensions)
	e.Request, e.Exam = v.shares[0], v.shares[1]
	e.Parts = append(e.Parts, Contribution{
		Name: "base", Value: 1,
		Adds: v.mix(m.steady.Bias, m.judges[request].Bias, m.judges[exam].Bias),
	})
	for i, name := range featureNames() {
		e.Parts = append(e.Parts, Contribution{
			Name: name, Dimension: i < int(NumDimensions), Value: v.values[i], Adds: v.values[i] * m.weight(&v, i),
		})
	}
	for _, gram := range slices.Sorted(maps.Keys(grams)) {
		c, w := grams[gram], slots[gram]
		unit := v.mix(0, m.judges[request].Scale*float64(w[request]), m.judges[exam].Scale*float64(w[exam]))
		c.Adds = c.Value * unit * r.ngrams.share()
		e.Parts = append(e.Parts, *c)
	}
}
