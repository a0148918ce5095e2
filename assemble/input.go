package assemble

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"time"
)

// Input is all that one prompt is made of. Every field may be empty; an empty section is left out.
type Input struct {
	// Identity holds the agent's files (SOUL.md, IDENTITY.md, ROLE.md, SPEECH.md) in order. They go in verbatim.
	Identity []IdentityFile
	// Edition tells one state of Identity and Persona from another. An epoch ends when it changes, since the operator's
	// word takes effect at once.
	Edition uint64
	// LearnedIdentity holds what conversations taught about who the agent or user is; it follows the files.
	LearnedIdentity []Frame
	// Persona is the role to play, nil for none.
	Persona *Persona

	// State holds current facts and decisions, and goals that ActiveWork has no room for.
	State []Frame
	// KeyEntities are named at the end of State, as far as its notes don't. Names alone say little, so without State
	// they are left out.
	KeyEntities []Entity
	// RecentChanges holds what was added lately, and what took another memory's place ([Frame].Was), which goes first.
	RecentChanges []Frame
	// ActiveWork holds open goals and todos.
	ActiveWork []Frame
	// Preferences holds the user's preferences and standing instructions.
	Preferences []Frame
	// Recalled holds what a search for Query found, best first. That order is kept.
	Recalled []Frame
	// ScanSafe says that the safety scan passed Recalled; when false, Recalled is ignored.
	ScanSafe bool

	// What surrounds the conversation, as far as it is known. A turn inside an epoch shows the live groups only.
	//
	// Knowledge holds what is known beyond State, by type. Working holds what happened today, yesterday and this week;
	// Channels what goes on in other channels, Participants who is here, Briefing what a worker should know about its
	// task; it goes with the block, whole. Conversation says where this is, Status how things stand.
	Knowledge, Working, Channels, Participants, Briefing, Conversation, Status Sheet

	// Query is the human's newest text. It is never rendered; a note that only repeats it is left out.
	Query string
	// Tier is the size class of the model that will read the prompt.
	Tier ModelTier
	// Shape names the task shape: research, compare, draft, review, decide, plan-execute or mixed.
	Shape string
	// ShapeConfidence is the classifier's confidence in Shape, in [0,1].
	ShapeConfidence float64
	// FormatFixed says that the caller fixed the answer's form (a response_format or a required tool), which a
	// scaffold would contradict.
	FormatFixed bool
	// HeldOut puts this conversation in the arm that gets no scaffold; see [HeldOut].
	HeldOut bool
}

// IdentityFile is one of the operator's identity files. A blank one is skipped.
type IdentityFile struct {
	Name, Text string
}

// EditionOf returns an edition for texts of the operator's: another one for other texts, the same in every process.
func EditionOf(files []IdentityFile, p *Persona) uint64 {
	h := fnv.New64a()
	write := func(text string) {
		_ = binary.Write(h, binary.LittleEndian, int64(len(text))) // a hash takes everything
		_, _ = io.WriteString(h, text)
	}
	for _, f := range files {
		write(f.Name)
		write(f.Text)
	}
	if p != nil {
		write(p.Name)
		write(p.Text)
	}
	return h.Sum64()
}

// Persona is a role to play. The text is the operator's and goes in verbatim; the name may come from anyone and is
// escaped.
type Persona struct {
	Name, Text string
}

// Frame is one remembered item.
type Frame struct {
	// ID identifies the memory. Frames with the same ID, or the same words, are shown once in a prompt.
	ID string
	// Type is the memory's kind (fact, decision, goal, …), shown before its content; of a line in a [Sheet], what or
	// when it is.
	Type string
	// Content is what was remembered, in any form; it is rendered as one escaped line.
	Content string
	// Was is the content whose place this one took; it is shown as "was → content". Empty for none.
	Was string
	// Importance ranks frames within a section, highest first.
	Importance float64
	// CreatedAt dates the line, to the day in UTC, and breaks ties of importance, newest first. Zero shows no date.
	CreatedAt time.Time
	// Pinned puts the frame before all that aren't.
	Pinned bool
	// Personal says that the frame belongs to one user rather than to the workspace; it shows in Block.Source.
	Personal bool
}

// Entity is something that the notes are about: a person, a project, a system.
type Entity struct {
	Name string
	Type string // empty where it isn't known
}
