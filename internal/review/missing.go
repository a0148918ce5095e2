package review

import (
	"fmt"
	"slices"
	"strings"
)

// Expected is a section that should be there, by what is known outside the
// prompt.
type Expected struct {
	Section  string // its heading
	Why, Fix string
}

// missing finds sections that are expected, or that the prompt speaks of, and
// that are not there.
func (r *reviewer) missing() {
	if len(r.doc.lines) == 0 {
		return
	}
	for _, e := range r.opts.Expected {
		if r.doc.has(e.Section) {
			continue
		}
		r.findings = append(r.findings, Finding{
			Level: Consistency, Rule: "missing_section", Layer: layers[strings.ToLower(e.Section)], Section: e.Section, Line: r.doc.lines[0].number,
			Message: fmt.Sprintf("There is no section %q, although %s.", e.Section, e.Why), Fix: e.Fix,
		})
	}
	for _, l := range r.doc.lines {
		for _, name := range spokenOf(l) {
			if !r.doc.has(name) {
				r.add(Suggestion, "missing_section", l, fmt.Sprintf("%.80q speaks of a section %q, which is not there.", l.text, name))
			}
		}
	}
}

// has reports whether there is a section of that name.
func (d *document) has(name string) bool {
	for _, s := range d.sections {
		title, _, _ := strings.Cut(strings.ToLower(s.name), ":")
		title, _, _ = strings.Cut(title, " (")
		if title == strings.ToLower(name) {
			return true
		}
	}
	return false
}

// refers are words by which a line points to another part of the prompt.
var refers = strings.Fields("see under in from per to follow use read check consult by")

// spokenOf returns the known sections that a line of the author's points to, in
// order of their names: "see the Working Memory section", "under # Rules",
// "listed in `Other Channels`". Single words need more than quotes.
func spokenOf(l line) (names []string) {
	text := strings.ToLower(l.text)
	if l.heading || l.note || !strings.Contains(text, "section") && !strings.ContainsAny(text, "#\"`") {
		return nil
	}
	for name := range layers {
		before, after, found := strings.Cut(text, name)
		if !found {
			continue
		}
		marked := strings.HasPrefix(after, " section")
		if bare := strings.TrimRight(before, "# \"`"); bare != before {
			mark := strings.TrimSpace(before[len(bare):])
			marked = marked || mark == "#" || mark != "" && strings.Contains(name, " ")
			before = bare
		}
		words := tokens(before)
		if n := len(words); n > 0 && words[n-1] == "the" {
			words = words[:n-1]
		}
		if n := len(words); marked && n > 0 && slices.Contains(refers, words[n-1]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
