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

// Assembler renders prompts. It holds no state beyond its options and is safe for concurrent use.
type Assembler struct {
	opts Options
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
	system, prefix := a.first(in)
	return assembled(in, system, prefix)
}

// first renders the system block and the prefix of the turn that opens an epoch.
func (a *Assembler) first(in Input) (system, prefix piece) {
	limit := LimitsFor(in.Tier).Frames
	var known seen
	known.addText(in.Query)
	var p page
	p.add(identitySection(in.Identity, known.pick(in.LearnedIdentity, limit, ranked)))
	p.add(personaSection(in.Persona))
	p.add(stateSection(known.pick(in.State, limit, ranked), in.KeyEntities, limit))
	p.add(noteSection(nameRecent, layerWorking, known.pick(in.RecentChanges, limit, ranked)))
	p.add(noteSection(nameActive, layerWorking, known.pick(in.ActiveWork, limit, ranked)))
	p.add(noteSection(namePreferences, layerKnowledge, known.pick(in.Preferences, limit, ranked)))
	p.add(recalledSection(in, &known))
	format := a.formatSection(in)

	if a.opts.Placement == PlacementSystem {
		p.add(format)
		p.fit(a.opts.MaxSystemChars)
		return p.render(PartSystem, volatile), piece{}
	}
	var turn page
	turn.add(format)
	p.fit(a.opts.MaxSystemChars - turn.chars())
	turn.fit(a.opts.MaxSystemChars - p.chars())
	return p.render(PartSystem, frozen), turn.render(PartUserPrefix, frozen)
}

// later renders the prefix of a turn inside an epoch: what was recalled and isn't known to the conversation yet, and
// the turn's scaffold, in at most room characters.
func (a *Assembler) later(in Input, known *seen, room int) piece {
	known.addText(in.Query)
	var p page
	p.add(recalledSection(in, known))
	p.add(a.formatSection(in))
	p.fit(room)
	return p.render(PartUserPrefix, frozen)
}
