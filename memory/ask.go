package memory

import (
	"slices"
	"strings"
)

// ownWords are the words, stemmed, of questions about oneself, by the attribute
// that answers them. The answers share no word with them: "where do I live?",
// "I moved to Zurich".
var ownWords = ownWordSets(map[string]string{
	"location":   "live living lives reside based home city town country address located zivim grad gradu",
	"employer":   "work working works employed employer company job firm radim firma firmi",
	"occupation": "work working job profession occupation role do radim posao",
	"name":       "name called zovem ime",
	"age":        "old age godina",
	"origin":     "originally origin come hometown",
})

func ownWordSets(lists map[string]string) map[string]map[string]bool {
	out := make(map[string]map[string]bool, len(lists))
	for attribute, list := range lists {
		out[attribute] = wordSet(list, stem)
	}

	return out
}

// firstPerson are words, folded, by which people ask about themselves.
var firstPerson = wordSet("i my me mine im we our zivim radim zovem sam moj moje moja", strings.ToLower)

// askedOf returns the attributes of who asks, one of which a text asks for, and
// for no more: any other word in it may be what, or whom, it is about.
func askedOf(text string) (attributes []string) {
	tokens, own := queryTokens(text), false
	if len(tokens) == 0 || len(text) > maxCatchUp {
		return nil
	}
	words(fold(text), func(word string) { own = own || firstPerson[word] })
	for attribute, known := range ownWords {
		if own && !slices.ContainsFunc(tokens, func(token string) bool { return !known[token] }) {
			attributes = append(attributes, attribute)
		}
	}

	return attributes
}

// answersFirst puts those of the standing memories first that hold one of the
// user's attributes, within a limit.
func answersFirst(attributes []string, standing, items []Item, limit int) (out []Item) {
	for _, item := range standing {
		if item.Subject == "user" && slices.Contains(attributes, item.Attribute) {
			out = append(out, item)
		}
	}
	for _, item := range items {
		if !slices.ContainsFunc(out, func(o Item) bool { return o.ID == item.ID }) {
			out = append(out, item)
		}
	}

	return out[:min(len(out), limit)]
}
