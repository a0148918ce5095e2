package memory

import (
	"slices"
	"strings"
	"unicode"
)

// maxQuery bounds the distinct tokens of a query, and maxQueryText the bytes
// where they are looked for. People's questions have fewer; beyond lies pasted
// text, where more words only mean more noise. A set of the tokens fits 64 bits.
const (
	maxQuery     = 48
	maxQueryText = 8 << 10
)

// tokens splits text into the words it is found by: folded, stemmed, in
// order, repeats kept, stop words left out. Runs of Chinese, Japanese and
// Korean become overlapping pairs. A token holds letters, marks and digits only.
func tokens(text string) []string {
	var out []string
	words(fold(text), func(word string) {
		if !stopWords[word] {
			if out == nil {
				out = make([]string, 0, len(text)/8+1) // About as many as English has.
			}
			out = append(out, stem(word))
		}
	})

	return out
}

// queryTokens is tokens without repeats, at most maxQuery of them.
func queryTokens(text string) []string {
	all := tokens(clip(text, maxQueryText))
	out := all[:0]
	for _, t := range all {
		if len(out) == maxQuery {
			break
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}

	return out
}

// matchQuery is the FTS5 query for rows that belong to one of the scope keys
// and hold one of the tokens. Tokens can't hold a quote, so it always parses.
func matchQuery(keys, tokens []string) string {
	return `scope : ("` + strings.Join(keys, `" OR "`) + `") AND text : ("` + strings.Join(tokens, `" OR "`) + `")`
}

// words calls yield for each word of folded text. "c++", "c#" and "f#" are
// words of their own; pairs of CJK characters are, too.
func words(folded string, yield func(string)) {
	start := -1 // of the word, in bytes; -1 outside
	flush := func(end int) {
		if start >= 0 {
			yield(folded[start:end] + sign(folded[start:end], folded[end:]))
		}
		start = -1
	}
	for i, r := range folded {
		switch {
		case isCJK(r):
			flush(i)
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		default:
			flush(i)
		}
	}
	flush(len(folded))
	pairs(folded, yield)
}

// sign names what follows a one-letter language: c++ is not c.
func sign(word, rest string) string {
	switch {
	case len(word) != 1:
		return ""
	case strings.HasPrefix(rest, "++"):
		return "plusplus"
	case strings.HasPrefix(rest, "#"):
		return "sharp"
	default:
		return ""
	}
}

// pairs calls yield for each two neighbours in each run of CJK characters, and
// for a run of one.
func pairs(folded string, yield func(string)) {
	if isASCII(folded) {
		return
	}
	var run []rune
	flush := func() {
		for i := 0; i+1 < len(run); i++ {
			yield(string(run[i : i+2]))
		}
		if len(run) == 1 {
			yield(string(run))
		}
		run = run[:0]
	}
	for _, r := range folded {
		if isCJK(r) {
			run = append(run, r)
		} else {
			flush()
		}
	}
	flush()
}

// isCJK reports whether r is of a script that is written without spaces
// between words, or, for Korean, with endings glued to them.
func isCJK(r rune) bool {
	return r >= 0x1100 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r == 'ー')
}

// stem takes the lightest endings off a folded word, so that English plurals
// and tenses and Serbian cases meet: databases and database, decided and
// decide, Beogradu and Beograd. It never leaves less than three letters.
func stem(word string) string {
	if len(word) < 4 || !isASCII(word) || strings.ContainsAny(word, "0123456789") {
		return word
	}
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		word = word[:len(word)-3] + "y"
	case strings.HasSuffix(word, "s") && !hasAnySuffix(word, "ss", "us", "is"):
		word = word[:len(word)-1]
	}
	switch {
	case strings.HasSuffix(word, "ing") && len(word) > 6:
		word = undouble(word[:len(word)-3])
	case strings.HasSuffix(word, "ed") && len(word) > 5:
		word = undouble(word[:len(word)-2])
	}
	if len(word) > 4 && strings.IndexByte("aeiou", word[len(word)-1]) >= 0 {
		word = word[:len(word)-1]
	}

	return word
}

// undouble takes the second of two equal consonants off the end: runn, run.
func undouble(word string) string {
	n := len(word)
	if n > 3 && word[n-1] == word[n-2] && !hasAnySuffix(word, "ll", "ss") {
		return word[:n-1]
	}

	return word
}

func hasAnySuffix(word string, suffixes ...string) bool {
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(word, s) })
}
