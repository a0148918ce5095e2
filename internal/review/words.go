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

// auxiliary are words that tell nothing of what a statement is about beyond
// filler: who says it, and whether it is so.
var auxiliary = strings.Fields("we i our my us they does doesn't isn't aren't wasn't weren't won't can't didn't did was were any more anymore longer")

// topic is what a rule is about.
func topic(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(filler, w) })
}

// core is what a statement is about, without its reason.
func core(words []string) []string {
	return slices.DeleteFunc(topic(reasonless(words)), func(w string) bool { return slices.Contains(auxiliary, w) })
}

// reasonless is a sentence without the reason that it gives.
func reasonless(words []string) []string {
	if i := slices.Index(words, "because"); i > 0 {
		return words[:i]
	}
	return words
}

// denies reports whether a sentence says that something is not so, or no more.
func denies(words []string) bool {
	for i, w := range words {
		switch {
		case w == "not", strings.HasSuffix(w, "n't"), w == "longer" && i > 0 && words[i-1] == "no":
			return true
		}
	}
	return false
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

// manner are words by which a line is seen to be about how to answer.
var manner = strings.Fields("be answer answers respond response responses reply replies write use tone style prefer keep give provide speak language format ask")

// languageNames are languages that people ask for; speaks is what stands somewhere before them when they do,
// afterLanguage what may follow, and noAnswers what they ask it for that is no answer.
var (
	languageNames = strings.Fields("english french german serbian croatian bosnian spanish italian portuguese dutch polish czech russian ukrainian turkish " +
		"arabic hindi chinese japanese korean greek swedish")
	speaks        = strings.Fields("answer answers respond response responses reply replies write prefer speak use language")
	noAnswers     = strings.Fields("code comment comments docs documentation test tests commit commits email emails letter letters name names identifiers variables titles")
	afterLanguage = strings.Fields("please only always unless when whenever if and with to for")
)

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
		words := topic(tokens(l.content()))
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
