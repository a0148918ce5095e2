package scoring

import (
	"strings"
	"sync"
)

// block is a kind of wrapper that a program, not the human, put into a user message.
type block int

// Kinds of block beyond the plain ones, which are numbered by their place in wrappers.
const (
	ourContext  block = -1 - iota // stands on lines of its own
	agentsFile                    // a heading opens it
	transparent                   // the human's words are inside: the tags alone go
)

const agentsHeading = "# AGENTS.md instructions for "

// wrappers name the blocks that coding agents and IDEs are known to add. Only names that nobody would use for
// their own markup are here: <context> or <task> are as likely the human's.
var wrappers = []string{
	"system-reminder", "system_reminder", "environment_context", "environment_details",
	"user_instructions", "user_info", "additional_data", "open_and_recently_viewed_files", "project_layout",
	"recommended_plugins", "permissions instructions", "collaboration_mode", "turn_aborted", "user_shell_command",
	"command-name", "command-message", "local-command-stdout", "local-command-stderr", "local-command-caveat",
	"bash-input", "bash-stdout", "bash-stderr", "task-notification", "user-prompt-submit-hook",
	"ide_selection", "ide_opened_file", "ide_closed_file", "ide_diagnostics",
}

// blocks maps tag names to kinds of block.
var blocks = sync.OnceValue(func() map[string]block {
	m := map[string]block{
		"understudy-context": ourContext, "INSTRUCTIONS": agentsFile,
		"command-args": transparent, "user_query": transparent,
	}
	for i, name := range wrappers {
		m[name] = block(i)
	}
	return m
})

// HumanText returns what the human wrote in a user message: text without the blocks that harnesses wrap around
// it (<system-reminder>, <environment_context>, <command-name>, <ide_selection> and their like), without our own
// <understudy-context> block, without bracketed time stamps in front ("[2026-03-18 15:12] "), trimmed. A tag
// without its partner stays, for the human may be talking about it. The result may be empty.
func HumanText(text string) string {
	if strings.IndexByte(text, '<') >= 0 {
		text = without(text, wrapped(text))
	}
	text = strings.TrimSpace(text)
	for {
		rest, ok := cutTimestamp(text)
		if !ok {
			return text
		}
		text = strings.TrimSpace(rest)
	}
}

// span is text[from:to].
type span struct{ from, to int }

// wrapped returns what is to go from text, in order and without overlap. A closing tag belongs to the nearest
// open one of its kind. Time is linear in the length of text.
func wrapped(text string) []span {
	var spans []span
	open := map[block][]int{} // where blocks of each kind begin that have not ended
	for pos := 0; pos < len(text); pos++ {
		i := strings.IndexAny(text[pos:], "<#")
		if i < 0 {
			break
		}
		pos += i
		kind, end, closing, ok := tagAt(text, pos)
		starts := open[kind]
		switch {
		case !ok || closing && kind != transparent && len(starts) == 0:
		case kind == transparent:
			spans = append(spans, span{pos, end})
		case closing:
			open[kind] = starts[:len(starts)-1]
			spans = join(spans, span{starts[len(starts)-1], end})
		default:
			open[kind] = append(starts, pos)
		}
	}
	return spans
}

// join appends s, which ends last, and swallows the spans that it reaches back over.
func join(spans []span, s span) []span {
	n := len(spans)
	for ; n > 0 && spans[n-1].to > s.from; n-- {
		s.from = min(s.from, spans[n-1].from)
	}
	return append(spans[:n], s)
}

// without returns text without spans, a line break in the place of each.
func without(text string, spans []span) string {
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	done := 0
	for _, s := range spans {
		out.WriteString(text[done:s.from])
		out.WriteByte('\n')
		done = s.to
	}
	out.WriteString(text[done:])
	return out.String()
}

// tagAt reads the tag of a known block that begins at text[pos] and ends before text[end].
func tagAt(text string, pos int) (kind block, end int, closing, ok bool) {
	const longest = 40
	if text[pos] == '#' {
		ok = (pos == 0 || text[pos-1] == '\n') && strings.HasPrefix(text[pos:], agentsHeading)
		return agentsFile, pos + len(agentsHeading), false, ok
	}
	n := strings.IndexByte(text[pos:min(len(text), pos+longest)], '>')
	if n < 0 {
		return 0, 0, false, false
	}
	end = pos + n + 1
	name, closing := strings.CutPrefix(text[pos+1:end-1], "/")
	kind, ok = blocks()[name]
	switch kind {
	case ourContext:
		ok = ok && ownLine(text, pos, end)
	case agentsFile:
		ok = ok && closing // its opening tag stands below the heading
	}
	return kind, end, closing, ok
}

// ownLine reports whether text[from:to] is a whole line.
func ownLine(text string, from, to int) bool {
	before := from == 0 || text[from-1] == '\n'
	after := to == len(text) || text[to] == '\n' || text[to] == '\r'
	return before && after
}

// cutTimestamp removes one leading "[…]" that holds a time (15:12) or a date (2026-03-18).
func cutTimestamp(text string) (string, bool) {
	const longest = 64 // of a stamp, with the weekday, zone or channel that some put beside it
	if text == "" || text[0] != '[' {
		return text, false
	}
	end := strings.IndexByte(text[:min(len(text), longest)], ']')
	if end < 0 || !holdsTime(text[1:end]) {
		return text, false
	}
	return text[end+1:], true
}

// holdsTime reports whether s holds digits as in 15:12 or 2026-03-18.
func holdsTime(s string) bool {
	digit := func(i int) bool { return 0 <= i && i < len(s) && '0' <= s[i] && s[i] <= '9' }
	for i := range len(s) {
		switch s[i] {
		case ':':
			if digit(i-1) && digit(i+1) && digit(i+2) && !digit(i+3) {
				return true
			}
		case '-':
			if digit(i-4) && digit(i-3) && digit(i-2) && digit(i-1) && digit(i+1) && digit(i+2) {
				return true
			}
		}
	}
	return false
}
