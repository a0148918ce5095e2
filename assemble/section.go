package assemble

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Section names, which are also their headings' texts, in the order of the prompt.
const (
	nameIdentity    = "Identity"
	namePersona     = "Persona"
	nameState       = "State"
	nameRecent      = "Recent changes"
	nameActive      = "Active work"
	namePreferences = "Personal preferences"
	nameRecalled    = "Recalled memory"
	nameFormat      = "Response format"
)

const (
	layerIdentity  = "identity"
	layerContract  = "contract"
	layerKnowledge = "knowledge"
	layerWorking   = "working"
)

// section is one headed part of a page: a text, notes, or both.
type section struct {
	name, heading, layer string
	text                 string // trusted, verbatim
	source               string // of text
	notes                []note
	total                int // distinct notes there were
	cut                  bool
	scaffold             bool

	rendered string // "" when there is nothing under the heading
	chars    int
}

// identitySection holds the files, blank ones skipped, and then what was learned.
func identitySection(files []IdentityFile, learned picked) section {
	var texts []string
	for _, f := range files {
		if text := strings.TrimSpace(f.Text); text != "" {
			texts = append(texts, trusted(text))
		}
	}
	s := noteSection(nameIdentity, layerIdentity, learned)
	s.text, s.source = strings.Join(texts, "\n\n"), "files"
	return s
}

func personaSection(p *Persona) section {
	s := section{name: namePersona, heading: "## Persona", layer: layerIdentity, source: "persona"}
	if p == nil {
		return s
	}
	if name := shorten(escapeLine(p.Name), maxLabelChars); name != "" {
		s.heading += ": " + name
	}
	s.text = trusted(strings.TrimSpace(p.Text))
	return s
}

// stateSection holds the current state and, as its last note, the entities that it is about.
func stateSection(state picked, entities []Entity, limit int) section {
	s := noteSection(nameState, layerKnowledge, state)
	if len(state.notes) == 0 || len(entities) == 0 {
		return s
	}
	var names []string
	for _, e := range entities[:min(len(entities), limit)] {
		if name := shorten(escapeLine(e.Name), maxLabelChars); name != "" {
			names = append(names, name+" ("+escapeLabel(e.Type)+")")
		}
	}
	if n, ok := newNote(Frame{Type: "entities", Content: strings.Join(names, ", ")}); ok {
		s.notes = append(s.notes, n)
		s.total++
	}
	return s
}

func noteSection(name, layer string, p picked) section {
	return section{name: name, heading: "# " + name, layer: layer, notes: p.notes, total: p.total}
}

// recalledSection keeps the order of the search, which has weighed relevance, importance and recency already.
func recalledSection(in Input, known *seen) section {
	var found picked
	if in.ScanSafe {
		found = known.pick(in.Recalled, LimitsFor(in.Tier).Frames, asGiven)
	}
	return noteSection(nameRecalled, layerKnowledge, found)
}

func (a *Assembler) formatSection(in Input) section {
	return section{
		name: nameFormat, heading: "# " + nameFormat, layer: layerContract,
		text: a.scaffold(in), source: "scaffold", scaffold: true,
	}
}

// trusted guards the container against an operator's file that quotes its delimiters.
func trusted(text string) string {
	return strings.NewReplacer(openTag, "‹understudy-context›", closeTag, "‹/understudy-context›").Replace(text)
}

// render brings rendered and chars up to date.
func (s *section) render() {
	if s.text == "" && len(s.notes) == 0 && !s.named() {
		s.rendered, s.chars = "", 0
		return
	}
	var b strings.Builder
	b.WriteString(s.heading)
	if s.text != "" {
		b.WriteString("\n" + s.text)
		if len(s.notes) > 0 {
			b.WriteByte('\n')
		}
	}
	for _, n := range s.notes {
		b.WriteString("\n" + n.line)
	}
	if s.cut {
		fmt.Fprintf(&b, "\n(%d of %d shown)", len(s.notes), s.total)
	}
	s.rendered = b.String()
	s.chars = utf8.RuneCountInString(s.rendered)
}

// named reports whether the heading says something by itself, as "## Persona: Ada" does.
func (s *section) named() bool {
	return s.name == namePersona && s.heading != "## Persona"
}

// drop takes one thing away: the oldest note where the section tells of time, else the last, which ranks lowest; the
// text when there are no notes.
func (s *section) drop() {
	s.cut = true
	if len(s.notes) == 0 {
		s.text = ""
		s.render()
		return
	}
	victim := len(s.notes) - 1
	if s.name == nameState || s.name == nameRecent || s.name == nameActive {
		for i := victim - 1; i >= 0; i-- {
			if s.notes[i].at.Before(s.notes[victim].at) {
				victim = i
			}
		}
	}
	s.notes = append(s.notes[:victim:victim], s.notes[victim+1:]...)
	s.render()
}

// origin says where the section's content came from.
func (s *section) origin() string {
	var workspace, personal bool
	for _, n := range s.notes {
		workspace = workspace || !n.personal
		personal = personal || n.personal
	}
	var parts []string
	if s.text != "" || s.named() {
		parts = append(parts, s.source)
	}
	if workspace {
		parts = append(parts, "workspace memory")
	}
	if personal {
		parts = append(parts, "personal memory")
	}
	return strings.Join(parts, ", ")
}
