package scoring

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWord is the longest word, in bytes, that can be a keyword; longer ones are read as an empty word, which
// matches nothing.
const maxWord = 48

// scanner splits a text into lower-cased words.
//
// A word is a run of letters, digits, combining marks and underscores, as long as it goes; a Chinese, Japanese
// or Korean character is a word of its own, so that a phrase of them matches inside a run of them, as scripts
// without spaces need. All else separates words.
type scanner struct {
	text string
	pos  int
	from int // where the word that next returned begins
	buf  [maxWord]byte

	// About the word that next returned:
	start bool // it begins a sentence or a line
	split bool // a sentence ended before it, so no phrase reaches across
}

// next returns the next word, valid until the following call; false at the end of the text.
func (s *scanner) next() (word []byte, ok bool) {
	s.start, s.split = s.pos == 0, s.pos == 0
	for s.pos < len(s.text) {
		r, size := s.peek()
		s.from = s.pos
		switch {
		case isCJK(r):
			s.pos += size
			return utf8.AppendRune(s.buf[:0], r), true
		case isLetter(r) || r == '_':
			return s.read(), true
		}
		s.pos += size
		switch r {
		case '\n':
			s.start = true
		case '.', ':', ';':
			if s.pos < len(s.text) && s.text[s.pos] > ' ' { // 3.14, main.go, a::b
				continue
			}
			s.start, s.split = true, true
		case '!', '?', '。', '！', '？', '：', '；':
			s.start, s.split = true, true
		}
	}
	return nil, false
}

// read consumes the word at pos and returns it in lower case.
func (s *scanner) read() []byte {
	n, fits := 0, true
	for s.pos < len(s.text) {
		if c := s.text[s.pos]; c < utf8.RuneSelf { // as below, without decoding
			if !alphanumeric(c) && c != '_' {
				break
			}
			s.pos++
			if fits = fits && n < maxWord; fits {
				if upper(c) {
					c += 'a' - 'A'
				}
				s.buf[n] = c
				n++
			}
			continue
		}
		r, size := s.peek()
		if !isLetter(r) && !unicode.IsMark(r) || isCJK(r) {
			break
		}
		s.pos += size
		if r = unicode.ToLower(r); fits && n+utf8.RuneLen(r) <= maxWord {
			n += utf8.EncodeRune(s.buf[n:], r)
		} else {
			fits = false
		}
	}
	if !fits {
		n = 0
	}
	return s.buf[:n]
}

func (s *scanner) peek() (rune, int) {
	if c := s.text[s.pos]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s.text[s.pos:])
}

func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return alphanumeric(byte(r))
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isCJK reports whether r belongs to a script that is matched by character.
func isCJK(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF, // Thai, Lao
		0x1000 <= r && r <= 0x109F, // Burmese
		0x1780 <= r && r <= 0x17FF, // Khmer
		0x3040 <= r && r <= 0x30FF, // kana
		0x31F0 <= r && r <= 0x31FF,
		0x3400 <= r && r <= 0x4DBF, // Han
		0x4E00 <= r && r <= 0x9FFF,
		0xAC00 <= r && r <= 0xD7AF, // Hangul syllables
		0xF900 <= r && r <= 0xFAFF,
		0x20000 <= r && r <= 0x3FFFF:
		return true
	}
	return false
}

// split returns the words of s.
func split(s string) []string {
	var words []string
	sc := scanner{text: nfc(s)}
	for w, ok := sc.next(); ok; w, ok = sc.next() {
		words = append(words, string(w))
	}
	return words
}

// spaced returns the words of s with one space between them: the form in which texts are compared whole.
func spaced(s string) string { return strings.Join(split(s), " ") }
