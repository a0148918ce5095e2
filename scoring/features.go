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

// features returns the seven features of text, and whether any but length was found.
func (s *Scorer) features(text string) (v Vector, signal bool) {
	if text == "" {
		return v, false
	}
	first, last := excerpt(text)
	v = s.read(first)
	// A paragraph that asks for something simple ("Summarise in one line:") is the request, the other material.
	if last != "" && v[SimpleIndicators] == 0 {
		w := s.read(last)
		if w[SimpleIndicators] < 0 {
			v = Vector{}
		}
		for d := range v {
			v[d] = min(v[d]+w[d], 1)
		}
	}
	signal = v != Vector{}
	v[TokenCount] = length(len(text))
	return v, signal
}

// read returns the features of one part of a text, length left out.
func (s *Scorer) read(part string) (v Vector) {
	var hits [NumDimensions]tally
	var marks marks
	words := s.words.match(part, func(h hit) { hits[h.group].add(h) })
	marks.scan(part)
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
	return v
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
