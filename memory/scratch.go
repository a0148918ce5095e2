package memory

import (
	"math"
	"slices"

	"github.com/understudy-ai/understudy/internal/embed"
)

// scratch is the working space of one recall. Searches use it in turn, so that
// none allocates in proportion to what it searches.
type scratch struct {
	documents int // places in the view, free ones included
	talks     int // sessions in it, empty ones included
	memories  int // memories in it
	length    int // tokens of them

	// By document, all 0 between searches.
	relevance []float64 // BM25 of its own words so far
	around    []float32 // the same of its words and its neighbours'
	shared    []uint64  // words of the query that it holds
	cosines   []float32 // with the query, of those that were asked for
	chosen    []bool    // it is in choice; all false between the arms that fill it

	touched []int32 // documents whose relevance or shared isn't 0
	reached []int32 // the same of around
	asked   []int32 // the same of cosines

	// By session, all 0 between searches, and those where it isn't.
	session []float32
	met     []int32

	// One word's occurrences, around a document and in a session: all 0 between
	// words.
	nearby, within []float32
	dirty, open    []int32

	distances []uint8 // by document, from the query's sketch
	leading   []lead
	choice    []candidate

	count    [maxQuery]int // memories that hold a word of the query
	pinned   []int32       // documents
	kept     [maxRecall]hit
	words    [maxQuery]string
	digits   uint64      // those of them that hold a digit
	speakers []int32     // whom the query names, of all tables one after the other
	person   string      // their name, if it is one
	query    embed.Query // its vector
	sketch   sketch      // of it
	inverse  float32     // of its length; 0: there is none
	outer    outer       // of the query, by the embedder's model

	// What the length of a text does to BM25 where the mean length is mean: norm
	// is what the number of occurrences is weighed against, once is the whole
	// factor for one.
	mean       float64
	norm, once [256]float64
}

// reset makes room for a view.
func (s *scratch) reset(v view) {
	s.documents, s.talks, s.memories, s.length = 0, 0, 0, 0
	for _, t := range v {
		s.documents += len(t.entries)
		s.talks += len(t.talks)
		s.memories += len(t.rows)
		s.length += t.length
	}
	if n := s.documents; n > len(s.shared) {
		n += n / 8 // So that a scope that grows doesn't make it anew each time.
		s.relevance, s.shared, s.distances = make([]float64, n), make([]uint64, n), make([]uint8, n)
		s.around, s.cosines, s.nearby, s.chosen = make([]float32, n), make([]float32, n), make([]float32, n), make([]bool, n)
	}
	if n := s.talks; n > len(s.session) {
		n += n / 8
		s.session, s.within = make([]float32, n), make([]float32, n)
	}
	clear(s.count[:])
	s.outer = outer{}
	s.pinned, s.speakers = s.pinned[:0], s.speakers[:0]
}

// wipe zeroes what a search has touched.
func (s *scratch) wipe() {
	for _, doc := range s.touched {
		s.relevance[doc], s.shared[doc] = 0, 0
	}
	for _, doc := range s.reached {
		s.around[doc] = 0
	}
	for _, doc := range s.asked {
		s.cosines[doc] = 0
	}
	for _, talk := range s.met {
		s.session[talk] = 0
	}
	s.touched, s.reached, s.asked, s.met = s.touched[:0], s.reached[:0], s.asked[:0], s.met[:0]
}

// name notes that the query names a speaker.
func (s *scratch) name(id int32, name string) {
	if len(s.speakers) == 0 {
		s.person = name
	} else if s.person != name {
		s.person = ""
	}
	if !slices.Contains(s.speakers, id) {
		s.speakers = append(s.speakers, id)
	}
}

// weigh prepares norm and once for texts of a mean length in tokens.
func (s *scratch) weigh(mean float64) {
	if s.mean == mean {
		return
	}
	s.mean = mean
	for length := range s.norm {
		s.norm[length] = bm25K1 * (1 - bm25B + bm25B*float64(length)/mean)
		s.once[length] = (bm25K1 + 1) / (1 + s.norm[length])
	}
}

// idf weighs a word that n of all memories hold.
func idf(n, all int) float64 {
	return math.Log1p((float64(all-n) + 0.5) / (float64(n) + 0.5))
}
