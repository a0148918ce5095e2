package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxThreatWords bounds the words of a text that are judged; a memory has a
	// hundred at most.
	maxThreatWords = 6000

	// maxThreatSteps bounds the comparisons of one text, so that one made to be
	// slow isn't.
	maxThreatSteps = 1 << 18
)

// reading is a text as the scanner sees it.
type reading struct {
	threats *threats
	words   []term
	steps   int // comparisons made

	score   float64
	fired   [8]uint64 // rules, as bits
	reasons []string
	seen    class // classes that occur
}

// read turns folded text into terms.
func (r *reading) read(folded string) {
	var word [32]byte
	for i := 0; i < len(folded) && len(r.words) < maxThreatWords; {
		c := folded[i]
		switch {
		case c >= utf8.RuneSelf:
			i += r.readRune(folded, i)
		case isAlnum(c) || c == '@' || c == '$':
			n, digits, letters := 0, false, false
			for i < len(folded) && (isAlnum(folded[i]) || folded[i] == '@' || folded[i] == '$' || folded[i] == '\'' && contracts(folded[i:])) {
				if n < len(word) {
					word[n] = folded[i] | lowerBit(folded[i])
					n++
				}
				digits, letters = digits || !isLetter(folded[i]), letters || isLetter(folded[i])
				i++
			}
			r.add(word[:n], digits && letters)
		default:
			if (c == '.' || c == '!' || c == '?') && (i+1 == len(folded) || isSpace(folded[i+1])) {
				r.words = append(r.words, term{class: clsBreak})
			}
			i++
		}
	}
}

// lowerBit is what makes a letter lower case.
func lowerBit(c byte) byte {
	if isLetter(c) {
		return 0x20
	}

	return 0
}

// contracts reports whether an apostrophe, at the start of text, belongs to a
// word: don't, it's, you're.
func contracts(text string) bool {
	n := 1
	for n < len(text) && isLetter(text[n]) {
		n++
	}

	return n == 2 || n == 3 && (text[1] == 'r' || text[1] == 'v' || text[1] == 'l')
}

// add appends a word. One that mixes letters and digits may spell a known one.
func (r *reading) add(word []byte, mixed bool) {
	t := r.threats.look(word)
	if mixed && t == (term{}) {
		if at := strings.IndexByte(string(word), '@'); at > 0 && at < len(word)-1 && r.threats.look(plainLetters(word)) == (term{}) {
			t.class = clsURL // An address.
		} else {
			t = r.threats.look(plainLetters(word))
		}
	}
	r.seen |= t.class
	r.words = append(r.words, t)
}

// plainLetters undoes digits in place of letters: 1gn0r3.
func plainLetters(word []byte) []byte {
	out := make([]byte, len(word))
	for i, c := range word {
		if j := strings.IndexByte("0134578@$", c); j >= 0 {
			c = "oieastbas"[j]
		}
		out[i] = c
	}

	return out
}

// readRune takes the character at i, or the CJK word that begins with it, and
// returns its length.
func (r *reading) readRune(folded string, i int) int {
	first, size := utf8.DecodeRuneInString(folded[i:])
	switch {
	case isCJK(first):
		for _, s := range r.threats.cjk[first] {
			if strings.HasPrefix(folded[i:], s.text) {
				r.seen |= s.class
				r.words = append(r.words, term{class: s.class, id: r.threats.words[s.text].id})
				return len(s.text)
			}
		}
		if unicode.Is(unicode.Han, first) {
			r.words = append(r.words, term{})
		}
	case first == '。' || first == '！' || first == '？':
		r.words = append(r.words, term{class: clsBreak})
	}

	return size
}

// judge scores the words.
func (r *reading) judge() {
	for at, t := range r.words {
		for c := t.class &^ clsBreak; c != 0; c &= c - 1 {
			for _, n := range r.threats.byClass[trailing(c)] {
				r.try(n, at)
			}
		}
		if t.id != 0 {
			for _, n := range r.threats.byID[t.id] {
				r.try(n, at)
			}
		}
	}
}

// try applies a rule whose first part is at a word, unless it has fired.
func (r *reading) try(n, at int) {
	rule := &r.threats.rules[n]
	if r.fired[n>>6]>>(n&63)&1 == 1 || !r.matches(rule.steps[1:], at+1) {
		return
	}
	r.fired[n>>6] |= 1 << (n & 63)
	r.score += rule.weight
	for _, reason := range r.reasons {
		if reason == rule.reason {
			return
		}
	}
	if rule.reason != "" {
		r.reasons = append(r.reasons, rule.reason)
	}
}

// matches reports whether steps follow from a word on.
func (r *reading) matches(steps []step, from int) bool {
	if len(steps) == 0 {
		return true
	}
	for at := from; at < len(r.words) && at <= from+steps[0].gap; at++ {
		t := r.words[at]
		if r.steps++; t.class&clsBreak != 0 || r.steps > maxThreatSteps {
			return false
		}
		if steps[0].fits(t) && r.matches(steps[1:], at+1) {
			return true
		}
	}

	return false
}

func (s *step) fits(t term) bool {
	if t.class&s.class != 0 {
		return true
	}
	if t.id == 0 {
		return false
	}
	for _, id := range s.ids {
		if id == t.id {
			return true
		}
	}

	return false
}
