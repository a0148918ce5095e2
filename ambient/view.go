package ambient

import (
	"context"
	"errors"
	"time"
)

// View is what surrounds a conversation at one moment, by section of a prompt. Empty sections are nil.
type View struct {
	Knowledge, Working, Channels, Participants, Briefing, Conversation, Status []Group
}

// Group is some lines under a heading, in the order in which they are to be read.
type Group struct {
	Heading string // empty for none
	Lines   []Line
	Total   int  // lines there were before some were left out; 0: none were
	Live    bool // changes by the minute, so it goes with the newest turn
}

// Line is one line of data. It is not escaped: whoever writes the prompt does that.
type Line struct {
	ID    string // names what the line tells, so that a conversation is told once; empty: the words do
	Label string // what or when it is: "decision", "14:45", "morning"
	Text  string

	Memory   bool // ID is a memory's
	Personal bool // and the memory is the user's own
}

// Moment is a request that is about to go out, as far as its surroundings depend on it.
type Moment struct {
	Session string
	Process string    // channel, branch, worker, compactor or cortex
	Mode    string    // none, ambient or briefed
	Placed  bool      // the request names a channel or a mode; one that doesn't is shown Working alone
	Opening bool      // the prompt is made from the beginning; else only live groups are shown
	Words   string    // what the human, or whoever gave the task, said last
	Voices  []Voice   // who said what since the last answer, oldest first
	At      time.Time // when the request came

	Platform, ChannelName, UserName string // as in Heard
	Workspace                       string // of the platform, as people call it: Tidemark
	New                             bool   // nothing was answered in the conversation yet
	Dry                             bool   // it is only asked what would become of the request
	Model                           string // that is going to answer
	Window                          int    // of that model, in tokens; 0: not known
}

// Surroundings tells what surrounds a request, as far as its scope may know it. It must be quick: it is on the request's
// path, and ctx ends when its time is up.
func (s *Store) Surroundings(ctx context.Context, scope Scope, m Moment) (View, error) {
	var v View
	if m.Mode == "none" {
		return v, nil
	}
	if m.At.IsZero() {
		m.At = s.cfg.Clock()
	}
	err := errors.Join(s.workingMemory(ctx, &v, scope, &m), s.showBriefing(ctx, &v, scope, &m))
	if m.Placed {
		err = errors.Join(err, s.here(ctx, &v, scope, &m))
	}
	return v, errors.Join(err, ctx.Err())
}

// Heard is a finished request and its answer.
type Heard struct {
	Session     string
	Process     string // as in Moment
	Placed      bool   // as in Moment
	Trigger     string // what started the run, such as cron; empty for a person
	Platform    string // such as slack
	ChannelName string
	UserName    string
	Words       string    // the newest human text, empty when the request's last message isn't a human's
	Voices      []Voice   // as in Moment; nil unless NewTurn
	NewTurn     bool      // the newest message is the human's, not a step of a tool loop
	Final       bool      // the answer calls no tool
	Answer      string    // its text, or the beginning of it
	Failed      string    // why there is no good answer: the outcome in the ledger; empty when there is one
	Model       string    // that answered
	Briefed     string    // what [Store.Brief] returned for the request, empty when it was not asked
	At          time.Time // when the request came
}

// Hear takes note of a finished request. It never blocks; false means that the queue is full.
func (s *Store) Hear(scope Scope, h Heard) bool {
	if s.graves.hold(scope, h.At) {
		return true // the user was erased while the request ran
	}
	people, channel, run, briefing := s.hearPeople(scope, &h), s.hearChannel(scope, &h), s.hearRun(scope, &h), s.hearBriefing(scope, &h)
	return people && channel && run && briefing
}
