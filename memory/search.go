package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudy-ai/understudy/internal/embed"
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

// search offers the documents that bear on the request.
func (v view) search(r recallRequest, s *scratch, best *top) {
	r.words = v.read(r, s)
	if len(r.words) == 0 {
		return
	}
	best.words = r.words
	if r.outer != nil && s.memories > 0 {
		s.outer = r.outer()
	}
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
	}
	gate := newGate(r.words, s.count[:], matched)
	gate.open = r.NoGate
	v.candidates(s)
	v.offerAll(r, s, gate, best)
}

// offerAll offers those of s.choice that pass the gate. Of somebody whom the
// query names, what others said isn't asked for.
func (v view) offerAll(r recallRequest, s *scratch, gate gate, best *top) {
	passed := s.choice[:0]
	most, second, coverage := float32(0), float32(0), 0.0
	for _, c := range s.choice {
		shared, around := s.shared[c.doc], v.sharedAround(s, c.doc)
		meaning := c.meaning >= minMeaning && s.digits&^shared == 0 || gate.open && c.meanings >= minNoise
		meaning = meaning || c.outer >= r.minOuter && s.outer.inverse > 0 && s.digits&^shared == 0
		other := s.person != "" && c.other && !gate.open
		if other || slices.Contains(s.pinned, c.doc) || !gate.passes(shared, around, meaning) {
			continue
		}
		passed = append(passed, c)
		second = max(second, min(most, c.fused))
		most, coverage = max(most, c.fused), max(coverage, gate.coverage(shared), gate.coverage(around))
	}

	bar := float32(0)
	if !gate.open {
		bar = min(most*minFused, second)
	}
	staleness := staleness(r.now)
	for _, c := range passed {
		if c.fused < bar {
			continue
		}
		t, place := v.at(c.doc)
		e := &t.entries[place]
		best.offer(hit{
			doc: c.doc, row: e.row, shared: s.shared[c.doc], near: c.around > 0,
			score: r.profile.score(fit(float64(c.fused), float64(most), coverage), e.importance, min(e.freshness*staleness, 1)),
		}, r.Floor)
	}
}

// sharedAround returns the words of the query that a document holds and, if it
// is a message of a conversation, its neighbours.
func (v view) sharedAround(s *scratch, doc int32) (set uint64) {
	t, place := v.at(doc)
	if t.entries[place].alone {
		return s.shared[doc]
	}
	t.near(place, func(p int32, _ float32) { set |= s.shared[doc-place+p] })

	return set
}

// read notes whom the request names and what it means, and returns the words to
// search for: those that aren't names of speakers, if there are any. In what
// was said to somebody that name stands as well as in what is about him.
func (v view) read(r recallRequest, s *scratch) []string {
	words := s.words[:0]
	s.digits, s.person = 0, ""
	for _, word := range r.words {
		base, named := int32(0), false
		for _, t := range v {
			for _, id := range t.called[word] {
				if t.speakers[id].memories > 0 {
					s.name(base+id, t.speakers[id].name)
					named = true
				}
			}
			base += int32(len(t.speakers))
		}
		if !named {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		words = append(words, r.words...)
	}
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			s.digits |= 1 << i
		}
	}
	s.inverse = 0
	var vector [embed.Dim]int8
	if v[0].embed.Embed(vector[:], topic(clip(r.Text, maxQueryText), words)) {
		s.inverse, s.query, s.sketch = 1/embed.Norm(vector[:]), embed.NewQuery(vector[:]), sketchOf(vector[:])
	}

	return words
}

// topic returns the words of text that say what it is about, by which its
// vector is made: no stop words and no marks, which most texts share, and
// nothing in Chinese, Japanese or Korean, of which the table knows no more than
// the strokes. With kept, only words of which it holds the stems.
func topic(text string, kept []string) string {
	var b strings.Builder
	b.Grow(len(text))
	words(fold(text), func(word string) {
		first, _ := utf8.DecodeRuneInString(word)
		if !isCJK(first) && !stopWords[word] && (kept == nil || slices.Contains(kept, stem(word))) {
			b.WriteString(word)
			b.WriteByte(' ')
		}
	})

	return b.String()
}

func (r *recallRequest) age(e *entry) time.Duration { return r.now.Sub(time.UnixMilli(e.created)) }

// hit is a document with its score.
type hit struct {
	score  float64
	row    int64
	shared uint64
	doc    int32
	near   bool // its neighbours share words
}

// top keeps the best hits that are safe to recall, best first; of equals the
// newest.
type top struct {
	view  view
	words []string // of the query
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
			out[i].Why = explain(b.words, h)
		}
	}

	return out
}
