package scoring

import (
	"strings"
	"sync"
)

const (
	// maxOpening is how much of a message, in bytes, is looked at for a correction: whoever corrects says so first.
	maxOpening = 160
	// maxCorrection is the longest phrase of a correction, in words.
	maxCorrection = 4
)

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
	known, words := correctWords(), split(text)
	begins := func(set map[string]bool, words []string) bool {
		for n := range min(maxCorrection, len(words)) {
			if set[strings.Join(words[:n+1], " ")] {
				return true
			}
		}
		return false
	}
	if begins(known.not, words) {
		return false
	}
	if begins(known.openers, words) && !strings.HasSuffix(strings.TrimRight(answer, " \n*_"), "?") {
		return true
	}
	for i := range words {
		if begins(known.phrases, words[i:]) {
			return true
		}
	}
	return false
}
