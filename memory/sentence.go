package memory

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxSentences bounds what one message is searched for; more is a document.
	maxSentences = 200

	// maxContent bounds a memory's content, in characters.
	maxContent = 500
)

// The lines between which understudy's own additions to a prompt stand.
const (
	injectedOpen  = "<understudy-context>"
	injectedClose = "</understudy-context>"
)

// stripInjected removes the blocks that we put into a prompt ourselves, also
// when they come back quoted or nested. One that isn't closed reaches to the
// end: learning less is better than learning our own words.
func stripInjected(text string) string {
	if !strings.Contains(text, injectedOpen) {
		return text
	}

	var b strings.Builder
	depth := 0
	for line := range strings.Lines(text) {
		switch strings.TrimLeft(strings.TrimSpace(line), "> ") {
		case strings.TrimLeft(injectedOpen, "> "):
			depth++
		case injectedClose:
			depth = max(depth-1, 0)
		default:
			if depth == 0 {
				b.WriteString(line)
			}
		}
	}

	return b.String()
}

// sentences splits what a person typed into trimmed sentences, their final
// punctuation kept. Code blocks and quoted lines are not the person's words.
func sentences(text string) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, ">") {
			continue
		}
		out = append(out, splitLine(bullet.ReplaceAllString(line, ""))...)
		if len(out) >= maxSentences {
			return out[:maxSentences]
		}
	}

	return out
}

// bullet is the mark of a list item or heading at the start of a line.
var bullet = regexp.MustCompile(`^(?:[-*•]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)`)

// splitLine splits a line after sentence ends that a space follows.
func splitLine(line string) []string {
	var out []string
	start := 0
	for i, r := range line {
		end := i + utf8.RuneLen(r)
		if r == utf8.RuneError || !endsSentence(line, i, r) {
			continue
		}
		out = appendTrimmed(out, line[start:end])
		start = end
	}

	return appendTrimmed(out, line[start:])
}

func endsSentence(line string, i int, r rune) bool {
	rest := line[i+utf8.RuneLen(r):]
	switch r {
	case '。', '！', '？':
		return true
	case '!', '?', '…', ';':
		return rest == "" || rest[0] == ' '
	case '.':
		return (rest == "" || rest[0] == ' ') && !abbreviated(line[:i])
	default:
		return false
	}
}

// abbreviations end with a period inside a sentence.
var abbreviations = wordSet("dr mr mrs ms prof st vs etc e.g i.e approx no cca npr tj g.", strings.ToLower)

// abbreviated reports whether the word at the end of text, before a period, is
// an abbreviation or an initial.
func abbreviated(text string) bool {
	word := text[strings.LastIndexAny(text, " (")+1:]
	if utf8.RuneCountInString(word) == 1 {
		r, _ := utf8.DecodeRuneInString(word)
		return unicode.IsUpper(r)
	}

	return abbreviations[strings.ToLower(word)]
}

// conjunction joins two statements of one person: "I like tea but I hate
// coffee" is two things to know.
var conjunction = regexp.MustCompile(`(?i)[,;]?\s+(?:and|but)\s+((?:i|i'm|i've|my|call me|please|we|we're|we've)\s)`)

// clauses splits a sentence at such conjunctions, and drops them.
func clauses(sentence string) []string {
	var out []string
	start := 0
	for _, m := range conjunction.FindAllStringSubmatchIndex(sentence, -1) {
		out = appendTrimmed(out, sentence[start:m[0]])
		start = m[2]
	}

	return appendTrimmed(out, sentence[start:])
}

func appendTrimmed(out []string, s string) []string {
	if s = strings.Join(strings.Fields(s), " "); s != "" {
		out = append(out, s)
	}

	return out
}

// cut shortens s to maxContent characters, at a space where there is one near.
func cut(s string) string {
	if utf8.RuneCountInString(s) <= maxContent {
		return s
	}
	s = string([]rune(s)[:maxContent])
	if i := strings.LastIndexByte(s, ' '); i > len(s)*3/4 {
		s = s[:i]
	}

	return strings.TrimSpace(s)
}
