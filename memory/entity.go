package memory

import (
	"crypto/sha256"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rules of this file. An entity is what a text calls by a name: words
// with a capital letter ("Clipperton Finance"), an abbreviation ("NDA"), or a
// word with a digit among its letters ("H200", "M2-2"). Finding one takes no
// dictionary, so it works in any language that has capital letters; German
// gives more than names. What a name stands for isn't known.

const (
	// maxEntities bounds the entities of one memory, and with them its mentions
	// and edges: what names more is a list.
	maxEntities = 6

	// maxEntityWords and maxEntityName bound a name, in words and bytes.
	maxEntityWords = 4
	maxEntityName  = 80
)

// entity is a name in a text.
type entity struct {
	name  string // folded
	label string // as written
	at    int    // where it begins, in bytes
}

// notEntities are words, folded, that have a capital letter for another
// reason than being a name: the calendar, and what sentences begin with.
var notEntities = wordSet(`monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
	september october november december ponedeljak utorak sreda cetvrtak petak subota nedelja januar februar mart maj jun jul avgust
	septembar oktobar novembar decembar remember note important please hello hi hey yes yeah ok okay sure thanks thank let lets i'm i've i'll
	i'd it's that's we're we'll we've don't can't maybe also actually today tomorrow yesterday deadline decision decided todo since while
	imamo moj moja nas nasa mi ja ti vi oni da ne ali jer zbog cilj radimo trenutno`, strings.ToLower)

// entities returns the names in a text, each once, in order, at most
// maxEntities.
func entities(text string) []entity {
	var out []entity
	var run entity // the name under way; label "" outside
	words, start := 0, true
	flush := func() {
		if run.label != "" && len(out) < maxEntities {
			out = appendEntity(out, run)
		}
		run, words = entity{}, 0
	}
	for at, word := range spaced(text) {
		bare := strings.TrimFunc(word, notInName)
		begin := at + strings.Index(word, bare)
		switch named := isName(bare, start); {
		case !named:
			flush()
		case run.label != "" && words < maxEntityWords && word[0] == bare[0]:
			run.label += " " + bare
			words++
		default:
			flush()
			run, words = entity{label: bare, at: begin}, 1
		}
		if bare == "" || !strings.HasSuffix(word, bare) { // Punctuation parts names.
			flush()
		}
		start = strings.ContainsAny(word[len(word)-1:], ".!?:")
	}
	flush()

	return out
}

// spaced yields the words of a text between white space, and where they begin.
func spaced(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		for i := 0; i < len(text); {
			i = skipSpace(text, i)
			end := i
			for end < len(text) && !isSpace(text[end]) {
				end++
			}
			if end > i && !yield(i, text[i:end]) {
				return
			}
			i = end
		}
	}
}

// notInName reports whether r is punctuation around a name.
func notInName(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// isName reports whether a word is, or is part of, a name. At the start of a
// sentence a capital letter alone says less: the common words are left out.
func isName(word string, start bool) bool {
	first, _ := utf8.DecodeRuneInString(word)
	if len(word) < 2 || len(word) > maxEntityName || !unicode.IsLetter(first) {
		return false
	}
	digits := strings.ContainsAny(word, "0123456789")
	if !unicode.IsUpper(first) && !digits {
		return false
	}
	folded := strings.TrimSuffix(fold(word), "'s")
	if notEntities[folded] || stopWords[folded] {
		return false
	}

	return !start || digits || !weakWords[stem(folded)]
}

// appendEntity adds an entity unless it is there.
func appendEntity(out []entity, e entity) []entity {
	e.label = strings.TrimSuffix(strings.TrimSuffix(e.label, "'s"), "’s")
	e.name = fold(e.label)
	if len(e.name) > maxEntityName {
		return out
	}
	for _, known := range out {
		if known.name == e.name {
			return out
		}
	}

	return append(out, e)
}

// entityID identifies a name within the scope.
func (s Scope) entityID(name string) []byte {
	sum := sha256.Sum256([]byte(s.key() + "\x00entity\x00" + name))

	return sum[:16]
}
