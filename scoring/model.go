package scoring

import "math"

// steepness is the slope of the logistic curve that turns the distance from a boundary into a confidence:
// 0.5 on the boundary, 0.65 at 0.05, 0.77 at 0.1, 0.92 at 0.2.
const steepness = 12

// Score is what the scorer found in one message.
type Score struct {
	// Value says how hard the message is; see [Scorer.Explain] for what it is made of.
	Value float64 `json:"score"`
	// Tier is where Value lies between the boundaries, or Standard when the scorer abstained.
	Tier Tier `json:"tier"`
	// Confidence, in [0, 1], grows with the distance of Value from the nearest boundary. It is 0 when the
	// message held no signal at all.
	Confidence float64 `json:"confidence"`
	// Abstained says that Tier is the default and not a finding: no signal, or too little confidence.
	Abstained bool `json:"abstained"`
	// Dimensions are the features, each in [-1, 1].
	Dimensions Vector `json:"dimensions"`
	// Contributions are what each dimension adds to Value. By keywords they are all of it.
	Contributions Vector `json:"contributions"`
}

// linear is the model: a weight for each dimension and the boundaries between tiers.
type linear struct {
	weights       Vector
	bounds        Boundaries
	minConfidence float64
}

// score applies the model to a vector of features. Without a signal (no feature but length) it abstains.
func (m linear) score(features Vector, signal bool) Score {
	s := Score{Dimensions: features}
	for d, x := range features {
		s.Contributions[d] = m.weights[d] * x
		s.Value += s.Contributions[d]
	}
	if !signal {
		s.Abstained = true
		return s
	}
	m.decide(&s, steepness)
	return s
}

// decide sets confidence and tier by the value; certain is the slope of the confidence by the distance from the
// nearest boundary.
func (m linear) decide(s *Score, certain float64) {
	low, high := m.bounds.LightStandard, m.bounds.StandardHeavy
	distance := math.Min(math.Abs(s.Value-low), math.Abs(s.Value-high))
	s.Confidence = logistic(certain * distance)
	switch {
	case s.Confidence < m.minConfidence:
		s.Abstained = true
	case s.Value < low:
		s.Tier = Light
	case s.Value > high:
		s.Tier = Heavy
	}
}
