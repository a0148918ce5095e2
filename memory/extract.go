package memory

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// draft is a memory before it is stored.
type draft struct {
	typ                       Type
	content                   string
	subject, attribute, value string // value set: the slot holds one at a time
	externalID, source        string
	session, name             string // where it was said, and by whom
	at                        time.Time

	// corrects, where set, is what the content says in place of.
	corrects string

	// changes says that it is a memory only if it changes what its slot holds.
	changes bool

	// pointing says that it is but a wish to remember what was said around it.
	pointing bool

	// refused says that a rule took the sentence for a near miss.
	refused bool

	// whole, where set, is the text that the content was taken from, when all
	// of it bears on whether the content can be trusted.
	whole string
}

// maxContextual is the length, in bytes, up to which a message counts as one
// thought, so that the sentences around a decision explain it. In a longer one
// they may be about anything.
const maxContextual = 2000

// extract returns what can be learned from a person's message, in its order:
// nothing, mostly. Text must be clean (see cleanText).
func extract(text string) []draft { return extractWith(statementModel, text) }

// extractWith is extract with a model, or by the rules alone if that is nil.
func extractWith(model *teller, text string) []draft {
	set := triggered(text)
	ruled := !set.empty() || inCyrillic(text)
	if model == nil && !ruled {
		return nil
	}
	list := sentences(straight(text))
	if posed(text, list) {
		return nil
	}
	list = beforeStage(text, list)
	var kept []draft
	used := make([]bool, len(list))
	if ruled {
		list, kept, used = extractByRules(text, list)
	} else {
		kept = make([]draft, len(list))
	}
	model.complete(text, list, used, kept)
	if model != nil {
		mind(list, used, kept)
	}

	return slices.DeleteFunc(kept, func(d draft) bool { return d.typ == "" })
}

// extractByRules returns the sentences of a message, cut into clauses where
// those stand alone, what the rules make of each, and which of them they have
// used or refused.
func extractByRules(text string, all []string) (list []string, kept []draft, used []bool) {
	var drafts []draft
	for _, s := range all {
		parts, found := classifyParts(s)
		list, drafts = append(list, parts...), append(drafts, found...)
	}
	kept, used = make([]draft, len(list)), make([]bool, len(list))
	for i, d := range drafts {
		switch {
		case d.typ == "" || used[i]:
		case grows(d):
			kept[i] = grow(list, drafts, used, i, len(text) <= maxContextual)
			if d.pointing && kept[i].content == d.content {
				kept[i].typ = ""
			}
		default:
			kept[i], used[i] = d, true
		}
	}
	for i, d := range drafts {
		used[i] = used[i] || d.refused
	}

	return list, kept, used
}

// straight makes apostrophes straight.
func straight(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "’", "'"), "‘", "'")
}

// classifyParts classifies a sentence, clause by clause where one of several
// says something about the person: that has to stand alone.
func classifyParts(sentence string) ([]string, []draft) {
	whole := []string{sentence}
	if marked(sentence) || foreign(sentence, len(sentence)) {
		return whole, []draft{classify(sentence)}
	}
	parts := clauses(sentence)
	found := make([]draft, len(parts))
	personal := false
	for i, part := range parts {
		found[i] = classify(part)
		personal = personal || found[i].typ.personal()
	}
	if len(parts) > 1 && (!personal || question(sentence)) {
		return whole, []draft{classify(sentence)}
	}

	return parts, found
}

// grows reports whether d gains by the sentences around it. What fills a slot
// or stands for itself doesn't.
func grows(d draft) bool {
	return !d.typ.personal() && d.value == ""
}

// grow makes one memory of the sentence at i and its neighbours, forward then
// back: those that say something of the same kind, and, in a short message,
// those that say something that no rule knows. A Serbian sentence next to an
// English "we decided" is kept that way. The most important type wins.
func grow(list []string, drafts []draft, used []bool, i int, contextual bool) draft {
	d := drafts[i]
	size := utf8.RuneCountInString(d.content)
	fits := func(j int) bool {
		if j < 0 || j >= len(list) || used[j] {
			return false
		}
		text := list[j]
		switch {
		case drafts[j].typ != "" && grows(drafts[j]):
			text = drafts[j].content
		case drafts[j].typ != "" || !contextual || question(text) || request.MatchString(text):
			return false
		}
		if n := utf8.RuneCountInString(text) + 1; size+n <= maxContent {
			size += n
			return true
		}

		return false
	}
	take := func(j int) string {
		used[j] = true
		if drafts[j].typ == "" {
			return list[j]
		}
		if drafts[j].typ.importance() > d.typ.importance() {
			d.typ = drafts[j].typ
		}

		return drafts[j].content
	}

	used[i] = true
	for j := i + 1; fits(j); j++ {
		d.content += " " + take(j)
	}
	for j := i - 1; fits(j); j-- {
		d.content = take(j) + " " + d.content
	}

	return d
}

// request is the start of a sentence that asks for work or is small talk.
var request = regexp.MustCompile(`(?i)^(?:(?:please|now|so|then|ok|okay|and|also)[, ]+)*` +
	`(?:can|could|would|will) you\b|^(?:(?:please|now|so|then|ok|okay|and|also)[, ]+)*` +
	`(?:please|write|give|show|explain|help|make|create|draft|summari[sz]e|tell|list|compare|generate|translate|fix|review|` +
	`find|suggest|describe|let me know|thanks|thank you|hi|hello|hey|great|cool|perfect|sure|yes|no|here is|here's|here are|` +
	`what|how|why|which|who|where)\b`)

// asks is the start of a question that may lack its mark.
var asks = regexp.MustCompile(`(?i)^(?:(?:so|and|but|ok|okay|well|hey|hi)[, ]+)*(?:` +
	`(?:what|who|whom|when|where|why|how|which)(?:'s|'re)? (?:\w+ ){0,2}?(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|am|to)\b|` +
	`(?:what|who|where|how|when)'s\b|` +
	`(?:do|does|did|is|are|was|were|can|could|should|would|shall|am|have|has|had|may|will) (?:i|you|we|they|he|she|it|there|the|this|that|these|my|our|your|any\w*)\b)`)

// question reports whether a sentence asks.
func question(s string) bool { return marked(s) || asks.MatchString(s) }

// marked reports whether a sentence has a question's mark.
func marked(s string) bool { return strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") }
