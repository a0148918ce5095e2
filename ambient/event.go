package ambient

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// EventType says what kind of thing happened.
type EventType string

// The types of events.
const (
	BranchCompleted EventType = "branch_completed"
	WorkerSpawned   EventType = "worker_spawned"
	WorkerCompleted EventType = "worker_completed"
	CronExecuted    EventType = "cron_executed"
	MemorySaved     EventType = "memory_saved"
	Decision        EventType = "decision"
	UserCorrection  EventType = "user_correction"
	DecisionRevised EventType = "decision_revised"
	DeadlineSet     EventType = "deadline_set"
	BlockedOn       EventType = "blocked_on"
	Constraint      EventType = "constraint"
	Outcome         EventType = "outcome"
	Failure         EventType = "error"
	TaskUpdate      EventType = "task_update"
	AgentMessage    EventType = "agent_message"
	System          EventType = "system"
)

// kind is what is fixed about a type of events.
type kind struct {
	typ        EventType
	importance float64 // of an event that comes without
	one, many  string  // as a reader is told
}

// kinds are all types, the most important first. What binds people's further work weighs most, what only shows that
// something ran least. Read only.
var kinds = [...]kind{
	{DecisionRevised, 0.9, "decision revised", "decisions revised"},
	{UserCorrection, 0.9, "correction", "corrections"},
	{Decision, 0.85, "decision", "decisions"},
	{DeadlineSet, 0.85, "deadline", "deadlines"},
	{BlockedOn, 0.8, "blocked", "blocked"},
	{Constraint, 0.75, "constraint", "constraints"},
	{Outcome, 0.7, "outcome", "outcomes"},
	{Failure, 0.65, "error", "errors"},
	{WorkerCompleted, 0.6, "worker done", "workers done"},
	{BranchCompleted, 0.55, "branch done", "branches done"},
	{TaskUpdate, 0.5, "task", "tasks"},
	{CronExecuted, 0.4, "cron run", "cron runs"},
	{AgentMessage, 0.4, "message", "messages"},
	{MemorySaved, 0.3, "remembered", "remembered"},
	{WorkerSpawned, 0.3, "worker started", "workers started"},
	{System, 0.2, "system", "system"},
}

// EventTypes returns all types, the most important first.
func EventTypes() []EventType {
	out := make([]EventType, len(kinds))
	for i, k := range kinds {
		out[i] = k.typ
	}
	return out
}

// place returns where kinds has the type, -1 for an unknown one.
func (t EventType) place() int {
	for i := range kinds {
		if kinds[i].typ == t {
			return i
		}
	}
	return -1
}

// Known reports whether it is one of the types.
func (t EventType) Known() bool { return t.place() >= 0 }

// label is what a reader is told that an event is.
func (t EventType) label() string {
	if i := t.place(); i >= 0 {
		return kinds[i].one
	}
	return string(t)
}

// Event is one thing that happened.
type Event struct {
	ID         string    // set by the store when empty
	Type       EventType // one of the constants; empty: by the summary's prefix, else System
	Importance float64   // in (0, 1]; 0: the type's own. It never changes: what is old counts less when it is read
	Session    string    // the conversation, empty for none
	Name       string    // what the scope's user is called
	Summary    string    // one line; redacted and cut by the store
	At         time.Time // zero: now
}

// halfLife is the age at which an event counts half. After a day a decision (0.85) weighs what a worker's start (0.3)
// does after nine hours.
const halfLife = 16 * time.Hour

// Weight is what an event counts at a time: its importance, halved every 16 hours of its age. It depends on nothing
// else, so that being read often makes nothing last.
func (e *Event) Weight(at time.Time) float64 { return weigh(e.Importance, at.Sub(e.At)) }

func weigh(importance float64, age time.Duration) float64 {
	return importance * math.Exp2(-float64(max(0, age))/float64(halfLife))
}

const (
	maxSummary = 300     // characters of an event's summary
	maxRawText = 8 << 10 // bytes of a text that are looked at
)

// prefixes are how a summary says its own type.
var prefixes = [...]struct {
	word string
	typ  EventType
}{
	{"outcome:", Outcome}, {"blocked_on:", BlockedOn}, {"constraint:", Constraint}, {"deadline:", DeadlineSet},
}

// typed takes a type's prefix from a summary. A type that was given otherwise stays.
func (e *Event) typed() {
	text := strings.TrimSpace(e.Summary)
	for _, p := range prefixes {
		if len(text) >= len(p.word) && strings.EqualFold(text[:len(p.word)], p.word) && (e.Type == "" || e.Type == p.typ) {
			e.Type, e.Summary = p.typ, text[len(p.word):]
			return
		}
	}
	if e.Type == "" {
		e.Type = System
	}
}

// prepare makes an event what is stored of it: typed, weighed, redacted, one line. It is false when the words must not
// be shown to a model.
func (s *Store) prepare(e *Event) bool {
	e.typed()
	i := e.Type.place()
	if i < 0 {
		return false
	}
	if !(e.Importance > 0 && e.Importance <= 1) {
		e.Importance = kinds[i].importance
	}
	if e.At.IsZero() {
		e.At = s.cfg.Clock()
	}
	if e.ID == "" {
		e.ID = newID()
	}
	e.Name = s.called(e.Name)
	var ok bool
	e.Summary, ok = s.tidy(e.Summary, maxSummary)
	return ok && e.Summary != ""
}

// called is a name as it may be shown: "" when the scanner refuses it.
func (s *Store) called(name string) string {
	clean, ok := s.cfg.Clean(CleanName(name))
	if !ok {
		return ""
	}
	return clean
}

// place is what a channel or a platform is called as it may be shown: "" when the scanner refuses it.
func (s *Store) place(name string) string {
	clean, ok := s.cfg.Clean(cleanLabel(name))
	if !ok {
		return ""
	}
	return clean
}

// tidy redacts a text, scans it, and makes it one line of at most so many characters.
func (s *Store) tidy(text string, most int) (string, bool) {
	if len(text) > maxRawText {
		text = text[:maxRawText]
	}
	clean, ok := s.cfg.Clean(strings.ToValidUTF8(text, ""))
	if !ok {
		return "", false
	}
	return shorten(oneLine(clean), most), true
}

// shorten cuts a text to so many characters, the last of them an ellipsis.
func shorten(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n++; n == most {
			return strings.TrimRight(text[:i], " ,;:") + "…"
		}
	}
	return text
}
