package memory

import (
	"math/bits"
	"regexp"
	"strings"
	"unicode"
)

// Action says what may be done with a text that wants to be remembered.
type Action string

// The actions.
const (
	Allow      Action = "allow"
	Quarantine Action = "quarantine" // keep and show, never recall
	Reject     Action = "reject"     // nothing worth keeping
)

// Verdict is what [Scan] found.
type Verdict struct {
	Action Action
	Score  float64 // how much speaks against the text; from 1 on it is stopped
	Reason string  // the kinds of attack, parted by commas; empty when allowed
}

// Guess reports whether only the small model speaks against the text, and no
// rule. It knows what people say; of texts that are meant to tell a model what
// to do, such as prompts, it can't tell an attack.
func (v Verdict) Guess() bool { return v.Reason == resembles }

// In a long text odd words meet by chance: beyond plainWords words it takes
// one more for each perDoubt. Of 13,000 exam questions and stories that stops
// a dozen, a third of what a fixed bound does; attacks of that length score 3
// and more.
const (
	plainWords = 60
	perDoubt   = 400
)

// maxScan bounds what is scanned, in bytes; a memory is shorter.
const maxScan = 64 << 10

// Scan judges a text before it is stored and again before it is recalled. It
// looks for text that addresses the model that will read it: that puts its
// instructions aside, forges its markup, gives it another role or new rights,
// asks it to leak or to hide, or plants a rule for somebody else's benefit. It
// reads a dozen languages, and sees through letter case, marks, look-alikes,
// invisible characters, line breaks, letters spelt apart, and one layer of
// base64, hexadecimal, escapes or rot13. It stops the common attacks, not every
// one: what passes must still be framed as data wherever it is shown.
func Scan(text string) Verdict {
	if len(text) > maxScan {
		text = text[:maxScan]
	}
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !invisible(r) }) {
		return Verdict{Action: Reject, Reason: "holds no text"}
	}
	v, seen := judge(text, true)
	if v.Action != Allow {
		return v
	}
	for _, other := range disguises(text, seen) {
		found, _ := judge(other.text, other.coded)
		if found.Action == Quarantine || other.coded && found.Score >= codedScore {
			return Verdict{Quarantine, max(found.Score, 1), strings.TrimPrefix(found.Reason+", "+obfuscate, ", ")}
		}
	}

	return v
}

// codedScore is enough against text in a code that hides it.
const codedScore = 0.4

// maxOdds is what the model's log odds may be. Of people's talk 1.1 % is above;
// docs/MEMORY.md has what it costs and brings.
const maxOdds = 0.5

// judge scores a text as it stands, by the rules and, if told to, by the model,
// and returns the classes of words in it.
func judge(text string, model bool) (Verdict, class) {
	text = fold(text)
	v, seen := judgeByRules(text)
	if model && v.Action == Allow && threatModel.score(text, seen) > maxOdds {
		v = Verdict{Quarantine, max(v.Score, 1), resembles}
	}

	return v, seen
}

// judgeByRules scores folded text by the rules alone.
func judgeByRules(text string) (Verdict, class) {
	r := reading{threats: scanner}
	var words [96]term
	r.words = words[:0]
	r.read(text)
	r.judge()
	if forged(text) {
		r.score++
		r.reasons = append(r.reasons, forges)
	}
	if r.score+1e-9 < 1+float64(max(len(r.words)-plainWords, 0))/perDoubt {
		return Verdict{Action: Allow, Score: max(r.score, 0)}, r.seen
	}

	return Verdict{Quarantine, r.score, strings.Join(r.reasons, ", ")}, r.seen
}

func trailing(c class) int { return bits.TrailingZeros64(uint64(c)) }

// markup is what only the wire between a program and a model holds: tags of
// roles, chat templates, messages of a conversation, images whose address
// takes what was said along.
var markup = regexp.MustCompile(
	`(?i)</?\s*(?:system|assistant|developer|memory|memories|instructions?|understudy-context|sys|tool_(?:result|call|response)|function_calls?)\b[^>]{0,80}>|` +
		`</\s*(?:context|user|prompt|data)\s*>|<\|\w{1,32}\|>|\[/?inst\]|<</?sys>>|\[/system\]|^\s*#{2,} ?(?:system|instruction)s? ?:|` +
		`"role"\s*:\s*"(?:system|developer)"|\bassistant\s*:.{0,400}\b(?:user|human)\s*:|\b(?:user|human)\s*:.{0,400}\bassistant\s*:|` +
		`-{2,} ?end of (?:memory|context|data|document|prompt)|<<\s*end of \w+\s*>>|` +
		`\bto=functions\.|` + "^\\s*`{3}system\\b|" +
		`\]\([^)\s]*[?/=][^)]*(?:\{\{|\$\{|<\w|\[\w)`)

// forged reports whether a text, folded or ASCII, holds such markup.
func forged(text string) bool {
	if !strings.ContainsAny(text, "<[#:") && !strings.Contains(text, "--") {
		return false
	}

	return markup.MatchString(oneLine(text))
}

// base64Blob is text in base64, too long for a word.
var base64Blob = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)

// holdsBlob reports whether base64Blob matches somewhere in text.
func holdsBlob(text string) bool {
	run := 0
	for i := range len(text) {
		if c := text[i]; !isWord(c) && c != '+' && c != '/' && c != '-' {
			run = 0
		} else if run++; run == 24 {
			return true
		}
	}

	return false
}

func containsAny(s string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(s, part) {
			return true
		}
	}

	return false
}
