package assemble

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is a section's place in the prompt, in order.
type kind uint8

const (
	kindIdentity kind = iota
	kindPersona
	kindKnowledge
	kindWorking
	kindChannels
	kindParticipants
	kindState
	kindRecent
	kindActive
	kindPreferences
	kindRecalled
	kindBriefing
	kindConversation
	kindStatus
	kindFormat
	kindCount
)

// kinds are what is fixed about each section: its name, its heading, its layer, and whose its text is. Read only.
var kinds = [kindCount]struct{ name, heading, layer, source string }{
	kindIdentity:     {"Identity", "# Identity", "identity", "files"},
	kindPersona:      {"Persona", "## Persona", "identity", "persona"},
	kindKnowledge:    {"Knowledge Context", "# Knowledge Context", "knowledge", ""},
	kindWorking:      {"Working Memory", "# Working Memory", "working", "events"},
	kindChannels:     {"Other Channels", "# Other Channels", "working", "channels"},
	kindParticipants: {"Participants", "# Participants", "working", "participants"},
	kindState:        {"State", "# State", "knowledge", ""},
	kindRecent:       {"Recent changes", "# Recent changes", "working", ""},
	kindActive:       {"Active work", "# Active work", "working", ""},
	kindPreferences:  {"Personal preferences", "# Personal preferences", "knowledge", ""},
	kindRecalled:     {"Recalled memory", "# Recalled memory", "knowledge", ""},
	kindBriefing:     {"Worker Briefing", "# Worker Briefing", "working", "briefing"},
	kindConversation: {"Conversation Context", "# Conversation Context", "runtime", "request"},
	kindStatus:       {"Current Status", "# Current Status", "runtime", "status"},
	kindFormat:       {"Response format", "# Response format", "contract", "scaffold"},
}

// cutOrder is what a budget takes from, in turn. Identity and Persona are not in it.
var cutOrder = [...]kind{kindChannels, kindKnowledge, kindWorking, kindParticipants, kindBriefing, kindRecent, kindActive, kindState, kindRecalled, kindPreferences, kindConversation, kindStatus, kindFormat}

// section is one headed part of a page: a text, notes, or both.
type section struct {
	kind    kind
	heading string // with the persona's name, where that is known
	text    string // trusted, verbatim
	notes   []*note
	leads   []lead // of the notes of a sheet
	total   int    // distinct notes there were
	cut     bool

	chars, size int // characters and bytes when rendered; 0 when there is nothing under the heading
}

// identityText joins the files, blank ones skipped.
func identityText(files []IdentityFile) string {
	var texts []string
	for _, f := range files {
		if text := strings.TrimSpace(f.Text); text != "" {
			texts = append(texts, trusted(text))
		}
	}
	return strings.Join(texts, "\n\n")
}

func personaSection(p *Persona) section {
	s := section{kind: kindPersona, heading: kinds[kindPersona].heading}
	if p == nil {
		return s
	}
	if name := shorten(escapeLine(p.Name), maxLabelChars); name != "" {
		s.heading += ": " + name
	}
	s.text = trusted(strings.TrimSpace(p.Text))
	return s
}

// entitiesNote names what the state is about beyond what the notes shown of it say; nil when that is nothing.
func entitiesNote(entities []Entity, state []*note, limit int) *note {
	var names []string
	for _, e := range entities {
		name := shorten(escapeLine(e.Name), maxLabelChars)
		if name == "" || len(names) == limit || slices.ContainsFunc(state, func(n *note) bool { return strings.Contains(n.line, name) }) {
			continue
		}
		if e.Type != "" {
			name += " (" + escapeLabel(e.Type) + ")"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	return newNote(&Frame{Type: "entities", Content: strings.Join(names, ", ")})
}

// trusted guards the container against an operator's file that quotes its delimiters.
func trusted(text string) string {
	if !strings.Contains(text, tagName+">") {
		return text
	}
	return strings.NewReplacer(openTag, "‹understudy-context›", closeTag, "‹/understudy-context›").Replace(text)
}

// measure brings chars and size up to date.
func (s *section) measure() {
	if s.text == "" && len(s.notes) == 0 && !s.named() {
		s.chars, s.size = 0, 0
		return
	}
	if len(s.leads) > 0 {
		s.measureGroups()
		return
	}
	s.size = len(s.heading)
	s.chars = utf8.RuneCountInString(s.heading)
	if s.text != "" {
		s.size += 1 + len(s.text)
		s.chars += 1 + utf8.RuneCountInString(s.text)
		if len(s.notes) > 0 {
			s.size++
			s.chars++
		}
	}
	for _, n := range s.notes {
		s.size += 1 + len(n.line)
		s.chars += 1 + n.chars
	}
	if s.cut {
		disclosed := len(s.appendDisclosure(nil))
		s.size += disclosed
		s.chars += disclosed
	}
}

// write renders the section.
func (s *section) write(b *strings.Builder) {
	b.WriteString(s.heading)
	if len(s.leads) > 0 {
		s.writeGroups(b)
		return
	}
	if s.text != "" {
		b.WriteByte('\n')
		b.WriteString(s.text)
		if len(s.notes) > 0 {
			b.WriteByte('\n')
		}
	}
	for _, n := range s.notes {
		b.WriteByte('\n')
		b.WriteString(n.line)
	}
	if s.cut {
		b.Write(s.appendDisclosure(nil))
	}
}

// appendDisclosure says how much of the section is shown.
func (s *section) appendDisclosure(b []byte) []byte {
	b = strconv.AppendInt(append(b, "\n("...), int64(len(s.notes)), 10)
	b = strconv.AppendInt(append(b, " of "...), int64(s.total), 10)
	return append(b, " shown)"...)
}

// named reports whether the heading says something by itself, as "## Persona: Ada" does.
func (s *section) named() bool {
	return s.kind == kindPersona && s.heading != kinds[kindPersona].heading
}

// drop takes one thing away: the oldest note where the section tells of time, else the last, which ranks lowest; the
// text when there are no notes.
func (s *section) drop() {
	s.cut = true
	if len(s.notes) == 0 {
		s.text = ""
		s.measure()
		return
	}
	if len(s.leads) > 0 {
		s.dropLast()
		s.measure()
		return
	}
	victim := len(s.notes) - 1
	if s.kind == kindState || s.kind == kindRecent || s.kind == kindActive {
		for i := victim - 1; i >= 0; i-- {
			if s.notes[i].frame.CreatedAt.Before(s.notes[victim].frame.CreatedAt) {
				victim = i
			}
		}
	}
	s.notes = append(s.notes[:victim:victim], s.notes[victim+1:]...)
	s.measure()
}

// origin is where a section's content came from: any of the bits below.
type origin uint8

const (
	fromText origin = 1 << iota
	fromWorkspace
	fromPersonal
	fromSheet
)

func (s *section) origin() origin {
	var o origin
	if s.text != "" || s.named() {
		o = fromText
	}
	for _, n := range s.notes {
		if strings.HasPrefix(n.frame.ID, Aside) || kinds[s.kind].layer == "runtime" {
			o |= fromSheet
		} else if n.frame.Personal {
			o |= fromPersonal
		} else {
			o |= fromWorkspace
		}
	}
	return o
}
