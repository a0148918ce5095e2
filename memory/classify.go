package memory

import (
	"math/bits"
	"regexp"
)

// remember is how a person asks to have something kept; the group is what.
var remember = []*regexp.Regexp{
	compile(wish + `(?i:,? that| this ?[:,-]|,? da|:|,) ?(.+)`),
	compile(wish + ` ((?i:my|our|i|i'm|we) .+)`),
	compile(`^(?i:(?:note to self|note|important|napomena) ?: ?|(?:for the record|fyi)[:,] )(.+)`),
}

// wishWords are those of remember and mark as [rule] has them.
const wishWords = "remember mind forget zapamti zapamtite note important napomena record fyi know"

const wish = `^(?i:(?:please|also|and|ok|okay),? )*(?i:remember|keep in mind|don't forget|do not forget|never forget|zapamti(?:te)?)`

// mark is the same wish inside a sentence, or about those around it.
var mark = compile(`(?i)\b(?:i |we )?(?:want|need|would like) you to (?:remember|know|keep in mind)\b|\bplease remember (?:this|that|it)\b|` +
	`^remember this\b|\bfor you to remember\b`)

// doubt, before a decision, makes it none: a condition, a wish, a question in
// other words, or somebody else's.
var doubt = compile(`(?i)\b(?:if|whether|unless|should|could|would|might|may|maybe|perhaps|suppose|imagine|assuming|wish|before|until|when|once|` +
	`why|how|not sure|not certain|pretend|hypothetically|example)\b`)

// quoted is what somebody else said; each begins with one of quotes.
var (
	quoted = compile(`"[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»`)
	quotes = []string{`"`, "“", "„", "«"}
)

// classify returns what a sentence states, or a draft without a type.
func classify(sentence string) draft {
	if len(sentence) > maxContextual {
		return draft{}
	}
	set := triggered(sentence)
	if set == 0 || question(sentence) {
		return draft{}
	}
	if set>>len(rules) == 0 {
		return stated(sentence, set)
	}

	for _, pattern := range remember {
		m := pattern.FindStringSubmatch(sentence)
		if m == nil {
			continue
		}
		if d := stated(m[1], set); d.typ != "" {
			return d
		}
		if len(tokens(m[1])) == 0 {
			return draft{}
		}

		return draft{typ: Fact, content: cut(m[1])}
	}
	if d := stated(sentence, set); d.typ != "" {
		return d
	}
	if mark.MatchString(sentence) {
		return draft{typ: Fact, content: cut(sentence)}
	}

	return draft{}
}

// stated returns what the first of a set of rules that fits makes of a
// sentence.
func stated(sentence string, set uint64) draft {
	bare := sentence
	if containsAny(sentence, quotes) {
		bare = quoted.ReplaceAllString(sentence, `""`)
	}
	s := &statement{text: bare}
	for ; set<<(64-len(rules)) != 0; set &= set - 1 {
		r := &rules[bits.TrailingZeros64(set)]
		m := r.find(s)
		if m == nil || !r.typ.personal() && doubt.MatchString(bare[:m[0]]) {
			continue
		}
		d := draft{typ: r.typ, content: cut(sentence)}
		if r.fill != nil {
			r.fill(&d, groups(bare, m))
		}
		if d.typ != "" {
			return d
		}
	}

	return draft{}
}

// groups returns the matched text and that of each group, "" where a group
// took no part.
func groups(s string, m []int) []string {
	out := make([]string, len(m)/2)
	for i := range out {
		if m[2*i] >= 0 {
			out[i] = s[m[2*i]:m[2*i+1]]
		}
	}

	return out
}
