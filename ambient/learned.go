package ambient

import (
	"regexp"
	"strings"
	"time"
)

// Learned is a memory that was learned from what the scope's user said.
type Learned struct {
	ID      string // of the memory, so that the event goes with it; empty: none
	Type    string // of the memory: decision, todo, goal, …
	Content string
	Was     string // what it took the place of, empty for nothing
	Session string
	Name    string // what the user is called
	At      time.Time
}

// HearLearned makes an event of a memory, when it is of a kind that others should hear of. It never blocks; false means
// that the queue is full.
func (s *Store) HearLearned(scope Scope, l Learned) bool {
	e := Event{ID: l.ID, Type: l.event(), Session: l.Session, Name: l.Name, Summary: l.Content, At: l.At}
	if e.Type == "" || s.graves.hold(scope, l.At) {
		return true
	}
	if l.Was != "" {
		e.Summary = strings.TrimRight(shorten(l.Content, maxSummary*2/3), ". ") + beforeMark + strings.TrimRight(l.Was, ". ") + ")"
	}
	return s.note(scope, e)
}

// event is the type of the event, "" for none.
func (l *Learned) event() EventType {
	switch {
	case l.Was != "" && l.Type == "decision":
		return DecisionRevised
	case l.Was != "":
		return UserCorrection
	case l.Type == "decision":
		return Decision
	case deadline.MatchString(l.Content) && l.Type != "preference" && l.Type != "identity":
		return DeadlineSet
	case l.Type == "todo" || l.Type == "goal":
		return TaskUpdate
	}
	return ""
}

// deadline finds a time that something must be done by. Memory writes the date behind the words that name one: "(by
// Friday: 2026-03-20)".
var deadline = regexp.MustCompile(`(?i)\bdeadline\b|\bdue (?:on|by|date|in|at|next|this|tomorrow|today|\d)|` +
	`\b(?:by|before|until|no later than|do|bis|avant|antes de|entro) (?:the |end of |next |this )*` +
	`(?:\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?\b|monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight|week|month|quarter|` +
	`january|february|march|april|may|june|july|august|september|october|november|december|eod|eow|noon|midnight|` +
	`ponedelj|utor|sred|četvr|petk|subot|nedelj|montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)`)
