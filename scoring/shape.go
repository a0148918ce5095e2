package scoring

import (
	"math"
	"sync"
)

// ShapeType is a kind of task.
type ShapeType string

// The task shapes.
const (
	ShapeResearch    ShapeType = "research"
	ShapeCompare     ShapeType = "compare"
	ShapeDraft       ShapeType = "draft" // also what a message without any signal is taken for
	ShapeReview      ShapeType = "review"
	ShapeDecide      ShapeType = "decide"
	ShapePlanExecute ShapeType = "plan-execute"
	ShapeMixed       ShapeType = "mixed"
)

// Complexity is how many steps a task seems to take.
type Complexity string

// The complexities: one step, two or three, more.
const (
	Simple   Complexity = "simple"
	Moderate Complexity = "moderate"
	Complex  Complexity = "complex"
)

// Shape is what kind of work a message asks for.
type Shape struct {
	Type       ShapeType  `json:"type"`
	Confidence float64    `json:"confidence"` // in [0, 0.95]
	Complexity Complexity `json:"complexity"`
	Signals    []string   `json:"signals"` // what fired, as "shape:phrase": ASCII, eight at most, in text order
}

// shapes in order of specificity, which settles ties: "what is the best of A vs B" is first of all a comparison.
var shapes = [...]ShapeType{ShapeCompare, ShapePlanExecute, ShapeDecide, ShapeReview, ShapeResearch, ShapeDraft}

// connectors is the group, after those of the shapes, of the words that chain tasks.
const connectors = len(shapes)

const (
	active     = 2 // weight from which a shape is active: a strong phrase or two keywords
	maxSignals = 8
	manySigns  = 5  // weight of the winner that suggests more than one step
	longTask   = 80 // words beyond which the length alone does
)

// shapeWords returns the matcher for the built-in lists. They are part of the binary and English only; a test
// holds that they compile.
var shapeWords = sync.OnceValue(func() *matcher {
	m := &matcher{}
	for group, name := range append(shapes[:], "connectors") {
		entries, _ := keywords("shape-" + string(name))
		for _, e := range entries {
			_ = m.add(group, e)
		}
	}
	return m
})

// DetectShape classifies text, which is what [HumanText] returned. It knows English only; other languages come
// out as draft with confidence 0.1, below any sensible threshold.
//
// Each phrase found weighs once for its shape, strong ones 2 and keywords 1; s is the sum. Two active shapes
// (s ≥ 2) with a connector ("then", "after that") or three make a mixed task, confident by the active
// shapes' part of all weight. Else the heaviest shape wins with confidence min(s/max(s+2, 6), 0.95); without an
// active shape 0.3; without any signal it is a draft at 0.1.
//
// Complexity counts what suggests a further step: s of the winner ≥ 5, a mixed task, a connector, a numbered
// list, more than 80 words. None is simple, one or two moderate, more complex.
func DetectShape(text string) Shape {
	var weights [len(shapes) + 1]tally
	var marks marks
	m, words, signals := shapeWords(), 0, []string{}
	first, last := excerpt(text)
	for _, part := range []string{first, last} {
		words += m.match(part, func(h hit) {
			before := weights[h.group].n
			weights[h.group].add(h)
			if h.group != connectors && weights[h.group].n > before && len(signals) < maxSignals {
				signals = append(signals, string(shapes[h.group])+":"+m.phrases[h.id])
			}
		}, nil)
		marks.scan(part)
	}
	s := Shape{Type: ShapeDraft, Confidence: 0.1, Signals: signals}
	top := s.classify(weights)
	s.Complexity = complexity(s.Type == ShapeMixed, top >= manySigns, weights[connectors].n > 0,
		marks.items > 1, words > longTask)
	return s
}

// classify sets type and confidence by the weights and returns that of the heaviest shape.
func (s *Shape) classify(weights [len(shapes) + 1]tally) (top int) {
	best, total, inActive, actives := 0, 0, 0, 0
	for i := range shapes {
		w := weights[i].sum
		total += w
		if w >= active {
			actives++
			inActive += w
		}
		if w > weights[best].sum {
			best = i
		}
	}
	top = weights[best].sum
	chained := weights[connectors].n > 0
	switch {
	case actives >= 3 || actives == 2 && chained:
		s.Type, s.Confidence = ShapeMixed, math.Min(float64(inActive)/float64(total), 0.95)
	case actives > 0:
		s.Type, s.Confidence = shapes[best], math.Min(float64(top)/float64(max(top+2, 6)), 0.95)
	case top > 0:
		s.Type, s.Confidence = shapes[best], 0.3
	}
	return top
}

// complexity counts the signs of further steps.
func complexity(signs ...bool) Complexity {
	n := 0
	for _, sign := range signs {
		if sign {
			n++
		}
	}
	switch {
	case n == 0:
		return Simple
	case n <= 2:
		return Moderate
	}
	return Complex
}
