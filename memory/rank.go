package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

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

	// halfLife is the age at which a memory's recency is one half.
	halfLife = 30 * 24 * time.Hour
)

// profile weighs what is mixed into a score; the parts of each sum to 1.
type profile struct{ match, importance, recency float64 }

// profileNamed returns the weights of a scoring profile; unknown names mean
// balanced, and so does connected as long as there is no graph to connect by.
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

// ranker gates and scores the matches of one query.
type ranker struct {
	query   Query
	words   []string
	profile profile
	now     time.Time
	skipped map[string]bool
	matches []match
}

type match struct {
	item      Item
	relevance float64  // BM25, more is better
	shared    []string // words of the query
	coverage  float64  // share of the query's evidence, in (0, 1]
}

func newRanker(q Query, words []string, now time.Time) *ranker {
	return &ranker{query: q, words: words, profile: profileNamed(q.Profile), now: now, skipped: map[string]bool{}}
}

// skip leaves out the item with the id.
func (r *ranker) skip(id string) { r.skipped[id] = true }

// add takes an item with its BM25 relevance and its tokens.
func (r *ranker) add(item Item, relevance float64, text string) {
	if r.skipped[item.ID] {
		return
	}
	m := match{item: item, relevance: relevance}
	have := strings.Fields(text)
	for _, w := range r.words {
		if slices.Contains(have, w) {
			m.shared = append(m.shared, w)
		}
	}
	r.matches = append(r.matches, m)
}

// gate drops the matches that share too little with the query.
func (r *ranker) gate() {
	weight := r.weights()
	total := 0.0
	for _, w := range r.words {
		total += weight[w]
	}
	r.matches = slices.DeleteFunc(r.matches, func(m match) bool {
		whole := len(m.shared) == len(r.words) && len(m.shared) > 1
		sum := sumOf(weight, m.shared)

		return !whole && (sum < minEvidence || sum/total < minShare && sum < sureEvidence)
	})
	for i := range r.matches {
		r.matches[i].coverage = sumOf(weight, r.matches[i].shared) / total
	}
}

// weights returns what sharing each word of the query proves: little for the
// words of requests in general. Where very many memories matched, a word that
// most of them share proves as little beside one that few of them do.
func (r *ranker) weights() map[string]float64 {
	count := map[string]int{}
	for _, m := range r.matches {
		for _, w := range m.shared {
			count[w]++
		}
	}
	rare := func(w string) bool { return !weakWords[w] && count[w] < len(r.matches)/4 }
	crowded := len(r.matches) >= candidates/2 && slices.ContainsFunc(r.words, rare)

	weight := map[string]float64{}
	for _, w := range r.words {
		weight[w] = 1
		if weakWords[w] || crowded && count[w] > len(r.matches)*3/4 {
			weight[w] = weakWeight
		}
	}

	return weight
}

func sumOf(weight map[string]float64, words []string) (sum float64) {
	for _, w := range words {
		sum += weight[w]
	}

	return sum
}

// best scores what was added and returns the best, within the query's limit
// and floor, that are still safe to recall.
func (r *ranker) best() []Item {
	r.gate()
	top := 0.0
	for _, m := range r.matches {
		top = max(top, m.relevance)
	}
	for i, m := range r.matches {
		r.matches[i].item.Score = r.score(m, top)
		r.matches[i].item.Why = "shares " + strings.Join(m.shared, ", ")
	}
	slices.SortStableFunc(r.matches, func(a, b match) int { return cmp.Compare(b.item.Score, a.item.Score) })

	limit := r.query.Limit
	if limit <= 0 {
		limit = defaultRecall
	}
	limit = min(limit, maxRecall)
	var out []Item
	for _, m := range r.matches {
		if len(out) == limit || m.item.Score < r.query.Floor {
			break
		}
		if Scan(m.item.Content).Action == Allow {
			out = append(out, m.item)
		}
	}

	return out
}

// score mixes how well the words match with importance and recency, which are
// computed from values that never change. The match is BM25 as a share of the
// best one's, halved, plus half the coverage's root: the first orders, the
// second says how good the best is.
func (r *ranker) score(m match, top float64) float64 {
	relative := 1.0
	if top > 0 {
		relative = max(m.relevance, 0) / top
	}
	fit := (relative + math.Sqrt(m.coverage)) / 2
	age := max(r.now.Sub(m.item.CreatedAt), 0)
	recency := math.Exp2(-float64(age) / float64(halfLife))

	return fit * (r.profile.match + r.profile.importance*m.item.Importance + r.profile.recency*recency)
}
