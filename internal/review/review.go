// Package review reads a system prompt as a careful colleague would: it looks
// for what makes a model behave wrongly, for what is paid for twice, for what
// contradicts itself, and for what somebody else may have written into it.
//
// It works on the text alone, by rules, and says only what it can show: where
// it stands, and where to mend it. It calls no model, judges no style, and
// knows nothing of whether the prompt does what its author wants.
package review

import (
	"cmp"
	"slices"
	"time"
)

// Level says how much a finding matters.
type Level string

// The levels, the worst first.
const (
	Critical    Level = "critical"    // makes for wrong behaviour
	Efficiency  Level = "efficiency"  // is paid for without need
	Consistency Level = "consistency" // parts that don't fit together
	Suggestion  Level = "suggestion"  // would make it better
)

// Levels returns all levels, the worst first.
func Levels() []Level { return []Level{Critical, Efficiency, Consistency, Suggestion} }

// Finding is one thing that was found.
type Finding struct {
	Level   Level  `json:"level"`
	Rule    string `json:"rule"`    // its name, such as empty_section
	Layer   string `json:"layer"`   // identity, contract, knowledge, working or runtime
	Section string `json:"section"` // the heading that it is under, "" before the first
	Line    int    `json:"line"`    // of the prompt, from 1
	Message string `json:"message"`
	Fix     string `json:"fix"` // where to mend it
}

// Share is what a layer takes of the prompt.
type Share struct {
	Layer  string `json:"layer"`
	Chars  int    `json:"chars"`
	Tokens int    `json:"tokens"` // estimated
	// Percent of all tokens, rounded.
	Percent int `json:"percent"`
}

// Report is what a review found, the worst first, and in order of lines.
type Report struct {
	Findings []Finding `json:"findings"`
	Layers   []Share   `json:"layers"` // in the order of the prompt
	Chars    int       `json:"chars"`
	Tokens   int       `json:"tokens"`
}

// Worst reports whether something critical was found.
func (r Report) Critical() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Level == Critical })
}

// Options say how to review.
type Options struct {
	// Now is the present time; dates are judged by it.
	Now time.Time
	// Tokens estimates a text's tokens.
	Tokens func(text string) int
	// Injection says why a line looks like an attack, "" when it doesn't. A
	// note is what somebody said; other lines are meant to tell the model what to
	// do.
	Injection func(line string, note bool) string
	// Claims says what a line says of things that have one value at a time; nil
	// for none beyond those that the package knows.
	Claims func(line string) []Claim
	// Expected are sections that should be there.
	Expected []Expected
	// Secret reports whether a line holds a secret.
	Secret func(line string) bool
}

// Prompt reviews a system prompt.
func Prompt(text string, opts Options) Report {
	d := read(text)
	r := reviewer{doc: d, opts: opts}
	for _, rule := range rules {
		rule(&r)
	}
	slices.SortStableFunc(r.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(Levels(), a.Level), slices.Index(Levels(), b.Level)), cmp.Compare(a.Line, b.Line))
	})
	out := Report{Findings: r.findings, Chars: len([]rune(text))}
	if out.Findings == nil {
		out.Findings = []Finding{}
	}
	out.Layers, out.Tokens = r.shares()
	return out
}

// rules are all that is looked for. Read only.
var rules = []func(*reviewer){
	(*reviewer).structure, (*reviewer).emptySections, (*reviewer).missing, (*reviewer).order, (*reviewer).contradictions, (*reviewer).repeats,
	(*reviewer).weights, (*reviewer).foreign, (*reviewer).dates, (*reviewer).advice,
}

// reviewer is a review under way.
type reviewer struct {
	doc      document
	opts     Options
	findings []Finding

	conflicts [][2]int // lines that were found to contradict each other
}

func (r *reviewer) add(level Level, rule string, l line, message string) {
	s := r.doc.sections[l.section]
	r.findings = append(r.findings, Finding{
		Level: level, Rule: rule, Layer: s.layer, Section: s.name, Line: l.number, Message: message, Fix: s.fix(),
	})
}

// shares adds up what each layer takes.
func (r *reviewer) shares() (out []Share, total int) {
	for _, l := range r.doc.lines {
		layer := r.doc.sections[l.section].layer
		i := slices.IndexFunc(out, func(s Share) bool { return s.Layer == layer })
		if i < 0 {
			out = append(out, Share{Layer: layer})
			i = len(out) - 1
		}
		tokens := r.opts.Tokens(l.text + "\n")
		out[i].Chars += len([]rune(l.text)) + 1
		out[i].Tokens += tokens
		total += tokens
	}
	for i := range out {
		out[i].Percent = (out[i].Tokens*100 + total/2) / max(total, 1)
	}
	return out, total
}
