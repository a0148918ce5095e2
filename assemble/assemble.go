// Package assemble writes what Understudy adds to a prompt: who the agent is, what is known about the work and the
// user, and, for a model small enough to need one, a response scaffold.
//
// It turns typed context into text and decides which bytes a conversation carries from turn to turn:
//
//   - [Assembler.Assemble] renders one prompt from an [Input]: sections in a fixed order, each note once, ranked, cut
//     to the model's tier and to a budget.
//   - [Sessions] keeps a conversation's additions byte-identical on its later turns, so that the provider's prompt
//     cache stays warm.
//   - [Strip] removes what the other two added, so that it is never scored, learned or added again.
//
// Everything added stands between the lines <understudy-context> and </understudy-context>. Identity and persona
// texts are the operator's and go in as written; everything else is data that someone said in a conversation, and
// goes in as single escaped lines that can't open a heading, leave the container or speak for a role.
//
// The package is pure text. It reads no memory, counts no tokens, knows no JSON and makes no call: the caller brings
// the frames and splices the result into the request, joined to the client's own text by [Separator].
package assemble

import (
	"errors"
	"fmt"
)

// Where the additions go.
const (
	// PlacementEpoch freezes the system block for a while and gives each turn a prefix of its own.
	PlacementEpoch = "epoch"
	// PlacementSystem renders everything, scaffold included, into the system prompt afresh on each turn. It suits
	// upstreams without a prompt cache, and single calls.
	PlacementSystem = "system"
)

// Separator stands between an addition and the client's own text: after the client's system prompt and before
// SystemBlock, after UserPrefix and before the human's words. [Strip] takes it away with the block.
const Separator = "\n\n"

// Options configure an [Assembler]. The zero value is not usable; start from [DefaultOptions].
type Options struct {
	// MaxSystemChars bounds, in characters, all that is added to one request. Identity and persona are never cut,
	// so they alone may exceed it.
	MaxSystemChars int
	// ConfidenceThreshold is the least task-shape confidence, in [0,1], at which a scaffold is used.
	ConfidenceThreshold float64
	// Placement is [PlacementEpoch] or [PlacementSystem].
	Placement string
}

// DefaultOptions returns the shipped values: 32,000 characters, confidence 0.3, epochs.
func DefaultOptions() Options {
	return Options{MaxSystemChars: 32_000, ConfidenceThreshold: 0.3, Placement: PlacementEpoch}
}

// Assembler renders prompts. Beside its options it keeps rendered notes, within a bound; they change nothing but the
// time that it takes. It is safe for concurrent use.
type Assembler struct {
	opts  Options
	lines noteCache
}

// New returns an Assembler, or an error that names every option out of range.
func New(opts Options) (*Assembler, error) {
	var errs []error
	if opts.MaxSystemChars <= 0 {
		errs = append(errs, fmt.Errorf("max_system_chars is %d, want more than 0", opts.MaxSystemChars))
	}
	if !(opts.ConfidenceThreshold >= 0 && opts.ConfidenceThreshold <= 1) {
		errs = append(errs, fmt.Errorf("confidence_threshold is %v, want 0 to 1", opts.ConfidenceThreshold))
	}
	if opts.Placement != PlacementEpoch && opts.Placement != PlacementSystem {
		errs = append(errs, fmt.Errorf("placement is %q, want %q or %q", opts.Placement, PlacementEpoch, PlacementSystem))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("checking assembly options: %w", err)
	}
	return &Assembler{opts: opts}, nil
}

// Assemble renders a whole prompt: the first turn of a conversation, or a call that stands alone. Equal input gives
// equal bytes. With nothing to say both texts are empty.
func (a *Assembler) Assemble(in Input) Assembled {
	system, prefix := a.first(&in)
	return account(&in, system, prefix, nil)
}

// first renders the system block and the prefix of the turn that opens an epoch.
//
// Sections choose their notes in another order than they stand in, because each note is shown once: what took
// another's place is worth more as a change than as a state, and an open goal more as work to do. What was looked up
// for the task goes first, so that a briefing is the same whatever else is known by then.
func (a *Assembler) first(in *Input) (system, prefix *piece) {
	limit := LimitsFor(in.Tier).Frames
	known := shown{keys: make([]noteKey, 0, 64)}
	known.addQuery(in.Query)
	pick := func(frames []Frame, limit int) picked { return known.pick(&a.lines, ranked(frames), limit) }

	briefing := a.sheetSection(kindBriefing, in.Briefing, &known, anyGroup)
	changed, added := replaced(in.RecentChanges)
	recent := pick(changed, limit)
	learned := pick(in.LearnedIdentity, limit)
	active := pick(in.ActiveWork, limit)
	state := pick(in.State, limit)
	if n := len(state.notes); n > 0 {
		if entities := entitiesNote(in.KeyEntities, state.notes, limit); entities != nil {
			state.notes, state.total = append(state.notes, entities), state.total+1
		}
	}
	more := pick(added, limit-len(recent.notes))
	recent.notes, recent.total = append(recent.notes, more.notes...), recent.total+more.total
	preferences := pick(in.Preferences, limit)
	recalled := a.recalled(in, &known)
	whole := a.opts.Placement == PlacementSystem
	part := frozenGroup
	if whole {
		part = anyGroup
	}
	around := a.surroundings(in, &known, part)

	var p page
	p.add(section{kind: kindIdentity, text: identityText(in.Identity), notes: learned.notes, total: learned.total})
	p.add(personaSection(in.Persona))
	p.addSheets(around, kindKnowledge, kindWorking, kindChannels, kindParticipants)
	p.add(section{kind: kindState, notes: state.notes, total: state.total})
	p.add(section{kind: kindRecent, notes: recent.notes, total: recent.total})
	p.add(section{kind: kindActive, notes: active.notes, total: active.total})
	p.add(section{kind: kindPreferences, notes: preferences.notes, total: preferences.total})
	p.add(recalled)
	p.add(briefing)
	p.addSheets(around, kindConversation, kindStatus)
	format := section{kind: kindFormat, text: a.scaffold(in)}

	if whole {
		p.add(format)
		p.fit(a.opts.MaxSystemChars)
		system = p.render()
		system.afresh = true
		return system, &piece{}
	}
	turn := a.turnPage(in, &known, section{kind: kindRecalled}, format)
	p.fit(a.opts.MaxSystemChars - turn.chars())
	turn.fit(a.opts.MaxSystemChars - p.chars())
	return p.render(), turn.render()
}

// later renders the prefix of a turn inside an epoch: what was recalled and isn't known to the conversation yet, and
// the turn's scaffold, in at most room characters.
func (a *Assembler) later(in *Input, known *shown, room int) *piece {
	known.addQuery(in.Query)
	p := a.turnPage(in, known, a.recalled(in, known), section{kind: kindFormat, text: a.scaffold(in)})
	p.fit(room)
	return p.render()
}

// turnPage is what goes with one turn: what its surroundings have that changes by the minute, what was recalled for it,
// and its scaffold.
func (a *Assembler) turnPage(in *Input, known *shown, recalled, format section) page {
	now := a.surroundings(in, known, liveGroup)
	var p page
	p.addSheets(now, kindKnowledge, kindWorking, kindChannels, kindParticipants)
	p.add(recalled)
	p.addSheets(now, kindConversation, kindStatus)
	p.add(format)
	return p
}

// recalled keeps the order of the search, which has weighed relevance, importance and recency already.
func (a *Assembler) recalled(in *Input, known *shown) section {
	var found picked
	if in.ScanSafe {
		found = known.pick(&a.lines, in.Recalled, LimitsFor(in.Tier).Frames)
	}
	return section{kind: kindRecalled, notes: found.notes, total: found.total}
}

// replaced splits changes into those that took another memory's place and those that are merely new.
func replaced(changes []Frame) (changed, added []Frame) {
	for _, f := range changes {
		if f.Was != "" {
			changed = append(changed, f)
		}
	}
	if len(changed) == 0 {
		return nil, changes // most of the time
	}
	for _, f := range changes {
		if f.Was == "" {
			added = append(added, f)
		}
	}
	return changed, added
}
