package memory

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/understudy-ai/understudy/internal/embed"
)

// The arms of a search, each a share of its best, and what they count for:
// BM25 of a memory's own words, of its words and its neighbours', and of its
// session's; that the query names who said it; the meaning of it and of it with
// its neighbours. Chosen on five conversations, each held out in turn, and
// rounded: docs/MEMORY.md has the figures.
const (
	weightOwn      = 1.0
	weightAround   = 2.0
	weightSession  = 1.5
	weightSpeaker  = 2.0
	weightMeaning  = 1.0
	weightMeanings = 3.0
	weightAll      = weightOwn + weightAround + weightSession + weightSpeaker + weightMeaning + weightMeanings
)

const (
	// leads and sketched are how many documents are looked at closely: the best
	// by words, and those whose sketch is nearest to the query's. More of them
	// found no more.
	leads    = 64
	sketched = 96

	// farthest is the sketch distance from which on two texts have nothing in
	// common: half of the signs differ by chance.
	farthest = embed.Dim*7/16 - 1
)

// lead is a document with what its words score.
type lead struct {
	doc   int32
	score float32
}

// candidate is a document that is looked at closely, with its arms.
type candidate struct {
	doc                  int32
	own, around, session float32
	meaning, meanings    float32 // cosines, not below 0
	outer                float32 // the same by the embedder's model
	seen                 bool    // it has one
	named                bool    // the query names its speaker
	other                bool    // it has a speaker whom the query doesn't name
	fused                float32 // in [0, 1]
}

// best are the largest values of the arms.
type best struct{ own, around, session, meaning, meanings, outer float32 }

// minBest keeps a division by nothing from happening.
const minBest = 1e-9

func share(x, most float32) float32 {
	if most <= 0 {
		return 0
	}

	return max(x, 0) / most
}

// lexical is what words say of a document, given the best there is.
func (c *candidate) lexical(b best) float32 {
	sum := weightOwn*share(c.own, b.own) + weightAround*share(c.around, b.around) + weightSession*share(c.session, b.session)
	if c.named {
		sum += weightSpeaker
	}

	return sum
}

// fuse is what all arms say of a document. The embedder's model is one of them
// where it has seen the query; of what it hasn't seen yet, the table's word is
// taken.
func (c *candidate) fuse(b best) float32 {
	meaning := share(c.meaning, b.meaning)
	sum := c.lexical(b) + weightMeaning*meaning + weightMeanings*share(c.meanings, b.meanings)
	if b.outer == 0 {
		return sum / weightAll
	}
	if c.seen {
		meaning = share(c.outer, b.outer)
	}

	return (sum + weightOuter*meaning) / (weightAll + weightOuter)
}

// candidates fills s.choice with the documents that words or meaning suggest,
// and scores them.
func (v view) candidates(s *scratch) {
	var b best
	for _, doc := range s.reached {
		b.own, b.around = max(b.own, float32(s.relevance[doc])), max(b.around, s.around[doc])
	}
	for _, id := range s.met {
		b.session = max(b.session, s.session[id])
	}
	v.lead(s, b)
	s.choice = s.choice[:0]
	for _, l := range s.leading {
		v.choose(s, l.doc)
	}
	v.sketchedNear(s)
	v.outerNear(s)

	for i := range s.choice {
		c := &s.choice[i]
		s.chosen[c.doc] = false
		c.meaning, c.meanings = v.meaning(s, c.doc)
		c.outer, c.seen = v.outerCosine(s, c.doc)
		b.meaning, b.meanings, b.outer = max(b.meaning, c.meaning), max(b.meanings, c.meanings), max(b.outer, c.outer)
	}
	for i := range s.choice {
		c := &s.choice[i]
		c.fused = c.fuse(b)
	}
}

// choose adds a document to s.choice, once.
func (v view) choose(s *scratch, doc int32) {
	if !s.chosen[doc] {
		s.chosen[doc] = true
		s.choice = append(s.choice, v.candidate(s, doc))
	}
}

// candidate returns a document with what its words score.
func (v view) candidate(s *scratch, doc int32) candidate {
	c := candidate{doc: doc, own: float32(s.relevance[doc]), around: s.around[doc]}
	talks, speakers := int32(0), int32(0)
	for i, t := range v {
		if i < len(v)-1 && int(doc) >= len(t.entries) {
			doc -= int32(len(t.entries))
			talks += int32(len(t.talks))
			speakers += int32(len(t.speakers))
			continue
		}
		e := &t.entries[doc]
		if e.talk != none {
			c.session = s.session[talks+e.talk]
		}
		c.named = e.speaker != none && slices.Contains(s.speakers, speakers+e.speaker)
		c.other = e.speaker != none && !c.named

		return c
	}

	return c
}

// lead fills s.leading with the best documents by words, best first.
func (v view) lead(s *scratch, b best) {
	s.leading = s.leading[:0]
	bar, own, around := float32(0), weightOwn/max(b.own, minBest), weightAround/max(b.around, minBest)
	rest := float32(0) // What session and speaker can add.
	if len(s.met) > 0 {
		rest += weightSession
	}
	if len(s.speakers) > 0 {
		rest += weightSpeaker
	}
	for _, doc := range s.reached {
		if len(s.leading) == leads && own*float32(s.relevance[doc])+around*s.around[doc]+rest <= bar {
			continue
		}
		c := v.candidate(s, doc)
		score := c.lexical(b)
		if len(s.leading) == leads && score <= bar {
			continue
		}
		i, _ := slices.BinarySearchFunc(s.leading, score, func(l lead, score float32) int { return cmp.Compare(score, l.score) })
		if len(s.leading) == leads {
			s.leading = s.leading[:leads-1]
		}
		s.leading = slices.Insert(s.leading, i, lead{doc, score})
		bar = s.leading[len(s.leading)-1].score
	}
}

// sketchedNear adds to s.choice the documents whose sketches are nearest to the
// query's.
func (v view) sketchedNear(s *scratch) {
	if s.inverse == 0 {
		return
	}
	var count [embed.Dim + 1]int
	doc := 0
	for _, t := range v {
		for i := range t.sketches {
			d := uint8(t.sketches[i].distance(s.sketch))
			s.distances[doc] = d
			count[d]++
			doc++
		}
	}
	limit, sum := 0, count[0]
	for limit < farthest && sum+count[limit+1] <= sketched {
		limit++
		sum += count[limit]
	}
	for d, distance := range s.distances[:doc] {
		if int(distance) > limit {
			continue
		}
		if t, place := v.at(int32(d)); t.entries[place].row != 0 {
			v.choose(s, int32(d))
		}
	}
}

// distance is how many signs differ.
func (a sketch) distance(b sketch) int {
	n := 0
	for i := range a {
		n += bits.OnesCount64(a[i] ^ b[i])
	}

	return n
}

// meaning returns the cosines of a document, and of it with its neighbours,
// with the query.
func (v view) meaning(s *scratch, doc int32) (own, all float32) {
	if s.inverse == 0 {
		return 0, 0
	}
	t, place := v.at(doc)
	base := doc - place
	t.near(place, func(p int32, weight float32) {
		c := s.cosines[base+p]
		if c == 0 {
			if e := &t.entries[p]; e.inverse > 0 {
				c = float32(s.query.Dot(t.vector(p))) * s.inverse * e.inverse
				s.cosines[base+p] = c
				s.asked = append(s.asked, base+p)
			}
		}
		if p == place {
			own = c
		}
		all += weight * c
	})

	return max(own, 0), max(all*t.entries[place].nearInverse, 0)
}
