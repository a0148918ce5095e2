package memory

import "strings"

// Claim is what somebody says about a thing that has one value at a time: where
// they live, the port of a service, whether they like tea.
type Claim struct {
	Subject, Attribute string // of what; "user" is who speaks
	Value              string // in lower case
	Not                bool   // it has that value no more
	Own                bool   // of the speaker or the speaker's own, so that of another speaker it would be another claim
}

// Claims returns what a text says by which a memory would take the place of
// another one, by the rules that memories are learned by.
func Claims(text string) []Claim {
	var out []Claim
	for _, d := range extractWith(nil, cleanText(text)) {
		if d.attribute == "" || d.value == "" {
			continue
		}
		value, not := strings.CutPrefix(d.value, gone)
		out = append(out, Claim{Subject: d.subject, Attribute: d.attribute, Value: value, Not: not, Own: d.typ.personal()})
	}
	return out
}
