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
// punctuation kept. Code blocks, quoted lines, lines of somebody's part in a
// conversation, and what stands below "Summarise this:" are not the person's
// words.
func sentences(text string) []string {
	var out []string
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced || strings.HasPrefix(line, ">") || isPart(line) {
			continue
		}
		if line != "" && !isLetter(line[0]) {
			line = bullet.ReplaceAllString(line, "")
		}
		out = append(out, splitLine(line)...)
		if strings.HasSuffix(line, ":") && pasted.MatchString(line) {
			return out
		}
		if len(out) >= maxSentences {
			return out[:maxSentences]
		}
	}

	return out
}

// parts are whose part a line of a conversation may be.
var parts = wordSet("user human assistant system bot ai input output q a example customer agent interviewer speaker", strings.ToLower)

// isPart reports whether a line is a part in a conversation: "User: hello".
func isPart(line string) bool {
	n := strings.IndexByte(line[:min(len(line), maxTrigger)], ':')

	return n > 0 && parts[strings.ToLower(strings.Trim(line[:n], "*_ "))]
}

// pasted is work on a text that follows.
var pasted = compile(`(?i)\b(?:summari[sz]e|analy[sz]e|translate|rewrite|rephrase|paraphrase|proofread|fix|improve|edit|correct|rate|review|classify|extract|` +
	`shorten|continue|explain|(?:this|following|the) (?:text|email|letter|essay|article|story|bio|conversation|transcript|paragraph|cover letter|resume|cv)|` +
	`prevedi|ispravi|sažmi|skrati)\b`)

// bullet is the mark of a list item or heading at the start of a line.
var bullet = regexp.MustCompile(`^(?:[-*•]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)`)

// splitLine splits a line after sentence ends that a space follows.
func splitLine(line string) []string {
	var out []string
	start := 0
	for i, r := range line {
		if endsSentence(line, i, r) {
			end := i + utf8.RuneLen(r)
			out = appendTrimmed(out, line[start:end])
			start = end
		}
	}

	return appendTrimmed(out, line[start:])
}

// endsSentence reports whether the character r at i does.
func endsSentence(line string, i int, r rune) bool {
	switch r {
	case '.', '!', '?', ';', '…':
		rest := line[i+utf8.RuneLen(r):]
		return (rest == "" || rest[0] == ' ') && (r != '.' || !abbreviated(line[:i]))
	case '。', '！', '？':
		return true
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

func appendTrimmed(out []string, s string) []string {
	if s = oneLine(s); s != "" {
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

// oneLine puts a single space in place of all white space, and none at the
// ends.
func oneLine(text string) string {
	text = strings.TrimSpace(text)
	before := 'x'
	for _, r := range text {
		if r == ' ' && before == ' ' || r != ' ' && unicode.IsSpace(r) {
			return strings.Join(strings.Fields(text), " ")
		}
		before = r
	}

	return text
}
