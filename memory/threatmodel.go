package memory

import (
	_ "embed"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rules of this file. Beside the rules of the scanner, which know the
// wording of an attack, stands a small linear model, which knows what attacks
// are about. It sees which words, pairs of neighbours and pieces of words a
// text holds, which themes meet in one of its sentences, and in which order,
// and which classes of the scanner's vocabulary occur. Each is a slot of a
// table of weights; their sum, over the root of their number, is the score. The
// weights are fitted by TestFit, which says on what.

const (
	// threatSlots is the number of weights. Twice as many told no more apart.
	threatSlots = 1 << 15

	// maxModelWords bounds what the model reads; longer attacks show by then.
	maxModelWords = 300

	// minThreatFeatures is taken for the number of features of a text that has
	// fewer, so that one word alone says little.
	minThreatFeatures = 60
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

// theme is a set of subjects that words belong to, as bits.
type theme uint64

// themesFile lists words by their themes, in two dozen languages: a name with a
// colon, then words, and so on. What a sentence with them is worth, the weights
// say: a word may stand in several, and being here is no evidence in itself.
//
//go:embed themes.txt
var themesFile string

// themes are the themes of a folded word.
var themes, _ = readThemes(themesFile)

// readThemes also returns the themes' names, of which 64 have a bit.
func readThemes(file string) (of map[string]theme, names []string) {
	of = make(map[string]theme, len(file)/10) // About as many words as there are.
	at := 0
	for word := range strings.FieldsSeq(file) {
		if name, ok := strings.CutSuffix(word, ":"); ok {
			if at = slices.Index(names, name); at < 0 {
				at, names = len(names), append(names, name)
			}
			continue
		}
		of[fold(word)] |= 1 << at
	}

	return of, names
}

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

	kindOrder = kindWord - 7919
	kindBegin = kindOrder - 7919
)

// hashOf is FNV-1a.
func hashOf(basis uint32, text string) uint32 {
	for i := range len(text) {
		basis = (basis ^ uint32(text[i])) * 16777619
	}

	return basis
}

// mix is the same of two numbers.
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
	f.meet(f.first, 1, kindBegin)
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
	f.theme(themes[word])
	f.words++
	f.last = hashOf(kindWord, word)
	for _, n := range [...]int{4, 5} {
		f.pieces(word, n)
	}
}

// theme takes a word's themes: each with those of the words before it.
func (f *features) theme(t theme) {
	if f.last == noWord {
		f.first |= t
	}
	f.meet(f.sentence, t, kindOrder)
	f.sentence |= t
}

// number tells which theme it is, the first of several.
func (t theme) number() uint32 { return uint32(bits.TrailingZeros64(uint64(t))) }

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
		f.theme(themes[run[:n+next]])
		f.last = hash
		run, n = run[n:], next
	}
}

// end closes a sentence.
func (f *features) end() {
	for rest := f.sentence; rest != 0; rest &= rest - 1 {
		f.meet(rest&-rest, 1, kindTheme)
		f.meet(rest&-rest, rest&(rest-1), kindThemes)
	}
	f.all |= f.sentence
	f.sentence, f.last = 0, noWord
}

// meet takes each theme of a with each of b; with 1 for b, each of a.
func (f *features) meet(a, b theme, kind uint32) {
	for ; a != 0; a &= a - 1 {
		for rest := b; rest != 0; rest &= rest - 1 {
			f.add((kind ^ a.number()<<6 ^ rest.number()) * 2654435769) // Knuth's: mix is three times the work.
		}
	}
}
