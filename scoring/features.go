package scoring

import (
	"math"
	"strings"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxRead, in bytes, is the longest text that is read whole. A longer one is mostly material: the request
	// stands in its first or last paragraph, of which maxParagraph bytes are read.
	maxRead      = 4 << 10
	maxParagraph = 1 << 10

	// hitValue is what one hit is worth: one fills most of a dimension, two fill it.
	hitValue = 0.6

	// Evidence thins out in long texts. Beyond hardWords words hits count for less by the square root of the
	// excess, so that pasted prose isn't heavy for its vocabulary. A greeting or "what is" says something about
	// a whole message only when there is little else in it, so beyond simpleWords it fades in proportion.
	hardWords   = 120
	simpleWords = 16

	// Length is 0 at neutralBytes (about 64 tokens) and gains 1/lengthOctaves with each doubling.
	neutralBytes  = 256
	lengthOctaves = 6
)

// reading is what was found in a text, or in the parts of it that are read.
type reading struct {
	dims     Vector
	concepts [numConcepts]tally
	leads    [numConcepts]int // of these, at the start of a sentence
	marks    marks
	shape    structure
	ngrams   ngrams
}

// examine reads text. Where the first or the last paragraph of a long one asks for something simple ("Summarise in
// one line:"), that is the request and the rest material.
func (s *Scorer) examine(text string, r *reading) {
	if text == "" {
		return
	}
	first, last := excerpt(text)
	switch {
	case last == "" || s.simple(first):
		s.read(first, r)
	case s.simple(last):
		s.read(last, r)
	default:
		s.read(first, r)
		s.read(last, r)
	}
}

// simple reports whether part asks for something simple.
func (s *Scorer) simple(part string) bool {
	found := false
	s.words.match(part, func(h hit) { found = found || h.group == int(SimpleIndicators) }, nil)
	return found
}

// features returns the seven features of what was read of a text of so many bytes, and whether any but length was
// found.
func (r *reading) features(bytes int) (v Vector, signal bool) {
	if bytes == 0 {
		return v, false
	}
	v = r.dims
	signal = v != Vector{}
	v[TokenCount] = length(bytes)
	return v, signal
}

// read adds what is found in one part of a text.
func (s *Scorer) read(part string, r *reading) {
	var hits [NumDimensions]tally
	var marks marks
	var each func(word []byte, split bool, from int)
	if s.deep {
		r.ngrams.last = 0
		each = func(word []byte, split bool, from int) {
			r.shape.word(word, part[from])
			r.ngrams.add(word, split)
		}
	}
	words := s.words.match(part, func(h hit) {
		if h.group < int(NumDimensions) {
			hits[h.group].add(h)
			return
		}
		c := h.group - int(NumDimensions)
		r.concepts[c].add(h)
		if h.leads {
			r.leads[c]++
		}
	}, each)
	marks.scan(part)
	var v Vector
	for d := range v {
		v[d] = hitValue * float64(hits[d].sum) * thinning(Dimension(d), words)
	}
	v[CodePresence] += hitValue * float64(marks.code())
	v[MultiStep] += hitValue * float64(marks.steps())
	v[ReasoningMarkers] += hitValue * float64(marks.proof())
	for d := range v {
		v[d] = min(v[d], 1)
	}
	v[SimpleIndicators] = 0 - v[SimpleIndicators] // not -v: no negative zero
	for d := range v {
		r.dims[d] = min(r.dims[d]+v[d], 1)
	}
	if s.deep {
		r.shape.scan(part)
		r.marks.scan(part)
	}
}

// thinning returns the factor, in (0, 1], that a hit of d keeps in a part of so many words.
func thinning(d Dimension, words int) float64 {
	n := float64(max(words, 1))
	if d == SimpleIndicators {
		return math.Min(1, simpleWords/n)
	}
	return math.Min(1, math.Sqrt(hardWords/n))
}

// length maps a size in bytes to [-1, 1], continuous and growing. Four bytes are taken as a token, which
// holds roughly for English and, by the width of UTF-8, for Chinese and Japanese.
func length(bytes int) float64 {
	return max(-1, min(1, math.Log2(float64(bytes)/neutralBytes)/lengthOctaves))
}

// tally sums the weights of distinct hits in one group.
type tally struct {
	sum  int
	n    int
	seen [16]int32 // phrases counted; sixteen fill every dimension at any length
}

func (t *tally) add(h hit) {
	for _, id := range t.seen[:t.n] {
		if id == h.id {
			return
		}
	}
	if t.n == len(t.seen) {
		return
	}
	t.seen[t.n] = h.id
	t.n++
	t.sum += h.weight
}

// excerpt returns what is read of text: all of it, or its first and its last paragraph, brought to NFC, the form
// that keywords are in.
func excerpt(text string) (first, last string) {
	text = strings.TrimSpace(text)
	if len(text) <= maxRead {
		return nfc(text), ""
	}
	first, last = text[:min(len(text), maxParagraph)], text[max(0, len(text)-maxParagraph):]
	if i := strings.Index(first, "\n\n"); i >= 0 {
		first = first[:i]
	} else {
		first = first[:lastSpace(first)]
	}
	if i := strings.LastIndex(last, "\n\n"); i >= 0 {
		last = last[i:]
	} else {
		last = last[firstSpace(last):]
	}
	return nfc(first), nfc(last)
}

// lastSpace and firstSpace return where to cut s so that no word is cut: at a space, or anywhere if it has none.
func lastSpace(s string) int {
	if i := strings.LastIndexAny(s, " \n"); i >= 0 {
		return i
	}
	return len(s)
}

func firstSpace(s string) int { return max(0, strings.IndexAny(s, " \n")) }

func nfc(s string) string {
	if norm.NFC.IsNormalString(s) {
		return s
	}
	return norm.NFC.String(s)
}
