package memory

import (
	"cmp"
	"slices"
	"time"
)

// BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)
// with the constants that SQLite's FTS5 has, so that both ways of searching
// agree, and with 1 added inside the logarithm as in Lucene, so that a word
// that most memories share counts for little but never against them.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// view is the one or two tables that a scope sees, the workspace's first,
// locked for reading. A document is a place of one of them; the places of the second
// follow those of the first.
type view []*table

// lock locks the tables. It reports false, with none locked, if one of them
// can't be searched.
func (v view) lock() bool {
	for i, t := range v {
		t.mu.RLock()
		if t.huge {
			v[:i+1].unlock()
			return false
		}
	}

	return true
}

func (v view) unlock() {
	for _, t := range v {
		t.mu.RUnlock()
	}
}

// at returns the table and place of a document.
func (v view) at(doc int32) (*table, int32) {
	for _, t := range v[:len(v)-1] {
		if int(doc) < len(t.entries) {
			return t, doc
		}
		doc -= int32(len(t.entries))
	}

	return v[len(v)-1], doc
}

// recall answers a request, with the working space of a scratch.
func (v view) recall(r recallRequest, s *scratch) Recalled {
	s.reset(v)
	var pinned []Item
	if !r.plain {
		pinned = v.pin(s)
	}

	best := top{view: v, limit: r.limit(), kept: s.kept[:0]}
	if r.catchUp {
		v.catchUp(r, s, &best)
	} else {
		v.search(r, s, &best)
	}

	return Recalled{Pinned: pinned, Items: best.items(r)}
}

// pin returns the user's standing memories, and notes their documents.
func (v view) pin(s *scratch) []Item {
	own := v[len(v)-1] // A workspace has none.
	candidates := own.pinned[:min(len(own.pinned), pinCandidates)]
	if len(candidates) == 0 || own.scope.user == "" {
		return nil
	}
	p := pins{items: make([]Item, 0, min(len(candidates), maxPinned))}
	base := int32(s.documents - len(own.entries))
	for _, place := range candidates {
		if own.safe(place) && p.add(&own.records[place].item) {
			s.pinned = append(s.pinned, base+place)
		}
	}

	return p.items
}

// catchUp offers every document by importance and recency.
func (v view) catchUp(r recallRequest, s *scratch, best *top) {
	doc, staleness := int32(-1), staleness(r.now)
	for _, t := range v {
		for i := range t.entries {
			doc++
			e := &t.entries[i]
			if (e.importance+min(e.freshness*staleness, 1))/2 < best.bar { // It decays faster than that.
				continue
			}
			if e.row != 0 && !slices.Contains(s.pinned, doc) {
				best.offer(hit{doc: doc, row: e.row, score: catchUpScore(e.importance, r.age(e))}, r.Floor)
			}
		}
	}
}

// search offers the documents that share enough words with the request.
func (v view) search(r recallRequest, s *scratch, best *top) {
	v.accumulate(r.words, s)
	defer s.wipe()
	matched := len(s.touched)
	for _, doc := range s.pinned { // They take no part.
		if s.shared[doc] != 0 {
			matched--
		}
		for i := range r.words {
			s.count[i] -= int(s.shared[doc] >> i & 1)
		}
		s.shared[doc] = 0
	}

	gate := newGate(r.words, s.count[:], matched)
	gate.open = r.NoGate
	most, hits := 0.0, s.touched[:0]
	for _, doc := range s.touched {
		if s.shared[doc] != 0 && gate.coverage(s.shared[doc]) > 0 {
			most = max(most, s.relevance[doc])
			hits = append(hits, doc)
		} else {
			s.shared[doc], s.relevance[doc] = 0, 0
		}
	}
	s.touched = hits

	staleness := staleness(r.now)
	for _, doc := range hits {
		fit := fit(s.relevance[doc], most, gate.coverage(s.shared[doc]))
		if fit < best.bar { // No score is above its fit.
			continue
		}
		t, place := v.at(doc)
		e := &t.entries[place]
		best.offer(hit{
			doc: doc, row: e.row, shared: s.shared[doc],
			score: r.profile.score(fit, e.importance, min(e.freshness*staleness, 1)),
		}, r.Floor)
	}
}

// accumulate sums up the BM25 of every document that holds one of the words,
// and marks which.
func (v view) accumulate(words []string, s *scratch) {
	if s.memories == 0 {
		return
	}
	s.weigh(float64(s.length) / float64(s.memories))
	var lists [2][]posting
	for i, word := range words {
		n := 0
		for k, t := range v {
			lists[k] = t.terms[word]
			n += len(lists[k])
		}
		s.count[i] = n
		weight := idf(n, s.memories)
		base := int32(0)
		for k, t := range v {
			s.add(lists[k], base, 1<<i, weight)
			base += int32(len(t.entries))
		}
	}
}

func (r *recallRequest) age(e *entry) time.Duration { return r.now.Sub(time.UnixMilli(e.created)) }

// hit is a document with its score.
type hit struct {
	score  float64
	row    int64
	shared uint64
	doc    int32
}

// top keeps the best hits that are safe to recall, best first; of equals the
// newest.
type top struct {
	view  view
	limit int
	kept  []hit
	bar   float64 // what a hit must reach to matter
}

// offer takes a hit if it is among the best and not below floor.
func (b *top) offer(h hit, floor float64) {
	if h.score < b.bar || h.score < floor {
		return
	}
	i, _ := slices.BinarySearchFunc(b.kept, h, func(a, h hit) int {
		return cmp.Or(cmp.Compare(h.score, a.score), cmp.Compare(h.row, a.row))
	})
	if i == b.limit {
		return
	}
	if t, place := b.view.at(h.doc); !t.safe(place) {
		return
	}
	if len(b.kept) == b.limit {
		b.kept = b.kept[:b.limit-1]
	}
	b.kept = slices.Insert(b.kept, i, h)
	if len(b.kept) == b.limit {
		b.bar = b.kept[b.limit-1].score
	}
}

// items returns what was kept, each with its score and why.
func (b *top) items(r recallRequest) []Item {
	if len(b.kept) == 0 {
		return nil
	}
	out := make([]Item, len(b.kept))
	for i, h := range b.kept {
		t, place := b.view.at(h.doc)
		out[i] = t.records[place].item
		out[i].Score, out[i].Why = h.score, whyCatchUp
		if !r.catchUp {
			out[i].Why = explain(r.words, h.shared)
		}
	}

	return out
}
