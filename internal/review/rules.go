package review

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// structure checks that what was added can be told from what was not.
func (r *reviewer) structure() {
	d := &r.doc
	if len(d.lines) == 0 {
		r.add(Critical, "empty_prompt", line{number: 1}, "The prompt is empty.")
		return
	}
	if d.opened > 1 || !d.closed {
		r.add(Critical, "container", d.lines[len(d.lines)-1], fmt.Sprintf("%d blocks of added context begin, and the last is closed: %v; there must be one, closed.", d.opened, d.closed))
	}
	framed := false
	for _, l := range d.lines {
		framed = framed || strings.Contains(l.text, "not instructions") || strings.Contains(l.text, "untrusted")
		if l.note && !framed {
			r.add(Critical, "unframed_data", l, "Notes of what people said stand here, and no line before says that they are data and not instructions.")
			return
		}
	}
}

// emptySections finds headings with nothing under them.
func (r *reviewer) emptySections() {
	d := &r.doc
	for i, s := range d.sections {
		if s.line < 0 || strings.Contains(s.name, ":") { // "Persona: Ada" says something by itself
			continue
		}
		next := s.line + 1
		if next < len(d.lines) && d.lines[next].added == s.added {
			if !d.lines[next].heading || d.sections[d.lines[next].section].level > s.level {
				continue
			}
		}
		r.add(Consistency, "empty_section", d.lines[s.line], fmt.Sprintf("The heading %q has nothing under it.", d.sections[i].name))
	}
}

// inOrder is the order of the layers that matters: who the agent is comes
// before what it knows.
var inOrder = []string{"identity", "knowledge", "working", "runtime"}

// identityOrder is the order of the parts of an identity: how it is, who it
// is, what it does.
var identityOrder = []string{"soul", "identity", "role"}

// order finds an identity after what it should stand before, and its parts out
// of their order.
func (r *reviewer) order() {
	last := -1
	for _, s := range r.doc.sections {
		at := slices.Index(identityOrder, strings.ToLower(s.name))
		if s.added || s.line < 0 || at < 0 { // what is added has its files in order
			continue
		}
		if at < last {
			r.add(Consistency, "order", r.doc.lines[s.line], fmt.Sprintf("%q stands after %q; the order is Soul, Identity, Role.", s.name, identityOrder[last]))
			break
		}
		last = at
	}
	worst := ""
	for _, s := range r.doc.sections {
		at := slices.Index(inOrder, s.layer)
		if s.line < 0 || at < 0 {
			continue
		}
		if s.layer == "identity" && worst != "" {
			r.add(Consistency, "order", r.doc.lines[s.line], fmt.Sprintf("Who the agent is stands after %q: models weigh most what comes first.", worst))
			return
		}
		if at > 0 {
			worst = s.name
		}
	}
}

const (
	heavyTokens  = 1000 // below it a share is no news
	heavyPercent = 60
	longList     = 30
)

// weights finds what takes too much of the prompt.
func (r *reviewer) weights() {
	shares, total := r.shares()
	for _, s := range shares {
		if s.Tokens < heavyTokens || s.Percent < heavyPercent || s.Layer == "contract" && len(shares) == 1 {
			continue
		}
		first := slices.IndexFunc(r.doc.lines, func(l line) bool { return r.doc.sections[l.section].layer == s.Layer })
		r.add(Efficiency, "heavy_layer", r.doc.lines[first], fmt.Sprintf("The %s layer takes %d of %d tokens (%d %%).", s.Layer, s.Tokens, total, s.Percent))
	}
	count := map[int]int{}
	for _, l := range r.doc.lines {
		if strings.HasPrefix(l.text, "- ") || strings.HasPrefix(l.text, "* ") {
			if count[l.section]++; count[l.section] == longList {
				r.add(Efficiency, "long_list", l, fmt.Sprintf("The list has %d entries or more: models lose the middle of long lists.", longList))
			}
		}
	}
}

// foreign finds what looks as if somebody wanted to give orders, and secrets.
func (r *reviewer) foreign() {
	for _, l := range r.doc.lines {
		if reason := r.opts.Injection(l.content(), l.note); reason != "" {
			if l.added {
				r.add(Critical, "injection", l, fmt.Sprintf("%.80q reads like an order to the model (%s).", l.text, reason))
			} else {
				r.add(Suggestion, "injection", l, fmt.Sprintf("%.80q reads like an order against the prompt itself (%s).", l.text, reason))
			}
		}
		if r.opts.Secret(l.text) {
			r.add(Critical, "secret", l, "The line holds a secret, which goes to whoever serves the model, and into every answer that quotes it.")
		}
	}
}

var isoDate = regexp.MustCompile(`\b(20\d\d)-(\d\d)-(\d\d)\b`)

const (
	staleNews  = 90 * 24 * time.Hour  // of changes and work
	staleFacts = 730 * 24 * time.Hour // of what an identity states
	staleNow   = 36 * time.Hour       // of what claims to be now
)

// dates finds what is no longer so by its date.
func (r *reviewer) dates() {
	for _, l := range r.doc.lines {
		found := isoDate.FindString(l.text)
		at, err := time.Parse(time.DateOnly, found)
		if err != nil {
			continue
		}
		s, age := r.doc.sections[l.section], r.opts.Now.Sub(at)
		today := strings.HasPrefix(strings.ToLower(s.name), "today")
		switch {
		case (s.layer == "runtime" || today) && age > staleNow:
			r.add(Consistency, "stale_now", l, fmt.Sprintf("It tells of %s as of now.", found))
		case s.layer == "working" && age > staleNews:
			r.add(Efficiency, "stale_news", l, fmt.Sprintf("It tells of %s as of news.", found))
		case s.layer == "identity" && !l.note && age > staleFacts:
			r.add(Suggestion, "stale_identity", l, fmt.Sprintf("It states something of %s; is it still so?", found))
		}
	}
}

// advice is what a prompt is better for having.
func (r *reviewer) advice() {
	identity, limits := -1, false
	for i, l := range r.doc.lines {
		if s := r.doc.sections[l.section]; s.layer == "identity" && identity < 0 {
			identity = i
		}
		if !l.note {
			limits = limits || polarity(tokens(l.text)) < 0
		}
	}
	switch {
	case len(r.doc.lines) == 0:
	case identity < 0:
		r.add(Suggestion, "no_identity", r.doc.lines[0], "Nothing says who the agent is: no Soul, Identity or Role.")
	case !limits:
		r.add(Suggestion, "no_limits", r.doc.lines[identity], "Nothing says what the agent must not do; models fail in known ways (wordiness, emoji, false claims) unless told.")
	}
}
