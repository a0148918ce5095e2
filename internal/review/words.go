package review

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// tokens are the words of a line in lower case.
func tokens(text string) []string {
	return strings.FieldsFunc(strings.ToLower(strings.ReplaceAll(text, "’", "'")), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	})
}

// polarity is -1 for a line that forbids, 1 for one that demands, else 0.
func polarity(words []string) int {
	for i, w := range words {
		switch w {
		case "never", "don't", "dont", "avoid", "cannot", "nikad", "nikada", "nie", "niemals":
			return -1
		case "not":
			if i > 0 && slices.Contains([]string{"do", "must", "should", "may"}, words[i-1]) {
				return -1
			}
		case "no":
			if i == 0 {
				return -1
			}
		case "always", "must", "uvek", "immer":
			if !slices.Contains(words[i:min(i+3, len(words))], "not") {
				return 1
			}
		}
	}
	return 0
}

// filler are words that tell nothing of what a rule is about.
var filler = strings.Fields("a an the to of in on for and or is are be you your it its with any all when if as that this always never must do not " +
	"don't dont avoid should may can will no please use using cannot")

// topic is what a rule is about.
func topic(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(filler, w) })
}

// opposites are demands that can't both be met. Each is a pair of lists of
// words; a line that forbids one demands nothing. Read only.
var opposites = []struct {
	about string
	a, b  []string
}{
	{"the length of answers", []string{"concise", "brief", "short", "terse", "briefly", "succinct"}, []string{"detailed", "thorough", "comprehensive", "verbose", "lengthy", "rich", "exhaustive", "elaborate"}},
	{"the tone", []string{"formal", "formally"}, []string{"casual", "informal", "playful", "casually"}},
	{"asking first", []string{"autonomously", "independently"}, []string{"confirm", "confirmation", "permission"}},
	{"the form of answers", []string{"prose", "paragraphs"}, []string{"bullet", "bullets", "bulleted"}},
	{"the language of answers", []string{"english"}, []string{"french", "german", "serbian", "spanish", "italian", "chinese", "japanese"}},
}

// demand is a line that tells the model how to answer.
type demand struct {
	line     line
	words    []string
	topic    []string
	polarity int
}

// demands are the lines that tell the model what to do: not the notes, but
// those of preferences, which are meant to be followed.
func (r *reviewer) demands() (out []demand) {
	for _, l := range r.doc.lines {
		preference := strings.HasPrefix(r.doc.sections[l.section].name, "Personal preferences")
		if l.heading || l.note && !preference || !l.note && l.added && r.doc.sections[l.section].layer == "knowledge" {
			continue
		}
		for sentence := range strings.FieldsFuncSeq(l.text, func(c rune) bool { return c == '.' || c == ';' || c == '!' }) {
			if words := tokens(sentence); len(words) > 0 && len(out) < maxDemands {
				out = append(out, demand{l, words, topic(words), polarity(words)})
			}
		}
	}
	return out
}

// maxDemands bounds the comparing of each with each.
const maxDemands = 600

// contradictions finds demands of which only one can be met.
func (r *reviewer) contradictions() {
	all := r.demands()
	for _, o := range opposites {
		a, b := r.asks(all, o.a), r.asks(all, o.b)
		if a != nil && b != nil && a.line.number != b.line.number {
			r.conflict(*a, *b, o.about)
		}
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.polarity*b.polarity < 0 && same(a.topic, b.topic) >= 0.6 && len(a.topic) > 1 {
				r.conflict(a, b, "the same thing")
			}
		}
	}
}

// manner are words by which a line is seen to be about how to answer.
var manner = strings.Fields("be answer answers respond response responses reply replies write use tone style prefer keep give provide speak language format ask")

// asks returns the first demand for one of the words.
func (r *reviewer) asks(all []demand, words []string) *demand {
	contains := func(d demand, list []string) bool {
		return slices.ContainsFunc(d.words, func(w string) bool { return slices.Contains(list, w) })
	}
	for i, d := range all {
		if d.polarity >= 0 && contains(d, words) && contains(d, manner) {
			return &all[i]
		}
	}
	return nil
}

func (r *reviewer) conflict(a, b demand, about string) {
	level := Critical
	if a.line.note != b.line.note { // a person's wish against the operator's rule
		level = Consistency
	}
	r.add(level, "contradiction", b.line, fmt.Sprintf("%.80q and, on line %d, %.80q contradict each other about %s.", b.line.text, a.line.number, a.line.text, about))
}

// same is the share of words that two lists have in common.
func same(a, b []string) float64 {
	common := 0
	for _, w := range a {
		if slices.Contains(b, w) {
			common++
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}

const (
	// repeatWords is how many words a line must have to be worth finding again.
	repeatWords = 4
	// repeatShare is from how much in common two lines say the same.
	repeatShare = 0.8
	// maxRepeats bounds the lines that are compared, each with each.
	maxRepeats = 800
)

// repeats finds what is said twice.
func (r *reviewer) repeats() {
	type said struct {
		line  line
		words []string
	}
	var before []said
	for _, l := range r.doc.lines {
		text := l.text
		if l.note {
			_, text, _ = strings.Cut(text, "] ")
		}
		words := topic(tokens(text))
		if l.heading || len(words) < repeatWords || len(before) == maxRepeats || r.doc.sections[l.section].name == framed {
			continue
		}
		for _, b := range before {
			if same(words, b.words) < repeatShare {
				continue
			}
			where := "in the same layer"
			if one, other := r.doc.sections[b.line.section], r.doc.sections[l.section]; one.layer != other.layer {
				where = fmt.Sprintf("in the %s layer and again in the %s layer", one.layer, other.layer)
			}
			r.add(Efficiency, "repeated", l, fmt.Sprintf("%.80q says what line %d says, %s.", l.text, b.line.number, where))
			break
		}
		before = append(before, said{l, words})
	}
}
