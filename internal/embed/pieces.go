package embed

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxPieces is how many pieces of a text count, and maxWord the bytes of a
	// word that is looked at: what is longer is no word.
	maxPieces = 256
	maxWord   = 100
)

// Pieces calls yield with the number of each word piece of a text, in order,
// at most 256 times. It cuts as BERT's uncased tokenizer does (Devlin et al.,
// 2018): lower case, accents dropped, words at spaces, punctuation and ideographs
// by themselves, then of each word the longest known piece first. A word of
// which no cutting is known counts for nothing.
func (t *Table) Pieces(text string, yield func(piece int32)) {
	left := maxPieces
	var buf [maxWord]byte
	word := buf[:0]
	long := false
	flush := func() {
		if len(word) > 0 && !long && left > 0 {
			left -= t.cut(word, left, yield)
		}
		word, long = buf[:0], false
	}
	for _, r := range text {
		if left <= 0 {
			return
		}
		kind, r := classify(r)
		switch kind {
		case letter:
			word, long = appendRune(word, r, long)
		case decomposed:
			for _, d := range norm.NFD.String(string(r)) {
				if !unicode.Is(unicode.Mn, d) {
					word, long = appendRune(word, unicode.ToLower(d), long)
				}
			}
		case single:
			flush()
			word = utf8.AppendRune(word, r)
			flush()
		case space:
			flush()
		case nothing:
		}
	}
	flush()
}

func appendRune(word []byte, r rune, long bool) ([]byte, bool) {
	if long || len(word)+utf8.RuneLen(r) > maxWord {
		return word, true
	}

	return utf8.AppendRune(word, r), false
}

// cut yields the pieces of a word, at most so many, and returns their number.
func (t *Table) cut(word []byte, most int, yield func(int32)) int {
	var found [maxWord]int32
	n := 0
	for from, known := 0, t.pieces; from < len(word); known = t.tails {
		end := min(len(word), from+t.longest)
		piece, ok := int32(0), false
		for ; end > from; end-- {
			if piece, ok = known[string(word[from:end])]; ok {
				break
			}
		}
		if !ok {
			return 0
		}
		found[n] = piece
		n, from = n+1, end
	}
	n = min(n, most)
	for _, piece := range found[:n] {
		yield(piece)
	}

	return n
}

// kind says what a character is to the tokenizer.
type kind int

const (
	letter     kind = iota // part of a word
	decomposed             // the same, once it is taken apart
	single                 // a word by itself
	space
	nothing
)

// classify returns what a character is, and it in lower case.
func classify(r rune) (kind, rune) {
	if r < utf8.RuneSelf {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return letter, r
		case r >= 'A' && r <= 'Z':
			return letter, r | 0x20
		case r == ' ', r == '\t', r == '\n', r == '\r':
			return space, r
		case r < ' ', r == 0x7F:
			return nothing, r
		default:
			return single, r
		}
	}
	switch {
	case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn):
		return nothing, r
	case unicode.IsSpace(r):
		return space, r
	case unicode.IsPunct(r), isIdeograph(r):
		return single, r
	default:
		return decomposed, r
	}
}

// isIdeograph reports whether r is of the blocks that BERT cuts apart.
func isIdeograph(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x2FA1F
}
