package memory

import (
	"regexp"
	"strings"
)

// remember is how a person asks to have something kept; the group is what.
var remember = []*regexp.Regexp{
	compile(wish + `(?i:,? that| this ?[:,-]|,? dass|,? da| que| che|:|,) ?(.+)`),
	compile(wish + ` ((?i:my|our|i|i'm|we) .+)`),
	compile(`^(?i:please note that |(?:note to self|note|important|napomena) ?: ?|for the record[:,] |fyi[:,]? )(.+)`),
	compile(`^(?i:note that ) ((?:i|we|my|our)\b.+)`),
}

// asksToKeep is a wish in the form of a question.
var asksToKeep = compile(`^(?i:(?:please,? )?(?:can|could|would|will) you (?:please )?(?:remember|note|keep in mind)(?: for me)? that (.{4,}?))\?$`)

// asksForGood is a standing instruction in the form of a question.
var asksForGood = compile(`^(?i:(?:please,? )?(?:can|could|would|will) you (?:please )?(.{4,}? (?:from now on|going forward|in (?:the )?future|every time)))\?$`)

// task begins what is to be done now, not kept.
var task = compile(`^(?i:(?:only |just |please )*` + actions + `\b)`)

// pointing is what "remember that" goes on with where "that" is what was said
// before: "for letters", "for next time", "when you write to him".
var pointing = compile(`^(?i:for|when|whenever|in|at|next|too|please|as well)(?: \S+){0,4}[.!]?$`)

// wishWords are those of remember and mark as [rule] has them.
const wishWords = "merk vergiss souviens oublie recuerda ricorda vidu remember mind forget zapamti zapamtite note important napomena record fyi know"

const wish = `^(?i:(?:please|also|and|ok|okay),? )*(?i:remember|keep in mind|don't forget|do not forget|never forget|zapamti(?:te)?|imaj u vidu|merk dir|vergiss nicht|souviens-toi|n'oublie pas|recuerda|ricorda)`

// mark is the same wish inside a sentence, or about those around it.
var mark = compile(`(?i)\b(?:i |we )?(?:want|need|would like) you to (?:remember|know|keep in mind)\b|\bplease remember (?:this|that|it)\b|` +
	`^remember this\b|\bfor you to remember\b`)

// doubt, before a decision, makes it none: a condition, a wish, a question in
// other words, or somebody else's.
var doubt = compile(`(?i)\b(?:if|whether|unless|should|could|would|might|may|maybe|perhaps|suppose|imagine|assuming|wish|before|until|when|once|` +
	`why|how|not sure|not certain|pretend|hypothetically|example)\b`)

// Before a colon: what follows is a text, not what the person says.
var specimen = compile(`(?i)\b(?:says?|said|letter|sentence|story|essay|e-?mail|example|translat\w*|phrase|rate|fix|rewrite|proofread|grammar|bio|resume|` +
	`cv|character|hero|text|poem|prompt|code|paragraph|correct|edit|improve|prevedi|ispravi)\b`)

// personas are how an order to the model begins, jokes what nothing is meant
// with.
var (
	personas = []string{"you are ", "you're ", "act as ", "pretend "}
	jokes    = []string{"kidding", "joking", "decided nothing"}
)

// foreign reports whether what begins at i of a sentence is somebody else's or
// isn't meant.
func foreign(sentence string, i int) bool {
	if colon := strings.LastIndexByte(sentence[:min(i+1, len(sentence))], ':'); colon > 0 && specimen.MatchString(sentence[:colon]) {
		return true
	}
	for _, start := range personas {
		if hasPrefixFold(sentence, start) {
			return true
		}
	}

	return containsAny(sentence, jokes)
}

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
	if inCyrillic(sentence) { // The rules are in Latin letters; what is kept is as it was written.
		d := classify(inLatin(sentence))
		if d.typ != "" {
			d.content = cut(sentence)
		}

		return d
	}
	set := triggered(sentence)
	if set.empty() {
		return draft{}
	}
	if question(sentence) {
		if m := asksToKeep.FindStringSubmatch(sentence); m != nil && set.wishes() {
			return draft{typ: Fact, content: cut(m[1])}
		}
		if m := asksForGood.FindStringSubmatch(sentence); m != nil {
			return stated(m[1], set)
		}
		return draft{}
	}
	if !set.wishes() {
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
			return draft{typ: Fact, content: cut(sentence), pointing: true}
		}
		if task.MatchString(m[1]) || pointing.MatchString(m[1]) {
			return draft{refused: true}
		}

		return draft{typ: Fact, content: cut(m[1])}
	}
	d := stated(sentence, set)
	if d.typ != "" {
		return d
	}
	if mark.MatchString(sentence) {
		return draft{typ: Fact, content: cut(sentence)}
	}

	return draft{refused: d.refused}
}

// stated returns what the first of a set of rules that fits makes of a
// sentence.
func stated(sentence string, set ruleSet) draft {
	bare := sentence
	if containsAny(sentence, quotes) {
		bare = quoted.ReplaceAllString(sentence, `""`)
	}
	s := &statement{text: bare}
	refused := false
	for i := range set.each {
		r := &rules[i]
		m := r.find(s)
		if m == nil {
			continue
		}
		refused = true
		if !r.typ.personal() && doubt.MatchString(bare[:m[0]]) || foreign(bare, m[0]) {
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

	return draft{refused: refused}
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
