package scoring

import (
	"bytes"
	"strings"
	"sync"
)

const (
	// maxOpening is how much of a message, in bytes, is looked at for a correction: whoever corrects says so first.
	maxOpening = 160
	// maxCorrection is the longest phrase of a correction, in words.
	maxCorrection = 4
)

var space = []byte(" ")

// correctWords returns the words and phrases by which a correction is known.
var correctWords = sync.OnceValue(func() (w struct{ openers, not, phrases map[string]bool }) {
	w.openers, w.not, w.phrases = phraseSet("correct-openers"), phraseSet("correct-not"), phraseSet("correct-phrases")
	return w
})

// Corrects reports whether text, which follows the assistant's answer, begins by saying that the answer was wrong or
// not what was asked for: "no, in Go", "that's not what I asked". A "no" to an answer that ends with a question is
// none. It knows phrases, not meaning, and is for counting: of many conversations it tells the same share, whoever
// answered.
func Corrects(text, answer string) bool {
	if len(text) > maxOpening {
		text = strings.ToValidUTF8(text[:maxOpening], "")
	}
	known := correctWords()
	line := make([]byte, 0, 2*maxOpening) // spaced, on the stack
	sc := scanner{text: nfc(text)}
	for w, ok := sc.next(); ok; w, ok = sc.next() {
		if len(line) > 0 {
			line = append(line, ' ')
		}
		line = append(line, w...)
	}
	if begins(line, known.not) {
		return false
	}
	if begins(line, known.openers) && !strings.HasSuffix(strings.TrimRight(answer, " \n*_"), "?") {
		return true
	}
	for rest, ok := line, len(line) > 0; ok; _, rest, ok = bytes.Cut(rest, space) {
		if begins(rest, known.phrases) {
			return true
		}
	}
	return false
}

// begins reports whether a spaced line begins with a phrase of the set.
func begins(line []byte, set map[string]bool) bool {
	end := 0
	for range maxCorrection {
		i := bytes.IndexByte(line[end:], ' ')
		if i < 0 {
			return set[string(line)]
		}
		if end += i; set[string(line[:end])] {
			return true
		}
		end++
	}
	return false
}
