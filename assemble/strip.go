package assemble

import "strings"

// Strip removes every block that this package added to a text, with the [Separator] beside it, so that
// Strip(client+Separator+block) is client and Strip(block+Separator+human) is human. A text without one is returned as
// it is.
//
// A block runs between lines that hold nothing but its tags, quoted ("> ") or indented as they may be; a tag inside a
// sentence is the human's own. Of nested blocks the outermost goes whole. A block that is never closed ends at the
// last closing line there is, else at the end of the text, and a closing line without a block goes alone: it is
// better to lose some words than to take our own for the human's.
func Strip(text string) string {
	if !strings.Contains(text, "understudy-context>") {
		return text
	}
	lines := strings.Split(text, "\n")
	kept := make([]string, 0, len(lines))
	for i := 0; i < len(lines); i++ {
		end := blockEnd(lines, i)
		if end == i {
			kept = append(kept, lines[i])
			continue
		}
		// One separator was added with the block: the blank line after it, or before it at the text's end.
		if end < len(lines) {
			if blank(lines[end]) {
				end++
			}
		} else if n := len(kept); n > 0 && blank(kept[n-1]) {
			kept = kept[:n-1]
		}
		i = end - 1
	}
	return strings.Join(kept, "\n")
}

// blockEnd returns the index after the block that begins at line i, and i when none does.
func blockEnd(lines []string, i int) int {
	switch tagOf(lines[i]) {
	case closeTag:
		return i + 1
	case openTag:
	default:
		return i
	}
	depth, lastClose := 0, len(lines)
	for j := i; j < len(lines); j++ {
		switch tagOf(lines[j]) {
		case openTag:
			depth++
		case closeTag:
			depth--
			lastClose = j + 1
			if depth == 0 {
				return j + 1
			}
		}
	}
	return lastClose
}

// tagOf returns the line without the marks of quotation and indentation.
func tagOf(line string) string {
	return strings.TrimRight(strings.TrimLeft(line, "> \t"), " \t\r")
}

func blank(line string) bool { return tagOf(line) == "" }
