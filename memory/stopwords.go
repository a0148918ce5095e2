package memory

import (
	_ "embed"
	"strings"
)

//go:embed stopwords.txt
var stopWordsText string

//go:embed weakwords.txt
var weakWordsText string

// stopWords carry no content and are never searched for.
var stopWords = wordSet(stopWordsText, func(word string) string { return word })

// weakWords, stemmed, are searched for but prove nothing alone: the verbs and
// nouns of requests in general ("write a short plan"). Rarity within the store
// can't tell them, since a young store holds a handful of sentences.
var weakWords = wordSet(weakWordsText, stem)

// wordSet reads words that stand between white space.
func wordSet(text string, spell func(string) string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(text) {
		set[spell(word)] = true
	}

	return set
}
