package memory

import (
	_ "embed"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rules of this file. Beside the rules of the scanner, which know the
// wording of an attack, stands a small linear model, which knows what attacks
// are about. It sees which words, pairs of neighbours and pieces of words a
// text holds, which themes meet in one of its sentences, and which classes of
// the scanner's vocabulary occur. Each is a slot of a table of weights;
// their sum, over the root of their number, is the score. The weights are
// fitted by TestFit, which says on what.

const (
	// threatSlots is the number of weights. Twice as many told no more apart.
	threatSlots = 1 << 15

	// maxModelWords bounds what the model reads; longer attacks show by then.
	maxModelWords = 300

	// minThreatFeatures is taken for the number of features of a text that has
	// fewer, so that one word alone says little.
	minThreatFeatures = 20
)

// threatFile holds scale and bias (float32, little-endian), then a signed byte
// a slot.
//
//go:embed threats.bin
var threatFile string

// threatModel is fixed.
var threatModel = newLinear(threatFile)

// linear is a table of weights.
type linear struct {
	scale, bias float32
	weights     string // int8
}

// newLinear reads a file of weights; one of another length weighs nothing.
func newLinear(file string) *linear {
	if len(file) != 8+threatSlots {
		return &linear{bias: -1, weights: string(make([]byte, threatSlots))}
	}
	head := []byte(file[:8])

	return &linear{math.Float32frombits(binary.LittleEndian.Uint32(head)), math.Float32frombits(binary.LittleEndian.Uint32(head[4:])), file[8:]}
}

// score returns the log odds that folded text is an attack.
func (m *linear) score(folded string, seen class) float32 {
	var f features
	f.read(folded, seen)
	sum, n := 0, 0
	for i, set := range f.set {
		for ; set != 0; set &= set - 1 {
			sum += int(int8(m.weights[i<<6|bits.TrailingZeros64(set)]))
			n++
		}
	}

	return m.bias + m.scale*float32(sum)/float32(math.Sqrt(float64(max(n, minThreatFeatures))))
}

// themes are themeWords by word.
var themes = func() map[string]theme {
	out := map[string]theme{}
	for _, list := range themeWords {
		for word := range strings.FieldsSeq(list.words) {
			out[word] |= list.theme
		}
	}

	return out
}()

// features are the slots that a text has, as bits.
type features struct {
	set [threatSlots / 64]uint64

	words    int
	last     uint32 // hash of the word before; noWord where a sentence begins
	all      theme  // of the text
	first    theme  // of the words that begin a sentence
	sentence theme
}

// Each kind of feature hashes from its own basis.
const (
	kindWord uint32 = 2166136261 + iota*7919
	kindPair
	kindPiece
	kindTheme
	kindThemes
	kindFirst
	kindClass
	noWord
)

// hash is FNV-1a.
func hashOf(basis uint32, text string) uint32 {
	for i := range len(text) {
		basis = (basis ^ uint32(text[i])) * 16777619
	}

	return basis
}

func mix(basis, a, b uint32) uint32 {
	for _, x := range [...]uint32{a, b} {
		for range 4 {
			basis = (basis ^ x&0xFF) * 16777619
			x >>= 8
		}
	}

	return basis
}

func (f *features) add(hash uint32) {
	slot := (hash ^ hash>>15) % threatSlots
	f.set[slot>>6] |= 1 << (slot & 63)
}

// read takes the features of folded text, in which classes were seen.
func (f *features) read(folded string, seen class) {
	f.last = noWord
	for i := 0; i < len(folded) && f.words < maxModelWords; {
		c := folded[i]
		switch end := wordEnd(folded, i); {
		case end > i:
			f.word(folded[i:end])
			i = end
			continue
		case strings.HasPrefix(folded[i:], "。"):
			f.end()
		case (c == '.' || c == '!' || c == '?' || c == ':') && (i+1 == len(folded) || isSpace(folded[i+1])) || c == '\n':
			f.end()
		case strings.IndexByte("<>[]{}|#`@", c) >= 0:
			f.add(hashOf(kindWord, folded[i:i+1]))
		}
		i++
	}
	f.end()
	f.meet(f.first, f.all, kindFirst)
	for ; seen != 0; seen &= seen - 1 {
		f.add(mix(kindClass, uint32(trailing(seen)), 0))
	}
}

// wordEnd returns where the word at i ends: letters and digits, with
// apostrophes among them; i if there is none.
func wordEnd(text string, i int) int {
	end := i
	for end < len(text) {
		switch c := text[end]; {
		case isAlnum(c) || c == '\'' && end > i && end+1 < len(text) && isLetter(text[end+1]):
			end++
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[end:])
			if !unicode.IsLetter(r) && !unicode.IsMark(r) {
				return end
			}
			end += size
		default:
			return end
		}
	}

	return end
}

// word takes one word. Numbers are all the same; Chinese, Japanese and Korean
// are read by pairs of characters.
func (f *features) word(word string) {
	if isDigit(word[0]) && isDigit(word[len(word)-1]) {
		word = "0"
	}
	if first, _ := utf8.DecodeRuneInString(word); isCJK(first) {
		f.pairs(word)
		return
	}
	f.token(hashOf(kindWord, word))
	t := themes[word]
	if f.words++; f.last == noWord {
		f.first |= t
	}
	f.sentence |= t
	f.last = hashOf(kindWord, word)
	for _, n := range [...]int{4, 5} {
		f.pieces(word, n)
	}
}

// token takes a word or pair of characters by its hash.
func (f *features) token(hash uint32) {
	f.add(hash)
	f.add(mix(kindPair, f.last, hash))
}

// pieces takes the runs of n bytes of a word of some length, its beginning and
// end marked.
func (f *features) pieces(word string, n int) {
	if len(word) < n {
		return
	}
	f.add(hashOf(hashOf(kindPiece, "<"), word[:n-1]))
	f.add(hashOf(hashOf(kindPiece, word[len(word)-n+1:]), ">"))
	for i := 0; i+n <= len(word); i++ {
		f.add(hashOf(kindPiece, word[i:i+n]))
	}
}

// pairs takes the pairs of characters of a run.
func (f *features) pairs(run string) {
	_, n := utf8.DecodeRuneInString(run)
	for n < len(run) {
		_, next := utf8.DecodeRuneInString(run[n:])
		f.words++
		hash := hashOf(kindWord, run[:n+next])
		f.token(hash)
		f.last = hash
		run, n = run[n:], next
	}
}

// end closes a sentence.
func (f *features) end() {
	for rest := f.sentence; rest != 0; rest &= rest - 1 {
		f.meet(rest&-rest, rest&(rest-1), kindThemes)
		f.add(mix(kindTheme, uint32(rest&-rest), 0))
	}
	f.all |= f.sentence
	f.sentence, f.last = 0, noWord
}

// meet takes each theme of a with each of b.
func (f *features) meet(a, b theme, kind uint32) {
	for ; a != 0; a &= a - 1 {
		f.add(mix(kind, uint32(a&-a), 0))
		for rest := b; rest != 0; rest &= rest - 1 {
			f.add(mix(kind, uint32(a&-a), uint32(rest&-rest)))
		}
	}
}
