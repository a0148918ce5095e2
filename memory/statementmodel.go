package memory

import (
	_ "embed"
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-ai/understudy/internal/embed"
)

// The rules of this file. Beside the rules of learning, which know how people
// begin to tell something, stands a small linear model, which weighs all of a
// sentence: its words, pairs and pieces of words, its frame (small words as
// they are, the others by their kind alone), whom it speaks of, where it stands
// in the message, and the direction of its meaning. It gives each type of
// memory, and nothing at all, a probability. It is asked only about what no
// rule knows, and believed only where it is sure. The weights are fitted by
// TestFitStatements, which says on what.

const (
	// statementSlots is the number of rows of weights, one for each class. Half
	// as many told a little less, twice as many hardly more.
	statementSlots = 1 << 14

	// maxTold bounds the sentences of a message that the model reads. Who says
	// more at once mostly pastes.
	maxTold = 12

	// maxToldText bounds a sentence, in bytes.
	maxToldText = 400

	// minStatementFeatures is taken for the number of features of a sentence
	// that has fewer.
	minStatementFeatures = 20

	// minTold and minTyped bound the probability that a sentence tells anything,
	// and that of the type it is given; minPersonal is the latter for what is
	// brought into every prompt.
	minTold     = 0.8
	minTyped    = 0.4
	minPersonal = 0.7
)

// statementClasses are what a sentence may be, "" being nothing.
var statementClasses = [...]Type{"", Identity, Preference, Decision, Goal, Todo, Event, Fact}

const classes = len(statementClasses)

// statementFile holds, little-endian, two scales and a bias a class (float32),
// then the weights (int8): of each slot by class, and of each class by
// dimension of the meaning.
//
//go:embed statements.bin
var statementFile string

// statementModel is fixed.
var statementModel = newTeller(statementFile)

// teller tells what sort of statement a sentence is.
type teller struct {
	minTold, minTyped, minPersonal float64

	scale, scaleMeaning float32
	bias                [classes]float32
	slots               string // int8
	meaning             [classes][embed.Dim]int8
}

const tellerHead = 4 * (2 + classes)

// newTeller reads a file of weights; one of another length gives nil.
func newTeller(file string) *teller {
	if len(file) != tellerHead+classes*(statementSlots+embed.Dim) {
		return nil
	}
	number := func(i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32([]byte(file[4*i : 4*i+4])))
	}
	t := &teller{
		minTold: minTold, minTyped: minTyped, minPersonal: minPersonal,
		scale: number(0), scaleMeaning: number(1), slots: file[tellerHead : tellerHead+classes*statementSlots],
	}
	rest := file[tellerHead+classes*statementSlots:]
	for k := range classes {
		t.bias[k] = number(2 + k)
		for i := range embed.Dim {
			t.meaning[k][i] = int8(rest[k*embed.Dim+i])
		}
	}

	return t
}

// complete adds what the model knows of the sentences of a message that no rule
// has used.
func (t *teller) complete(message string, list []string, used []bool, kept []draft) {
	if t == nil || len(list) > maxTold || len(message) > maxContextual {
		return
	}
	around := aroundOf(message)
	for i, s := range list {
		if used[i] || asking(s) || question(s) || foreign(s, len(s)) {
			continue
		}
		if typ := t.tell(s, around|placeOf(i, len(list))); typ != "" {
			kept[i] = draft{typ: typ, content: cut(s)}
		}
	}
}

// askWords begin, folded, a question whose mark is left out.
var askWords = wordSet(`what what's whats who who's whos whose whom why why's how how's hows which is isn't are aren't do does doesn't did didn't could would should shall
	anyone anybody ko kako koji koja koje koliko zasto gde wer wie warum wo wann welche welcher combien pourquoi comment quel quelle como cual cuanto
	come perche quanto hoe waarom wat wie jak dlaczego ile kto`, strings.ToLower)

// asking reports whether a sentence begins as questions do.
func asking(s string) bool { return askWords[fold(s[:wordEnd(s, 0)])] }

// tell returns the type of what a sentence states, or "".
func (t *teller) tell(sentence string, around clue) Type {
	if t == nil || len(sentence) > maxToldText {
		return ""
	}
	p := t.chances(sentence, around)
	likely := 1
	for k := 2; k < classes; k++ {
		if p[k] > p[likely] {
			likely = k
		}
	}
	typ := statementClasses[likely]
	if 1-p[0] < t.minTold || p[likely] < t.minTyped || typ.personal() && p[likely] < t.minPersonal {
		return ""
	}

	return typ
}

// chances returns the probability of each class.
func (t *teller) chances(sentence string, around clue) (p [classes]float64) {
	var c clues
	c.read(sentence, around)
	var sum [classes]int32
	n := 0
	for slot := range c.slots {
		for k, weight := range []byte(t.slots[slot*classes : slot*classes+classes]) {
			sum[k] += int32(int8(weight))
		}
		n++
	}
	var v [embed.Dim]int8
	length, known := float32(1), meaning(&v, sentence)
	if known {
		length = embed.Norm(v[:])
	}
	root := float32(math.Sqrt(float64(max(n, minStatementFeatures))))
	all := 0.0
	for k := range p {
		z := t.bias[k] + t.scale*float32(sum[k])/root
		if known {
			z += t.scaleMeaning * float32(embed.Dot(v[:], t.meaning[k][:])) / length
		}
		p[k] = math.Exp(float64(z))
		all += p[k]
	}
	for k := range p {
		p[k] /= all
	}

	return p
}

// meaning writes the direction of a sentence's meaning, if there is one.
func meaning(v *[embed.Dim]int8, sentence string) bool {
	table, err := embed.Default()

	return err == nil && table.Embed(v[:], sentence)
}

// clue is a set of things seen of a sentence.
type clue uint32

const (
	clueDigit clue = 1 << iota
	clueName       // a capital inside
	clueSmall      // begins with a small letter
	clueTime
	clueColon
	clueComma
	clueQuote
	clueMark // ?
	clueCall // !
	clueOdd  // a sign of programs or formulas
	clueShort
	clueMiddle
	clueLong
	clueLonger
	clueOnly // sentence of its message
	clueFirst
	clueLast
	clueAsked // a question is in its message
	clueLines
)

// aroundOf returns what is seen of a sentence's message.
func aroundOf(message string) (seen clue) {
	if strings.Contains(message, "?") {
		seen = clueAsked
	}
	if strings.Contains(strings.TrimSpace(message), "\n") {
		seen |= clueLines
	}

	return seen
}

// placeOf returns where in a message of n sentences the sentence i stands.
func placeOf(i, n int) clue {
	switch {
	case n == 1:
		return clueOnly
	case i == 0:
		return clueFirst
	case i == n-1:
		return clueLast
	default:
		return 0
	}
}

// The kinds of features beside the scanner's.
const (
	kindFrame uint32 = noWord + 1 + iota*7919
	kindStart
	kindEnd
	kindClue
	kindPerson
	noStep
)

// clues are the features of a sentence.
type clues struct {
	features

	seen    clue
	persons uint32    // whom it speaks of, as bits
	steps   [3]uint32 // the last of the frame
}

// slots yields the slots that a sentence has.
func (c *clues) slots(yield func(int) bool) {
	for i, set := range c.set {
		for ; set != 0; set &= set - 1 {
			if !yield((i<<6 | bits.TrailingZeros64(set)) % statementSlots) {
				return
			}
		}
	}
}

// read takes the features of a sentence.
func (c *clues) read(sentence string, around clue) {
	c.last, c.steps, c.seen = noWord, [3]uint32{noStep, noStep, noStep}, around
	for i := 0; i < len(sentence); {
		if end := wordEnd(sentence, i); end > i {
			c.token(sentence[i:end])
			i = end
			continue
		}
		c.sign(sentence[i : i+1])
		i++
	}
	c.step(hashOf(kindFrame, "."))
	c.add(mix(kindEnd, c.last, 0))
	switch {
	case c.words <= 4:
		c.seen |= clueShort
	case c.words <= 9:
		c.seen |= clueMiddle
	case c.words <= 18:
		c.seen |= clueLong
	default:
		c.seen |= clueLonger
	}
	c.pairUp()
}

// pairUp takes what was seen, alone and with each person.
func (c *clues) pairUp() {
	for seen := c.seen; seen != 0; seen &= seen - 1 {
		c.add(mix(kindClue, uint32(seen&-seen), 0))
		for rest := c.persons; rest != 0; rest &= rest - 1 {
			c.add(mix(kindClue, uint32(seen&-seen), rest&-rest))
		}
	}
	for rest := c.persons; rest != 0; rest &= rest - 1 {
		c.add(mix(kindPerson, rest&-rest, 0))
	}
	c.add(mix(kindPerson, c.persons, 1))
}

// sign takes one character between words.
func (c *clues) sign(s string) {
	switch s {
	case ":":
		c.seen |= clueColon
		c.step(hashOf(kindFrame, s))
	case ",":
		c.seen |= clueComma
		c.step(hashOf(kindFrame, s))
	case `"`, "`":
		c.seen |= clueQuote
	case "?":
		c.seen |= clueMark
	case "!":
		c.seen |= clueCall
	case "<", ">", "{", "}", "[", "]", "=", "|", "#", "*", "_", `\`, "$", "^", "%", "@", "+", "/":
		c.seen |= clueOdd
		c.add(hashOf(kindWord, s))
	}
}

// token takes one word, with its pieces.
func (c *clues) token(raw string) {
	first, _ := utf8.DecodeRuneInString(raw)
	capital := unicode.IsUpper(first)
	word := fold(raw)
	if word == "" {
		return
	}
	if c.words == 0 && !capital {
		c.seen |= clueSmall
	}
	if isDigit(word[0]) && isDigit(word[len(word)-1]) {
		word = "0"
	}
	hash := hashOf(kindWord, word)
	c.add(hash)
	c.add(mix(kindPair, c.last, hash))
	if c.words < 2 {
		c.add(mix(kindStart, c.last, hash))
	}
	if c.words == 1 {
		c.add(mix(kindStart, hash, 1))
	}
	c.step(hashOf(kindFrame, c.kindOf(word, capital && c.words > 0)))
	c.last = hash
	c.words++
	for _, n := range [...]int{4, 5} {
		c.pieces(word, n)
	}
}

// step goes on with the frame, and takes its last two to four.
func (c *clues) step(next uint32) {
	two := mix(kindFrame, c.steps[1], c.steps[2])
	c.add(mix(kindFrame, c.steps[2], next))
	c.add(mix(two, next, 2))
	c.add(mix(mix(kindFrame, c.steps[0], two), next, 3))
	c.steps = [3]uint32{c.steps[1], c.steps[2], next}
}

// kindOf returns what stands for a word in the frame: itself, if it is one of
// the small words, or its kind in capitals.
func (c *clues) kindOf(word string, name bool) string {
	person := personWords[word]
	c.persons |= person
	switch {
	case isDigit(word[0]):
		c.seen |= clueDigit
		return "0"
	case timeWords[word]:
		c.seen |= clueTime
		return "T"
	case person != 0 || stopWords[word] || len(word) <= 2:
		return word
	case name:
		c.seen |= clueName
		return "N"
	case kinWords[word]:
		return "KIN"
	case otherWords[word]:
		return "OTHER"
	case strings.HasSuffix(word, "ing"):
		return "ING"
	case strings.HasSuffix(word, "ed"):
		return "ED"
	case strings.HasSuffix(word, "ly"):
		return "LY"
	case strings.HasSuffix(word, "s"):
		return "S"
	default:
		return "W"
	}
}

// ofWriter are the bits of personWords for who writes.
const ofWriter = 0xF

// personWords tell, folded, whom a sentence speaks of, a bit for each.
var personWords = func() map[string]uint32 {
	out := map[string]uint32{}
	for i, list := range [...]string{
		"i i'm i've i'll i'd im ive ja sam cu ich je yo io", "me my mine mi moj moja moje mein meine mon ma",
		"we we're we've we'll we'd us mi smo cemo wir nous", "our ours nas nasa nase nasi nasu unser notre",
		"you you're you've you'll u ti vi", "your yours tvoj vas", "he he's she she's him her his hers", "they they're them their",
		"it it's this that these those", "who what which where when why how",
	} {
		for word := range strings.FieldsSeq(list) {
			out[word] |= 1 << i
		}
	}

	return out
}()

// kinWords are those whom people speak of as part of their life, otherWords
// those whom they quote.
var (
	kinWords = wordSet(`wife husband partner son daughter brother sister mother father mom mum dad parents kids kid children twins baby grandmother grandfather
		grandma grandpa nan gran girlfriend boyfriend fiance family dog cat dogs cats muz zena sin cerka brat sestra mama tata majka otac deca frau mann`, strings.ToLower)
	otherWords = wordSet(`friend friends neighbour neighbours neighbor neighbors colleague colleagues coworker coworkers mate mates buddy pal flatmate roommate classmate
		teacher professor people everyone everybody someone somebody drug drugar drugarica komsija komsinica kolega koleginica prijatelj freund nachbar kollege`, strings.ToLower)
)

// timeWords name a time, folded.
var timeWords = wordSet(`monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
	january february march april may june july august september october november december jan feb mar apr jun jul aug sep oct nov dec
	yesterday today tonight tomorrow noon midnight morning afternoon evening weekend week month quarter year spring summer autumn fall winter am pm eod eow
	juce danas veceras sutra jutros ponedeljak utorak sredu cetvrtak petak subotu nedelju nedelje meseca godine`, strings.ToLower)
