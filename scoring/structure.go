package scoring

import (
	"math"
	"strings"
	"unicode/utf8"
)

// structure counts what is in a text beside its words.
type structure struct {
	words, numbers, long, capitals int // long: nine letters or more
	operators                      int // of arithmetic and mathematics
	latex                          int // \ and $
	commas, sentences, lines       int
	quotes, brackets               int
	choices                        int // lines that begin with "A. " or "A) "
	cjk, foreign                   int // characters beyond ASCII
	question, asks                 bool
}

// structureNames are those of the values that structure and marks give, in order.
var structureNames = [...]string{
	"words", "numbers", "share_numbers", "share_long_words", "share_capitals", "operators", "latex", "commas", "sentences",
	"lines", "choices", "quotes", "brackets", "question", "ends_in_question", "cjk", "foreign",
	"code_fence", "inline_code", "code_operator", "identifier", "maths_sign", "list_items",
}

// word counts a word, which begins with the byte first in the text.
func (s *structure) word(word []byte, first byte) {
	s.words++
	if len(word) == 0 {
		return
	}
	if '0' <= first && first <= '9' {
		s.numbers++
	} else if len(word) >= 9 && first < utf8.RuneSelf {
		s.long++
	}
	if upper(first) {
		s.capitals++
	}
}

// scan counts all else in text.
func (s *structure) scan(text string) {
	start := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0xC0 {
			s.rune(text[i:])
		} else if c <= '|' {
			s.byte(c, i+1 == len(text) || text[i+1] <= ' ')
		}
		if start && 'A' <= c && c <= 'J' && i+2 < len(text) && (text[i+1] == '.' || text[i+1] == ')') && text[i+2] == ' ' {
			s.choices++
		}
		start = c == '\n' || start && (c == ' ' || c == '(')
	}
	tail := strings.TrimRight(text, " \n\t\"')*")
	s.asks = s.asks || strings.HasSuffix(tail, "?") || strings.HasSuffix(tail, "？")
}

func (s *structure) byte(c byte, before bool) {
	switch c {
	case '+', '=', '^', '<', '>', '*', '/', '%', '|':
		s.operators++
	case '\\', '$':
		s.latex++
	case ',':
		s.commas++
	case '.', '!', ';':
		if before { // white space or the end
			s.sentences++
		}
	case '?':
		s.sentences++
		s.question = true
	case '\n':
		s.lines++
	case '"', '\'':
		s.quotes++
	case '(', '[', '{':
		s.brackets++
	}
}

func (s *structure) rune(text string) {
	switch r, _ := utf8.DecodeRuneInString(text); {
	case isCJK(r):
		s.cjk++
	case r == '，' || r == '、':
		s.commas++
	case r == '？':
		s.question = true
	case 0x2200 <= r && r <= 0x22FF: // Mathematical Operators
		s.operators++
	default:
		s.foreign++
	}
}

// values appends what was counted: shares as they are, counts by the logarithm of one more.
func (s *structure) values(to []float64, m *marks) []float64 {
	words := float64(max(s.words, 1))
	return append(to,
		log1p(s.words), log1p(s.numbers), float64(s.numbers)/words, float64(s.long)/words, float64(s.capitals)/words,
		log1p(s.operators), log1p(s.latex), log1p(s.commas), log1p(s.sentences), log1p(s.lines),
		log1p(min(s.choices, 10)), log1p(s.quotes), log1p(s.brackets),
		is(s.question), is(s.asks), is(s.cjk > 0), log1p(s.foreign),
		is(m.fence), is(m.inline), is(m.operator), is(m.name), is(m.math), log1p(m.items))
}

func log1p(n int) float64 { return math.Log1p(float64(n)) }

func is(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
