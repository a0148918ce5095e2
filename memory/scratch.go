package memory

import "math"

// scratch is the working space of one recall. Searches use it in turn, so that
// none allocates in proportion to what it searches.
type scratch struct {
	documents int // places in the view, free ones included
	memories  int // memories in it
	length    int // tokens of them

	relevance []float64 // BM25 so far, by document; all 0 between searches
	shared    []uint64  // words of the query, by document; all 0 between searches
	touched   []int32   // the documents where they aren't 0

	count  [maxQuery]int // memories that hold a word of the query
	pinned []int32       // documents
	kept   [maxRecall]hit

	// What the length of a text does to BM25: norm is what the number of
	// occurrences is weighed against, once is the whole factor for one.
	norm, once [256]float64
}

// reset makes room for a view.
func (s *scratch) reset(v view) {
	s.documents, s.memories, s.length = 0, 0, 0
	for _, t := range v {
		s.documents += len(t.entries)
		s.memories += len(t.rows)
		s.length += t.length
	}
	if s.documents > len(s.shared) {
		s.relevance, s.shared = make([]float64, s.documents), make([]uint64, s.documents)
	}
	clear(s.count[:])
	s.pinned, s.touched = s.pinned[:0], s.touched[:0]
}

// wipe zeroes what a search has touched.
func (s *scratch) wipe() {
	for _, doc := range s.touched {
		s.relevance[doc], s.shared[doc] = 0, 0
	}
	s.touched = s.touched[:0]
}

// weigh prepares norm and once for texts of a mean length in tokens.
func (s *scratch) weigh(mean float64) {
	for length := range s.norm {
		s.norm[length] = bm25K1 * (1 - bm25B + bm25B*float64(length)/mean)
		s.once[length] = (bm25K1 + 1) / (1 + s.norm[length])
	}
}

// add adds a word, as a bit and with its weight, to the documents that hold it.
func (s *scratch) add(list []posting, base int32, bit uint64, weight float64) {
	for _, p := range list {
		doc := base + p.place
		if s.shared[doc] == 0 {
			s.touched = append(s.touched, doc)
		}
		s.shared[doc] |= bit
		factor := s.once[p.length]
		if p.times > 1 {
			times := float64(p.times)
			factor = times * (bm25K1 + 1) / (times + s.norm[p.length])
		}
		s.relevance[doc] += weight * factor
	}
}

// idf weighs a word that n of all memories hold.
func idf(n, all int) float64 {
	return math.Log1p((float64(all-n) + 0.5) / (float64(n) + 0.5))
}
