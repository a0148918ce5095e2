package review

import (
	"fmt"
	"slices"
	"strings"
)

// The rules of this file find what can't all be so: demands of which only one can be met, and statements of which only
// one can be true. They compare by words, and know nothing of what words mean.

// statement is a sentence that demands or states something.
type statement struct {
	line   line
	words  []string
	topic  []string
	demand bool // it tells the model what to do
	// polarity is -1 for what forbids or denies, 1 for what demands with a word like "always", else 0.
	polarity int
}

// maxStatements bounds the comparing of each with each.
const maxStatements = 800

// statements are the sentences of the prompt. Those of the author's, and a person's preferences, which are meant to be
// followed, demand; other notes state. Of a note that tells of a change it is what is so now.
func (r *reviewer) statements() (out []statement) {
	for _, l := range r.doc.lines {
		if l.heading || !l.note && l.added && r.doc.sections[l.section].layer == "knowledge" {
			continue
		}
		text, demand := l.text, true
		if l.note {
			text, demand = l.said(), r.preference(l)
		}
		for sentence := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '.' || c == ';' || c == '!' }) {
			words := tokens(sentence)
			if len(words) == 0 || len(out) == maxStatements {
				continue
			}
			s := statement{line: l, words: words, topic: core(words), demand: demand, polarity: polarity(words)}
			if s.polarity >= 0 && denies(words) {
				s.polarity = -1
			}
			out = append(out, s)
		}
	}
	return out
}

// preference reports whether a note tells how somebody wants to be answered.
func (r *reviewer) preference(l line) bool {
	return strings.HasPrefix(l.text, "- [preference") || strings.HasPrefix(r.doc.sections[l.section].name, "Personal preferences")
}

// content is a line without the label of a note.
func (l line) content() string {
	if _, text, found := strings.Cut(l.text, "] "); l.note && found {
		return text
	}
	return l.text
}

// said is what a note says; of a change the new value.
func (l line) said() string {
	text := l.content()
	if i := strings.LastIndex(text, " → "); i >= 0 {
		text = text[i+len(" → "):]
	}
	return text
}

// contradictions finds statements of which only one can be met, or be true.
func (r *reviewer) contradictions() {
	all := r.statements()
	for _, o := range opposites {
		a, b := asks(all, o.a), asks(all, o.b)
		if a != nil && b != nil && a.line.number != b.line.number {
			r.conflict(a, b, o.about)
		}
	}
	r.languages(all)
	for i := range all {
		for j := i + 1; j < len(all); j++ {
			if clash(&all[i], &all[j]) {
				r.conflict(&all[i], &all[j], "the same thing")
			}
		}
	}
	r.values(all)
	r.choices(all)
}

// clash reports whether one of two statements denies what the other says.
func clash(a, b *statement) bool {
	if (a.polarity < 0) == (b.polarity < 0) || len(a.topic) < 2 || len(b.topic) < 2 {
		return false
	}
	alike := 0.8
	if a.demand && b.demand && a.polarity*b.polarity < 0 { // "always" against "never"
		alike = 0.6
	}
	return same(a.topic, b.topic) >= alike
}

// asks returns the first demand for one of the words.
func asks(all []statement, words []string) *statement {
	contains := func(s statement, list []string) bool {
		return slices.ContainsFunc(s.words, func(w string) bool { return slices.Contains(list, w) })
	}
	for i, s := range all {
		if s.demand && s.polarity >= 0 && contains(s, words) && contains(s, manner) {
			return &all[i]
		}
	}
	return nil
}

// languages finds demands for answers in different languages.
func (r *reviewer) languages(all []statement) {
	var first *statement
	var wanted string
	for i := range all {
		s := &all[i]
		language := s.language()
		switch {
		case language == "":
		case first == nil:
			first, wanted = s, language
		case language != wanted && s.line.number != first.line.number:
			r.conflict(first, s, "the language of answers")
			return
		}
	}
}

// language is the one in which a demand wants answers, "" where it says none or more than one.
func (s *statement) language() (language string) {
	if !s.demand || s.polarity < 0 || slices.ContainsFunc(s.words, func(w string) bool { return slices.Contains(noAnswers, w) }) {
		return ""
	}
	for i, w := range s.words {
		if !slices.Contains(languageNames, w) {
			continue
		}
		if language != "" {
			return ""
		}
		last := i == len(s.words)-1 || slices.Contains(afterLanguage, s.words[i+1])
		if i == 0 || !last || !slices.ContainsFunc(s.words[:i], func(w string) bool { return slices.Contains(speaks, w) }) {
			return ""
		}
		language = w
	}
	return language
}

// conflict reports two statements of which only one can be met, or be so. It is critical between demands of one origin,
// since one of them is not met; a person's wish against the operator's rule, or facts, are worth knowing.
func (r *reviewer) conflict(a, b *statement, about string) {
	level := Critical
	if a.line.note != b.line.note || !a.demand || !b.demand {
		level = Consistency
	}
	r.contradict(level, a.line, b.line, about)
}

func (r *reviewer) contradict(level Level, a, b line, about string) {
	pair := [2]int{a.number, b.number}
	if slices.Contains(r.conflicts, pair) {
		return
	}
	r.conflicts = append(r.conflicts, pair)
	r.add(level, "contradiction", b, fmt.Sprintf("%.80q and, on line %d, %.80q contradict each other about %s.", b.text, a.number, a.text, about))
}
