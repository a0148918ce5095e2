package assemble

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The rules of this file. Text that anyone but the operator wrote becomes one line in which
//
//   - every kind of line break and white space is one space, and what can't be seen (control characters, zero-width,
//     bidirectional and tag characters, invalid bytes) is gone;
//   - < and > are ‹ and ›, so that no tag, chat-template token or container line is left;
//   - a heading mark or a role name ("system:") that began a line, no longer does;
//   - no more than maxNoteChars characters are left.
//
// The words stay readable: the reader is meant to use them, only not to obey them.

const (
	// maxNoteChars bounds one note. Learned items are a sentence or a few; the bound is for imported ones.
	maxNoteChars = 2000
	// maxLabelChars bounds a frame's type and a persona's name.
	maxLabelChars = 80
)

// escapeLine makes one harmless line of any text; see the rules above. What is only invisible becomes "".
func escapeLine(text string) string {
	// The reader sees at most maxNoteChars; four times that many bytes hold them, and as many again leave room for
	// what is dropped.
	if limit := 8 * maxNoteChars; len(text) > limit {
		text = text[:limit]
	}
	if isPlain(text) {
		return shorten(disarm(text), maxNoteChars)
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.FieldsFuncSeq(text, isLineBreak) {
		if line = disarm(visible(line)); line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	// Joining can complete a role name: "system" and ":" on two lines.
	return shorten(disarm(b.String()), maxNoteChars)
}

// escapeLabel reduces a frame's type to letters, digits, spaces and the marks that names of channels and times need, at
// most maxLabelChars of them; "note" when none are left.
func escapeLabel(kind string) string {
	label := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" -_:,./", r) {
			return r
		}
		return -1
	}, kind)
	if label = shorten(strings.TrimSpace(label), maxLabelChars); label == "" {
		return "note"
	}
	return label
}

// shorten cuts a text to limit characters, the last of them an ellipsis.
func shorten(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := 0
	for i := range text {
		if runes++; runes == limit {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

func isLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// visible drops what can't be seen, makes single spaces of white space and ‹ › of angle brackets.
func visible(line string) string {
	var b strings.Builder
	b.Grow(len(line))
	space := false
	for _, r := range line {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == utf8.RuneError, isInvisible(r):
			continue
		case r == '<', r == '＜', r == '﹤':
			r = '‹'
		case r == '>', r == '＞', r == '﹥':
			r = '›'
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isPlain reports whether visible and the joining of lines would leave a text as it is. Most notes are plain, and
// need no copy.
func isPlain(text string) bool {
	before := ' '
	for _, r := range text {
		switch {
		case r == ' ' && before == ' ', r == '<', r == '>', r < ' ', r == 0x7F, r >= 0x80 && !isCommonScript(r):
			return false
		}
		before = r
	}
	return before != ' '
}

// isCommonScript covers accented Latin, Greek, Cyrillic, Hebrew, kana and the common Han characters, in whose ranges
// everything can be seen. It only saves the search in the tables.
func isCommonScript(r rune) bool {
	return r >= 0xC0 && r < 0x300 || r >= 0x370 && r < 0x600 || r >= 0x3040 && r < 0x3100 || r >= 0x4E00 && r < 0xA000
}

// isInvisible covers control and format characters, fillers and the variation selectors that can carry hidden text.
// The two that choose between a text and an emoji face are kept.
func isInvisible(r rune) bool {
	if r < 0x80 {
		return unicode.IsControl(r)
	}
	return !isCommonScript(r) && isInvisibleByTable(r)
}

func isInvisibleByTable(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Variation_Selector, r) && r != 0xFE0E && r != 0xFE0F
}

// disarm takes away a line's power to open a heading or to speak for a role.
func disarm(line string) string {
	if before, after, ok := cutRole(line); ok {
		line = before + " - " + after
	}
	if strings.HasPrefix(line, "#") {
		line = `\` + line
	}
	if strings.IndexByte(line, '[') >= 0 {
		line = bracketMarks.Replace(line)
	}
	return line
}

// bracketMarks are the turn marks of Llama 2 and Mistral, which servers that fill in a chat template may read as such
// wherever they stand.
var bracketMarks = strings.NewReplacer(
	"[INST]", "(INST)", "[/INST]", "(/INST)",
	"[SYSTEM_PROMPT]", "(SYSTEM_PROMPT)", "[/SYSTEM_PROMPT]", "(/SYSTEM_PROMPT)",
	"[AVAILABLE_TOOLS]", "(AVAILABLE_TOOLS)", "[/AVAILABLE_TOOLS]", "(/AVAILABLE_TOOLS)",
	"[TOOL_RESULTS]", "(TOOL_RESULTS)", "[/TOOL_RESULTS]", "(/TOOL_RESULTS)",
	"[TOOL_CONTENT]", "(TOOL_CONTENT)", "[TOOL_CALLS]", "(TOOL_CALLS)", "[CALL_ID]", "(CALL_ID)", "[ARGS]", "(ARGS)",
)

// decoration is what may stand around a role name that begins a line, or around its colon.
const decoration = "#*_~`'\"()[]{}|=-‹›/\\ "

// cutRole splits a line at the colon of a role name that begins it, decorated or not: "system:", "### Assistant :",
// "**User**:". Neither part has the colon or what surrounds it.
func cutRole(line string) (before, after string, ok bool) {
	start := strings.TrimLeft(line, decoration)
	word := len(start)
	if i := strings.IndexFunc(start, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		word = i
	}
	switch strings.ToLower(start[:word]) {
	case "system", "developer", "assistant", "user", "human", "tool", "function", "ai", "model":
	default:
		return "", "", false
	}
	rest := strings.TrimLeft(start[word:], decoration)
	if !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "：") {
		return "", "", false
	}
	before = strings.TrimRight(line[:len(line)-len(rest)], " ")
	return before, strings.TrimLeft(rest, decoration+":："), true
}
