package assemble

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sheet is the content of a section that tells of the surroundings rather than of memories: what happened, who is
// here, what time it is. Its groups stand in the order given, and so do their lines: whoever writes the sheet has ranked
// and bounded them.
type Sheet []Group

// Group is some lines of a [Sheet].
type Group struct {
	// Heading stands above the lines, such as "Today (Wednesday, March 18)"; empty for none.
	Heading string
	// Lines become single escaped lines "- [type] content". Their order is kept and their rank ignored. A line whose
	// ID, or whose words, the conversation was shown already is left out. The ID of a line that is no memory
	// begins with [Aside].
	Lines []Frame
	// Total is how many lines there were before the writer of the sheet left some out; the difference is disclosed.
	// Less than there are lines: nothing was left out.
	Total int
	// Live groups change by the minute. They go with the newest turn, never above it, on each turn that has news in
	// them; the others only with the turn that opens an epoch.
	Live bool
}

// Aside begins the ID of a line that is not a memory, such as an event.
const Aside = "~"

// surroundings renders the groups of an input's sheets that which approves, by section; nil when there is no sheet.
//
// What two of them share stands in one: what happened goes before what is known in general.
func (a *Assembler) surroundings(in *Input, known *shown, which func(*Group) bool) *[kindCount]section {
	sheets := [...]struct {
		kind  kind
		sheet Sheet
	}{
		{kindWorking, in.Working},
		{kindParticipants, in.Participants},
		{kindChannels, in.Channels},
		{kindKnowledge, in.Knowledge},
		{kindConversation, in.Conversation},
		{kindStatus, in.Status},
	}
	var out *[kindCount]section
	for _, s := range sheets {
		if len(s.sheet) == 0 {
			continue
		}
		if out == nil {
			out = new([kindCount]section)
		}
		out[s.kind] = a.sheetSection(s.kind, s.sheet, known, which)
	}
	return out
}

// Which groups a page takes.
func anyGroup(*Group) bool      { return true }
func frozenGroup(g *Group) bool { return !g.Live }
func liveGroup(g *Group) bool   { return g.Live }

// lead is what stands before the notes of one group of a section: its heading.
type lead struct {
	at      int // index of the group's first note
	heading string
	total   int
}

func (a *Assembler) sheetSection(k kind, sheet Sheet, known *shown, which func(*Group) bool) section {
	s := section{kind: k}
	for i := range sheet {
		g := &sheet[i]
		if !which(g) {
			continue
		}
		found := known.pick(&a.lines, g.Lines, len(g.Lines))
		if len(found.notes) == 0 {
			continue
		}
		heading := shorten(escapeLine(g.Heading), maxLabelChars)
		if heading != "" {
			heading = "## " + heading
		}
		total := found.total + max(0, g.Total-len(g.Lines))
		s.leads = append(s.leads, lead{at: len(s.notes), heading: heading, total: total})
		s.notes = append(s.notes, found.notes...)
		s.total += total
	}
	return s
}

// writeGroups writes the notes of a sheet's section under their headings.
func (s *section) writeGroups(b *strings.Builder) {
	for i, l := range s.leads {
		end := len(s.notes)
		if i+1 < len(s.leads) {
			end = s.leads[i+1].at
		}
		if l.at == end {
			continue
		}
		if l.heading != "" {
			if l.at > 0 {
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
			b.WriteString(l.heading)
		}
		for _, n := range s.notes[l.at:end] {
			b.WriteByte('\n')
			b.WriteString(n.line)
		}
		if shown := end - l.at; shown < l.total {
			b.WriteString("\n(" + strconv.Itoa(shown) + " of " + strconv.Itoa(l.total) + " shown)")
		}
	}
}

// measureGroups counts what writeGroups writes.
func (s *section) measureGroups() {
	var b strings.Builder
	b.WriteString(s.heading)
	s.writeGroups(&b)
	s.size, s.chars = b.Len(), utf8.RuneCountInString(b.String())
}

// dropLast takes the last note of a sheet's section away.
func (s *section) dropLast() {
	s.notes = s.notes[:len(s.notes)-1]
	for len(s.leads) > 0 && s.leads[len(s.leads)-1].at == len(s.notes) {
		s.leads = s.leads[:len(s.leads)-1]
	}
}
