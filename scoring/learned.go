package scoring

import "math"

// judge is one linear model over the same features: a number for each named feature and for each place of the
// n-grams.
type judge int

// The judges. The score is a mixture of what three say: steady, request and exam, in shares that the gates set.
// So a text is judged by what was learned from texts of its kind, and by steady signals where it is of no kind known.
const (
	request     judge = iota // learned from handwritten requests with their tier
	exam                     // learned from questions with the outcome of a weak and a strong model
	requestGate              // how much a text looks like the former
	examGate                 // how much it looks like the latter

	numJudges
)

// learned is the fitted model.
type learned struct {
	steady  fitted // without n-grams
	judges  [numJudges]fitted
	table   []slot
	certain float64 // slope of the confidence by the distance from a boundary
}

// fitted is one judge but for its n-grams' weights, which stand in the table.
type fitted struct {
	Bias     float64   `json:"bias"`
	Scale    float64   `json:"scale"` // of the table's units
	Features []float64 `json:"features"`
}

// numFeatures is how many named features there are: the dimensions, two for each concept, the structure.
const numFeatures = int(NumDimensions) + 2*numConcepts + len(structureNames)

// featureNames returns the names of the features in the order of their values.
func featureNames() []string {
	names := append(make([]string, 0, numFeatures), dimensionNames[:]...)
	for _, c := range conceptNames {
		names = append(names, c, c+"_leads")
	}
	return append(names, structureNames[:]...)
}

// values writes the features of what was read into to, in the order of their names.
func (r *reading) values(dims Vector, to *[numFeatures]float64) {
	v := append(to[:0], dims[:]...)
	for c := range r.concepts {
		v = append(v, float64(min(r.concepts[c].n, 4)), float64(min(r.leads[c], 2)))
	}
	r.shape.values(v, &r.marks)
}

// verdict is what a model said of one text.
type verdict struct {
	value  float64
	shares [2]float64 // of request and exam in the value, each in (0, 1); the rest is steady's
	values [numFeatures]float64
	said   [numJudges]float64
}

func (m *learned) judge(r *reading, dims Vector) (v verdict) {
	r.values(dims, &v.values)
	share := r.ngrams.share()
	for j := range m.judges {
		f := &m.judges[j]
		said := f.Bias + f.Scale*float64(r.ngrams.sums[j])*share
		for i, x := range v.values {
			said += f.Features[i] * x
		}
		v.said[j] = said
	}
	steady := m.steady.Bias
	for i, x := range v.values {
		steady += m.steady.Features[i] * x
	}
	a, b := odds(v.said[requestGate]), odds(v.said[examGate])
	v.shares = [2]float64{a / (1 + a + b), b / (1 + a + b)}
	v.value = (steady + a*v.said[request] + b*v.said[exam]) / (1 + a + b)
	return v
}

// odds returns what a gate's logarithm stands for, kept finite.
func odds(x float64) float64 { return math.Exp(max(-40, min(40, x))) }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// mix returns the mean of a number of each judge, weighted by their shares.
func (v *verdict) mix(steady, ofRequest, ofExam float64) float64 {
	return (1-v.shares[0]-v.shares[1])*steady + v.shares[0]*ofRequest + v.shares[1]*ofExam
}

// weight returns what a unit of the feature adds to the value of v.
func (m *learned) weight(v *verdict, feature int) float64 {
	return v.mix(m.steady.Features[feature], m.judges[request].Features[feature], m.judges[exam].Features[feature])
}
