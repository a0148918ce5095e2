package memory

import (
	"math/bits"
	"strings"
)

// maxTrigger is more than the length of any trigger word, in bytes.
const maxTrigger = 16

// ruleSet is a set of rules, as bits by their place among rules; the bit after
// the last stands for the wishes to remember.
type ruleSet [3]uint64

func (s *ruleSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s *ruleSet) has(i int) bool { return s[i>>6]>>(i&63)&1 == 1 }
func (s *ruleSet) join(o ruleSet) { s[0], s[1], s[2] = s[0]|o[0], s[1]|o[1], s[2]|o[2] }
func (s *ruleSet) empty() bool    { return s[0]|s[1]|s[2] == 0 }
func (s *ruleSet) wishes() bool   { return s.has(len(rules)) }

// each yields the rules in order, without the wishes.
func (s *ruleSet) each(yield func(int) bool) {
	for w, set := range s {
		for ; set != 0; set &= set - 1 {
			if i := w<<6 + bits.TrailingZeros64(set); i < len(rules) && !yield(i) {
				return
			}
		}
	}
}

// trigger tells which rules have a word among their words, and which among
// those that a match holds, too.
type trigger struct{ words, also ruleSet }

// triggers are by words in lower case. single are the rules without words of
// the second kind.
var triggers, single = newTriggers()

func newTriggers() (table map[string]trigger, single ruleSet) {
	table = map[string]trigger{}
	note := func(words string, bit int, set func(*trigger) *ruleSet) {
		for word := range strings.FieldsSeq(words) {
			t := table[word]
			set(&t).add(bit)
			table[word] = t
		}
	}
	first := func(t *trigger) *ruleSet { return &t.words }
	for i, r := range rules {
		note(r.words, i, first)
		note(r.also, i, func(t *trigger) *ruleSet { return &t.also })
		if r.also == "" {
			single.add(i)
		}
	}
	note(wishWords, len(rules), first)
	single.add(len(rules))

	return table, single
}

// triggered returns the rules of which text holds the words it needs. Words are
// runs of ASCII letters here.
func triggered(text string) (set ruleSet) {
	also := single
	var word [maxTrigger]byte
	n := 0
	look := func() {
		if n > 0 {
			t := triggers[string(word[:min(n, maxTrigger)])]
			set.join(t.words)
			also.join(t.also)
			n = 0
		}
	}
	for i := range len(text) {
		c := text[i]
		if !isLetter(c) {
			look()
			continue
		}
		if n < maxTrigger {
			word[n] = c | 0x20
		}
		n++
	}
	look()

	return ruleSet{set[0] & also[0], set[1] & also[1], set[2] & also[2]}
}
