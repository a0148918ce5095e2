package memory

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
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
	Reason string // which kind of attack; empty when allowed
}

// threat is one kind of attack, matched on folded text on one line. A text
// without any of its hints can't match, and finding that out is a hundred
// times cheaper than the pattern; recall scans all that it returns.
type threat struct {
	reason  string
	hints   []string
	pattern *regexp.Regexp
}

// threats look for text that addresses the model that will read it: that
// cancels its instructions, forges its markup, gives it another role or new
// rights, asks it to leak or to hide. Wishes about the form of answers and
// sentences about such words are none of that.
var threats = []threat{
	{"overrides instructions", []string{"ignor", "disregard", "forget", "override", "bypass", "zanemari", "oublie", "olvida", "vergiss"}, regexp.MustCompile(
		`\b(?:ignor\w*|disregard|forget|override|bypass|zanemari\w*|oublie\w*|olvida\w*|vergiss)\b.{0,40}` +
			`\b(?:previous|prior|above|earlier|preceding|all|any|every|everything|system|safety|prethodn\w*|sva|vorherig\w*|bisherig\w*|todas|anterior\w*|toutes|precedent\w*)\b.{0,40}` +
			`\b(?:instruction\w*|instruccion\w*|instructions|prompts?|rules|guidelines|directives|policies|anweisung\w*|uputstv\w*|consignes|learned)\b`)},
	{"overrides instructions", []string{"忽略", "无视", "忘记"}, regexp.MustCompile(`(?:忽略|无视|忘记).{0,8}(?:之前|以上|先前|前面|所有).{0,8}(?:指令|指示|提示|规则)`)},
	{"overrides instructions", []string{"instruction", "prompt", "rule", "polic", "filter", "guideline", "restriction", "stop everything"}, regexp.MustCompile(
		`\b(?:begin|start of|end of|here are|follow these) (?:the |your )?(?:new |system |updated )+(?:instructions?|prompt|rules)\b|` +
			`\b(?:safety|content|security) (?:rules?|polic(?:y|ies)|filters?|guidelines?|restrictions?)\b.{0,20}\b(?:suspended|disabled|lifted|removed|off|void|do not apply|no longer apply)\b|` +
			`\bstop everything\b.{0,20}\b(?:just|now)\b`)},
	{"forges chat markup", []string{"<", "inst]", "assistant"}, regexp.MustCompile(
		`</?\s*(?:system|assistant|developer|memory|memories|instructions?|understudy-context)\b[^>]{0,80}>|<\|\w{1,32}\|>|` +
			`\[/?inst\]|<</?sys>>|\bassistant\s*:.{0,400}\b(?:user|human)\s*:`)},
	{"assigns a role", []string{" mode", "you", "broken free", "unrestricted", "anything now", "role of another"}, regexp.MustCompile(
		`\bdo anything now\b|\b(?:dan|developer|dev|god|jailbreak|unrestricted) mode (?:is )?enabled\b|\bbroken free (?:of|from)\b|` +
			`\byou\b.{0,30}\b(?:no longer have|have no|without) (?:any )?(?:restrictions|rules|policy|policies|limits|filters|guidelines)\b|` +
			`\bunrestricted (?:ai|assistant|model|mode)\b|\byou are (?:now )?(?:root|admin|devmode|dan|unrestricted|jailbroken)\b|` +
			`\byou (?:are (?:about|going) to|will|must|(?:will )?have to) (?:act|pretend|immerse|answer my prompts)\b|` +
			`\bplay the role of another\b`)},
	{"grants rights", []string{"treat", "you", "safety"}, regexp.MustCompile(
		`\btreat\b.{0,60}\bas (?:an? |the )?(?:admin\w*|root|owner|superuser)\b|` +
			`\b(?:user|owner|admin|operator|developer) (?:has|have) (?:authori[sz]ed|approved|permitted|allowed) you\b|\bsafety (?:checks?|policies) (?:is|are) (?:off|not needed)\b`)},
	{"leaks", []string{"prompt", "instruction", "message", "send", "post", "upload", "forward", "mail", "leak", "transmit", "exfiltrate", "!["}, regexp.MustCompile(
		`\b(?:reveal|print|show|repeat|output|display|expose|leak|muestra|prikazi|zeige?|gib)\b.{0,30}\b(?:system|hidden|initial|secret|sistemski|sistema)[ -]?(?:prompts?|instructions?|messages?)\b|` +
			`\b(?:send|post|upload|forward|e-?mail|leak|transmit|exfiltrate)\b.{0,60}\b(?:keys?|passwords?|secrets?|tokens?|credentials?|conversation|chat history)\b.{0,60}(?:\bto\b|https?://)|` +
			`!\[[^\]]*\]\([^)]*(?:\{\{|\$\{)`)},
	{"hides from the user", []string{"never", "do not", "don't", "hide"}, regexp.MustCompile(
		`\b(?:never|do not|don't) (?:mention|reveal|disclose) this\b|\b(?:never|do not|don't) (?:tell|inform|warn|alert) the users?\b|` +
			`\bhide (?:my|your|the) sources\b|\b(?:bank details|iban|wallet address)\b.{0,60}\bnever\b`)},
	{"addresses the reader", []string{"you recall", "you read", "you see", "you retrieve", "you load", "note", "command"}, regexp.MustCompile(
		`\bwhen(?:ever)? you (?:recall|read|see|retrieve|load) this\b|\bnotes? to the (?:assistant|ai|model|llm|agent)\b|\b(?:shell )?commands? you find in (?:memory|notes)\b`)},
}

// maxScan bounds what is scanned, in bytes; a memory is shorter.
const maxScan = 64 << 10

// Scan judges a text before it is stored and again before it is recalled. It
// sees through letter case, marks, look-alike Cyrillic, invisible characters,
// line breaks and one layer of base64. It stops the common attacks, not every
// one: what passes must still be framed as data wherever it is shown.
func Scan(text string) Verdict {
	if len(text) > maxScan {
		text = text[:maxScan]
	}
	folded := oneLine(fold(text))
	if !strings.ContainsFunc(folded, unicode.IsGraphic) {
		return Verdict{Reject, "holds no text"}
	}
	if reason := threatIn(folded); reason != "" {
		return Verdict{Quarantine, reason}
	}
	if !holdsBlob(text) {
		return Verdict{Action: Allow}
	}
	for _, blob := range base64Blob.FindAllString(text, 8) {
		if reason := threatIn(decode(blob)); reason != "" {
			return Verdict{Quarantine, reason + ", encoded"}
		}
	}

	return Verdict{Action: Allow}
}

func threatIn(folded string) string {
	if folded == "" {
		return ""
	}
	for _, t := range threats {
		if containsAny(folded, t.hints) && t.pattern.MatchString(folded) {
			return t.reason
		}
	}

	return ""
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
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

// decode returns the folded text that a base64 blob holds, or nothing.
func decode(blob string) string {
	blob = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(blob, "="))
	raw, err := base64.RawStdEncoding.DecodeString(blob[:len(blob)-len(blob)%4])
	if err != nil || !utf8.Valid(raw) {
		return ""
	}

	return oneLine(fold(string(raw)))
}
