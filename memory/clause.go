package memory

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// finder finds the first match of a pattern in a sentence and returns the
// positions of it and its groups, or nil.
type finder func(s *statement) []int

// anywhere finds a pattern wherever it allows.
func anywhere(pattern string) finder {
	re := regexp.MustCompile(pattern)

	return func(s *statement) []int { return re.FindStringSubmatchIndex(s.text) }
}

// clause finds a pattern, which begins with a letter, where a clause of the
// speaker's own begins. The match includes what opens the clause.
func clause(pattern string) finder {
	re := regexp.MustCompile("^(?:" + pattern + ")")

	return func(s *statement) []int {
		for _, o := range s.openings() {
			m := re.FindStringSubmatchIndex(s.text[o.at:])
			if m == nil {
				continue
			}
			for i := range m {
				if m[i] >= 0 {
					m[i] += o.at
				}
			}
			m[0] = o.from

			return m
		}

		return nil
	}
}

// statement is a sentence, or one clause of it, to be judged.
type statement struct {
	text   string // what others are quoted with left out
	opened []opening
}

// opening is where a clause may begin, and where what opens it does.
type opening struct{ from, at int }

// openers are words after which a clause of the speaker's own begins.
var openers = wordSet("and but so because also since personally honestly actually btw anyway well ok okay hi hello hey yes yeah no please now ali",
	strings.ToLower)

// openings returns where a clause may begin, which is with a letter: at the
// start, after punctuation or a dash, after one of openers or "from now on".
func (s *statement) openings() []opening {
	if s.opened != nil {
		return s.opened
	}
	text := s.text
	s.opened = append(s.opened, opening{})
	add := func(from, at int) {
		if at < len(text) && (isLetter(text[at]) || text[at] >= utf8.RuneSelf) {
			s.opened = append(s.opened, opening{from, at})
		}
	}
	for i := range len(text) {
		switch c := text[i]; {
		case isLetter(c):
			if i == 0 || !isWord(text[i-1]) {
				add(i, afterOpener(text, i))
			}
		case c == ',' || c == ';' || c == ':' || c == '(':
			add(i, skipSpace(text, i+1))
		case c == '-' && i > 0 && isSpace(text[i-1]):
			if end := skipSpace(text, i+1); end > i+1 {
				add(i-1, end)
			}
		case strings.HasPrefix(text[i:], "–") || strings.HasPrefix(text[i:], "—"):
			add(i, skipSpace(text, i+len("–")))
		}
	}

	return s.opened
}

// afterOpener returns where the clause begins that the word at i opens, or the
// end of text.
func afterOpener(text string, i int) int {
	end := i
	for end < len(text) && isLetter(text[end]) {
		end++
	}
	const fromNowOn = "from now on"
	switch {
	case hasPrefixFold(text[i:], fromNowOn):
		end = i + len(fromNowOn)
	case end-i > len("personally") || !openers[strings.ToLower(text[i:end])]:
		return len(text)
	}
	if end < len(text) && (text[end] == ',' || text[end] == '!') {
		end++
	}
	if at := skipSpace(text, end); at > end {
		return at
	}

	return len(text)
}

// joined statements of one person are two things to know: "I like tea but I
// hate coffee". conjunction matches from the space before one of conjunctions.
var (
	conjunction = regexp.MustCompile(`(?i)^ (?:(?:and|but) (?:(?:now )?(?:i|i'm|i've|my|call me|please|we|we're|we've) )|` +
		`(?:i|a|ali) (?:(?:ne )?(?:živim|radim|imam|volim|studiram|pijem|jedem|koristim) ))`)
	conjunctions = []string{"and ", "but ", "i ", "a ", "ali "}
)

// clauses splits a sentence, which is on one line, at such conjunctions, and
// drops them.
func clauses(sentence string) []string {
	var out []string
	start := 0
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	for i, past := 0, 0; i < len(sentence); i++ {
		word := conjunctionAt(sentence, i)
		if word == "" || i < past {
			continue
		}
		m := conjunction.FindStringIndex(sentence[i:])
		if m == nil {
			continue
		}
		past = i + m[1] // "I and we wait" is one.
		end := i
		if i > start && (sentence[i-1] == ',' || sentence[i-1] == ';') {
			end--
		}
		add(sentence[start:end])
		start = i + 1 + len(word)
	}

	add(sentence[start:])

	return out
}

// conjunctionAt returns which of conjunctions follows a space at i, or "".
func conjunctionAt(sentence string, i int) string {
	if sentence[i] != ' ' {
		return ""
	}
	for _, word := range conjunctions {
		if hasPrefixFold(sentence[i+1:], word) {
			return word
		}
	}

	return ""
}
