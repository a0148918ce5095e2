package memory

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

// The rules of this file hold for every way of searching: what shares enough
// words with a query to be recalled at all, and what its score then is. The
// words of a query are at most 64, and a set of them is a bit mask: bit i
// stands for word i.

const (
	// weakWeight is what a weak word counts for as evidence, against 1 for any
	// other.
	weakWeight = 0.3

	// The gate: an item must share at least one strong word's worth of
	// evidence with the query, and that must be at least a quarter of what the
	// query holds, or two strong words' worth. One common word of a long
	// question proves nothing.
	minEvidence  = 1.0
	minShare     = 0.25
	sureEvidence = 2.0

	// minCrowd is from how many matches on a word may be too common among them
	// to prove anything. Of fewer, the share of a word is chance.
	minCrowd = 32

	// minFused is how much of the best match's score one must have from the
	// third on, so that a good match doesn't bring a crowd of poor ones along.
	minFused = 0.8

	// minNoise is the cosine below which two texts have nothing in common: not
	// even a search without the gate finds one by the other.
	minNoise = 0.3

	// minAround is the share of the query's evidence that a memory must hold
	// together with its neighbours, where its own words aren't enough.
	minAround = 0.7

	// minMeaning is the cosine from which on a memory passes by what it means,
	// whatever its words are. Of the questions about other conversations one in
	// four finds something that near. Names with digits have no meaning: those
	// of the query it must hold.
	minMeaning = 0.65

	// halfLife is the age at which a memory's recency is one half.
	halfLife = 30 * 24 * time.Hour

	// catchUpHalfLife takes its place for "where were we": that asks for days.
	catchUpHalfLife = 3 * 24 * time.Hour
)

// profile weighs what is mixed into a score; the parts of each sum to 1.
type profile struct{ match, importance, recency float64 }

// profileNamed returns the weights of a scoring profile. Unknown names mean
// balanced; connected weighs as it does, and follows the graph (see connected).
func profileNamed(name string) profile {
	switch name {
	case "recent":
		return profile{match: 0.5, importance: 0.1, recency: 0.4}
	case "important":
		return profile{match: 0.5, importance: 0.4, recency: 0.1}
	default:
		return profile{match: 0.7, importance: 0.2, recency: 0.1}
	}
}

// score mixes how well the words fit with importance and recency (see decay),
// which are computed from values that never change. It is at most fit.
func (p profile) score(fit, importance, recency float64) float64 {
	return fit * (p.match + p.importance*importance + p.recency*recency)
}

// fit is a match's score as a share of the best match's, and less where even
// the best covers little of the query: the first orders, the second says how
// good the best is.
func fit(score, top, coverage float64) float64 {
	relative := 1.0
	if top > 0 {
		relative = max(score, 0) / top
	}

	return relative * (1 + math.Sqrt(coverage)) / 2
}

// catchUpScore is the score of a memory that nobody searched for.
func catchUpScore(importance float64, age time.Duration) float64 {
	return (importance + decay(age, catchUpHalfLife)) / 2
}

// decay is 1 for what is new, or dated in the future, and halves with each
// half-life.
func decay(age, half time.Duration) float64 {
	return math.Exp2(-float64(max(age, 0)) / float64(half))
}

// gate decides which matches count.
type gate struct {
	strong, weak uint64  // the query's words by what sharing them proves
	total        float64 // evidence of all of them
	open         bool    // lets everything through
}

// newGate weighs the words of a query, of which count[i] of the matched
// memories hold word i. The words of requests in general prove little. Where
// many memories matched, a word that most of them share proves as little
// beside one that few of them do.
func newGate(words []string, count []int, matched int) gate {
	var g gate
	crowded := false
	for i, word := range words {
		if weakWords[word] {
			g.weak |= 1 << i
		} else if count[i] < matched/4 {
			crowded = matched >= minCrowd
		}
	}
	for i := range words {
		if crowded && count[i] > matched*3/4 {
			g.weak |= 1 << i
		}
	}
	g.strong = (1<<len(words) - 1) &^ g.weak
	g.total = g.evidence(g.strong | g.weak)

	return g
}

// evidence is what sharing a set of words is worth.
func (g gate) evidence(shared uint64) float64 {
	return float64(bits.OnesCount64(shared&g.strong)) + weakWeight*float64(bits.OnesCount64(shared&g.weak))
}

// coverage returns the share of the query's evidence, in (0, 1], that a match
// holds, or 0 if that is too little to be recalled.
func (g gate) coverage(shared uint64) float64 {
	sum := g.evidence(shared)
	whole := shared == g.strong|g.weak && bits.OnesCount64(shared) > 1
	if !whole && (sum < minEvidence || sum/g.total < minShare && sum < sureEvidence) {
		return 0
	}

	return sum / g.total
}

// Values of [Item.Why] where a memory's own words aren't shared.
const (
	whyNear    = "said beside what shares words"
	whyMeaning = "close in meaning"
)

// passes reports whether a memory is let through that shares some words with the
// query by itself, some together with its neighbours, and perhaps its meaning.
func (g gate) passes(shared, around uint64, meaning bool) bool {
	if g.open {
		return meaning || around != 0
	}

	return meaning || g.coverage(shared) > 0 || g.coverage(around) >= minAround
}

// explain says why a hit was found.
func explain(words []string, h hit) string {
	switch {
	case h.shared == 0 && h.near:
		return whyNear
	case h.shared == 0:
		return whyMeaning
	}
	var b strings.Builder
	b.Grow(64) // Enough for most.
	b.WriteString("shares ")
	for shared := h.shared; shared != 0; shared &= shared - 1 {
		if shared != h.shared {
			b.WriteString(", ")
		}
		b.WriteString(words[bits.TrailingZeros64(shared)])
	}

	return b.String()
}

// limit is how many items a query wants at most.
func (q Query) limit() int {
	if q.Limit <= 0 {
		return defaultRecall
	}

	return min(q.Limit, maxRecall)
}
