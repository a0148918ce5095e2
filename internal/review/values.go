package review

import (
	"fmt"
	"slices"
	"strings"
)

// Claim is what a line says of something that has one value at a time.
type Claim struct {
	Of    string // what, such as "the port of gateway"
	Value string // in lower case
	Not   bool   // it has that value no more
	// Own says that it is of whoever speaks, so that the same words of somebody else are no claim of the same thing.
	Own bool
}

// value is a claim where it stands.
type value struct {
	Claim
	line line
}

// values finds what has two values.
func (r *reviewer) values(all []statement) {
	var values []value
	for i := range all {
		if c, ok := all[i].attribute(); ok {
			values = append(values, value{c, all[i].line})
		}
	}
	for _, l := range r.doc.lines {
		text := l.text
		if l.note {
			text = l.said()
		}
		if l.heading || r.opts.Claims == nil || len(values) >= maxStatements {
			continue
		}
		for _, c := range r.opts.Claims(text) {
			values = append(values, value{c, l})
		}
	}
	for i := range values {
		b := &values[i]
		if at := slices.IndexFunc(values[:i], func(a value) bool { return a.denies(b) }); at >= 0 {
			r.contradict(Consistency, values[at].line, b.line, b.Of)
		}
	}
}

// denies reports whether two values are of the same thing, which can only have one of them.
func (v *value) denies(other *value) bool {
	if v.Of != other.Of || v.line.number == other.line.number || (v.Own || other.Own) && v.line.note != other.line.note {
		return false
	}
	if v.Not || other.Not {
		return v.Not != other.Not && v.Value == other.Value
	}
	a, b := strings.Fields(v.Value), strings.Fields(other.Value)
	return !within(a, b) && !within(b, a) // "May 5" is "May 5, 2026"
}

// within reports whether all words of a are in b.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(w string) bool { return !slices.Contains(b, w) })
}

// single are things of which there is one.
var single = strings.Fields("deadline budget name codename date port version owner address price limit quota url timezone headcount")

// attribute reads "the launch date is May 5" and "our budget for May is 50k".
func (s *statement) attribute() (c Claim, ok bool) {
	is := slices.Index(s.words, "is")
	if is < 2 || is > 8 || s.polarity < 0 || s.words[0] != "the" && s.words[0] != "our" {
		return Claim{}, false
	}
	of := s.words[1:is]
	noun := of[len(of)-1]
	if at := slices.IndexFunc(of, func(w string) bool { return w == "for" || w == "of" || w == "in" }); at > 0 {
		noun = of[at-1]
	}
	said := slices.DeleteFunc(core(s.words[is+1:]), func(w string) bool { return w == "now" })
	if !slices.Contains(single, noun) || len(said) == 0 {
		return Claim{}, false
	}
	return Claim{Of: "the " + strings.Join(of, " "), Value: strings.Join(said, " ")}, true
}

// chosen are words after which a choice is named.
var chosen = strings.Fields("use using chose chosen picked adopt adopted with on")

// choice reads "we decided to use NATS for the event bus".
func (s *statement) choice() (what, purpose []string) {
	if s.demand || s.polarity < 0 || !strings.HasPrefix(s.line.text, "- [decision") {
		return nil, nil
	}
	words := reasonless(s.words)
	verb := slices.IndexFunc(words, func(w string) bool { return slices.Contains(chosen, w) })
	purposeAt := slices.Index(words, "for")
	if verb < 0 || purposeAt < verb {
		return nil, nil
	}
	what, purpose = core(words[verb+1:purposeAt]), core(words[purposeAt+1:])
	if len(purpose) > 0 && slices.Contains(whiles, purpose[0]) {
		return nil, nil
	}
	return what, purpose
}

// whiles begin what something was chosen for that is no purpose.
var whiles = strings.Fields("now good today once")

// choices finds decisions for the same purpose. Both may be in force, so it asks.
func (r *reviewer) choices(all []statement) {
	type made struct {
		line          line
		what, purpose []string
	}
	var before []made
	for i := range all {
		what, purpose := all[i].choice()
		if len(what) == 0 || len(purpose) == 0 {
			continue
		}
		now := made{all[i].line, what, purpose}
		for _, b := range before {
			if same(b.purpose, purpose) == 1 && same(b.what, what) == 0 && b.line.number != now.line.number {
				r.add(Suggestion, "two_choices", now.line, fmt.Sprintf("%.80q and, on line %d, %.80q: are both still so?", now.line.text, b.line.number, b.line.text))
			}
		}
		before = append(before, now)
	}
}
