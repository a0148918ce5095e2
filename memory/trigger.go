package memory

import "strings"

// maxTrigger is more than the length of any trigger word, in bytes.
const maxTrigger = 16

// triggers tells for each word in lower case which rules have it among their
// words, as bits; bit len(rules) stands for the wishes to remember.
var triggers = func() map[string]uint64 {
	table := map[string]uint64{}
	note := func(words string, bit int) {
		for word := range strings.FieldsSeq(words) {
			table[word] |= 1 << bit
		}
	}
	for i, r := range rules {
		note(r.words, i)
	}
	note(wishWords, len(rules))

	return table
}()

// triggered returns the rules of which text holds a word. Words are runs of
// ASCII letters here.
func triggered(text string) (set uint64) {
	var word [maxTrigger]byte
	n := 0
	for i := range len(text) {
		if c := text[i]; isLetter(c) {
			if n < maxTrigger {
				word[n] = c | 0x20
			}
			n++
			continue
		}
		if n > 0 {
			set |= triggers[string(word[:min(n, maxTrigger)])]
			n = 0
		}
	}

	return set | triggers[string(word[:min(n, maxTrigger)])]
}
