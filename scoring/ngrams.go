package scoring

import "math"

const (
	ngramBits = 17 // of a slot in the table of weights: 131,072, fewer collisions than one in five n-grams

	// FNV-1a, and 2^32 divided by the golden ratio, which spreads a hash over its upper bits.
	fnvOffset = 2166136261
	fnvPrime  = 16777619
	spread    = 0x9E3779B1
)

// ngrams sums the weights of a text's different words and of its pairs of neighbouring words. Each is hashed to a slot of the
// table of weights; what shares a slot shares its weights. Digits count as zeros, so that a number is known by its
// length.
type ngrams struct {
	table    []slot // nil: nothing is summed
	sums     [numJudges]int32
	n        int                            // how many different ones
	met      [1 << ngramBits / 64]uint64    // a bit for each slot
	last     uint32                         // hash of the word before; 0 where no pair may begin
	seen     func(slot uint32, gram string) // told of each, unless nil
	lastWord string                         // kept for seen alone
}

// slot is what one slot of the table adds, by judge, in units of the judge's scale.
type slot [numJudges]int8

// add takes the next word, in lower case. With first no pair reaches back over its front.
func (g *ngrams) add(word []byte, first bool) {
	if len(word) == 0 {
		g.last = 0
		return
	}
	h := uint32(fnvOffset)
	for _, c := range word {
		if '1' <= c && c <= '9' {
			c = '0'
		}
		h = (h ^ uint32(c)) * fnvPrime
	}
	single := slotOf(h)
	if g.sum(single) && g.seen != nil {
		g.seen(single, string(word))
	}
	if !first && g.last != 0 {
		pair := slotOf((g.last^g.last>>15)*fnvPrime ^ h)
		if g.sum(pair) && g.seen != nil {
			g.seen(pair, g.lastWord+" "+string(word))
		}
	}
	g.last = h
	if g.seen != nil {
		g.lastWord = string(word)
	}
}

// share is what one n-gram counts: between 1/n, which forgets how long a text is, and 1. Cross-validation chose the
// exponent over 0.5 and 1.
func (g *ngrams) share() float64 { return math.Pow(float64(max(g.n, 1)), -0.75) }

func slotOf(hash uint32) uint32 { return hash * spread >> (32 - ngramBits) }

// sum counts a slot once, so that repeating words gains nothing.
func (g *ngrams) sum(slot uint32) (isNew bool) {
	bit := uint64(1) << (slot % 64)
	if g.met[slot/64]&bit != 0 {
		return false
	}
	g.met[slot/64] |= bit
	g.n++
	if g.table != nil {
		for j, w := range g.table[slot] {
			g.sums[j] += int32(w)
		}
	}
	return true
}
