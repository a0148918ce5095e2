package memory

// BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009)
// with the constants that SQLite's FTS5 has, so that both ways of searching
// agree, and with 1 added inside the logarithm as in Lucene, so that a word
// that most memories share counts for little but never against them.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// means are the mean lengths in tokens, over a view, that BM25 measures by.
type means struct{ memory, span, talk float32 }

func (v view) means(s *scratch) means {
	spans, said, talks := 0.0, 0, 0
	for _, t := range v {
		spans += t.spans
		said += t.said
		talks += t.conversations
	}

	return means{
		memory: float32(s.length) / float32(s.memories),
		span:   float32(spans) / float32(s.memories),
		talk:   float32(said) / float32(max(talks, 1)),
	}
}

// accumulate sums up, of every document that holds one of the words, its BM25,
// and marks which words; the BM25 of each document together with its
// neighbours; and that of each session.
func (v view) accumulate(words []string, s *scratch) {
	if s.memories == 0 {
		return
	}
	m := v.means(s)
	s.weigh(float64(m.memory))
	talks := 0
	for _, t := range v {
		talks += t.conversations
	}
	for i, word := range words {
		n := 0
		for _, t := range v {
			n += len(t.terms[word])
		}
		s.count[i] = n
		weight := idf(n, s.memories)
		doc, talk := int32(0), int32(0)
		for _, t := range v {
			s.add(t, t.terms[word], doc, talk, 1<<i, weight)
			s.settle(t, doc, float32(weight), m.span)
			doc += int32(len(t.entries))
			talk += int32(len(t.talks))
		}
		v.settleTalks(s, float32(idf(len(s.open), talks)), m.talk)
	}
}

// add adds a word of one table, as a bit and with its weight, to the documents
// that hold it, and spreads its occurrences to their neighbours and sessions.
func (s *scratch) add(t *table, list []posting, base, talks int32, bit uint64, weight float64) {
	for _, p := range list {
		doc, times := base+p.place, float32(p.times)
		if s.shared[doc] == 0 {
			s.touched = append(s.touched, doc)
		}
		s.shared[doc] |= bit
		factor := s.once[p.length]
		if p.times > 1 {
			factor = float64(times) * (bm25K1 + 1) / (float64(times) + s.norm[p.length])
		}
		s.relevance[doc] += weight * factor

		e := &t.entries[p.place]
		s.spread(doc, times)
		if e.prev != none { // To it, this one is what comes after.
			s.spread(base+e.prev, after1*times)
		}
		if e.next != none {
			s.spread(base+e.next, before1*times)
			if next := t.entries[e.next].next; next != none {
				s.spread(base+next, before2*times)
			}
		}
		if e.talk != none {
			if s.within[talks+e.talk] == 0 {
				s.open = append(s.open, talks+e.talk)
			}
			s.within[talks+e.talk] += times
		}
	}
}

func (s *scratch) spread(doc int32, times float32) {
	if s.nearby[doc] == 0 {
		s.dirty = append(s.dirty, doc)
	}
	s.nearby[doc] += times
}

// settle turns a word's occurrences around the documents of a table into BM25.
func (s *scratch) settle(t *table, base int32, weight, mean float32) {
	for _, doc := range s.dirty {
		if s.around[doc] == 0 {
			s.reached = append(s.reached, doc)
		}
		s.around[doc] += weight * saturation(s.nearby[doc], t.entries[doc-base].span, mean)
		s.nearby[doc] = 0
	}
	s.dirty = s.dirty[:0]
}

// settleTalks turns a word's occurrences in sessions into BM25.
func (v view) settleTalks(s *scratch, weight, mean float32) {
	for _, id := range s.open {
		length := v.talk(id).length
		if s.session[id] == 0 {
			s.met = append(s.met, id)
		}
		s.session[id] += weight * saturation(s.within[id], float32(length), mean)
		s.within[id] = 0
	}
	s.open = s.open[:0]
}

// saturation is BM25's factor for so many occurrences in a text of a length.
func saturation(times, length, mean float32) float32 {
	return times * (bm25K1 + 1) / (times + bm25K1*(1-bm25B+bm25B*length/mean))
}

// talk returns a session of the view.
func (v view) talk(id int32) *talk {
	for _, t := range v[:len(v)-1] {
		if int(id) < len(t.talks) {
			return &t.talks[id]
		}
		id -= int32(len(t.talks))
	}

	return &v[len(v)-1].talks[id]
}
