package review

import "strings"

// document is a prompt by its headings.
type document struct {
	lines    []line
	sections []section // the first is what stands before any heading
	closed   bool      // the container of what was added has its end
	opened   int       // how many containers begin
}

// line is a line with words, where it stands and what it is.
type line struct {
	text    string
	number  int // from 1
	section int
	heading bool
	added   bool // in the container of what was added to the client's prompt
	note    bool // "- [type, date] text": data that somebody said
}

// section is a heading with what is under it.
type section struct {
	name, layer string
	level       int  // number of #
	line        int  // index of the heading in lines, -1 for what is before any
	added       bool // by the proxy
}

const (
	openTag  = "<understudy-context>"
	closeTag = "</understudy-context>"
)

// framed names the part of a container before its first heading.
const framed = "added"

// layers are those of the headings that are known, by their names in lower
// case. A heading that isn't is of the layer above it. Read only.
var layers = map[string]string{
	"soul": "identity", "identity": "identity", "role": "identity", "speech": "identity", "persona": "identity", "personality": "identity",
	"state": "knowledge", "knowledge context": "knowledge", "knowledge": "knowledge", "memory context": "knowledge", "personal preferences": "knowledge",
	"recalled memory": "knowledge", "relevant knowledge": "knowledge", "organization": "knowledge", "projects": "knowledge",
	"recent changes": "working", "active work": "working", "working memory": "working", "other channels": "working", "participants": "working",
	"worker briefing": "working", "related activity": "working", "today": "working", "yesterday": "working",
	"conversation context": "runtime", "current status": "runtime", "system": "runtime", "status": "runtime", "active workers": "runtime",
	"recently completed": "runtime",
	"response format":    "contract", "rules": "contract", "delegation": "contract", "memory system": "contract", "cron": "contract", "task board": "contract",
}

// read finds the sections of a prompt.
func read(text string) document {
	d := document{sections: []section{{layer: "contract", line: -1}}, closed: true}
	inCode, added := false, false
	for i, raw := range strings.Split(text, "\n") {
		words := strings.TrimSpace(raw)
		switch {
		case words == openTag:
			d.opened++
			added, d.closed = true, false
			d.sections = append(d.sections, section{name: framed, layer: "knowledge", line: -1, added: true})
			continue
		case words == closeTag:
			added, d.closed = false, true
			d.sections = append(d.sections, section{layer: "contract", line: -1})
			continue
		case words == "":
			continue
		case strings.HasPrefix(words, "```"):
			inCode = !inCode
		}
		l := line{text: words, number: i + 1, added: added, note: strings.HasPrefix(words, "- [")}
		if level := headingLevel(words); level > 0 && !inCode {
			l.heading = true
			d.open(words[level:], level, added)
		}
		l.section = len(d.sections) - 1
		d.lines = append(d.lines, l)
	}
	return d
}

func headingLevel(words string) int {
	level := len(words) - len(strings.TrimLeft(words, "#"))
	if level > 6 || level == len(words) || words[level] != ' ' {
		return 0
	}
	return level
}

// open begins the section of a heading.
func (d *document) open(title string, level int, added bool) {
	name, _, _ := strings.Cut(strings.TrimSpace(title), ":")
	key, _, _ := strings.Cut(strings.ToLower(name), " (")
	layer, known := layers[key]
	if !known {
		layer = "contract"
		for i := len(d.sections) - 1; i > 0; i-- { // what it is below
			if s := d.sections[i]; s.added == added && s.level > 0 && s.level < level {
				layer = s.layer
				break
			}
		}
		if added && layer == "contract" {
			layer = "identity" // an operator's own heading in an identity file
		}
	}
	d.sections = append(d.sections, section{name: strings.TrimSpace(title), layer: layer, level: level, line: len(d.lines), added: added})
}

// fix says where a section's text comes from.
func (s section) fix() string {
	switch {
	case !s.added:
		return "the client's own system prompt"
	case strings.HasPrefix(s.name, "Persona"):
		return "agents.NAME.persona in the configuration"
	case s.layer == "identity":
		return "the files in agents.NAME.identity_dir (voice: SOUL.md, facts: IDENTITY.md, rules: ROLE.md); what was learned: understudy memory forget -id ID"
	case strings.HasPrefix(s.name, "Response format"):
		return "assemble.confidence_threshold or assemble.hold_out"
	}
	return "understudy memory search, then understudy memory forget -id ID, or DELETE /api/memories/ID"
}
