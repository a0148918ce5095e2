package memory

import (
	"regexp"
	"strings"
)

// secret finds one kind of secret. Group 1, where there is one, is the part to
// hide; likely, where set, has the last word on it.
type secret struct {
	kind    string
	pattern *regexp.Regexp
	likely  func(string) bool
}

// secrets in order: what has a shape of its own first, so that the guesses
// from a word before it ("password is …") see it hidden already.
var secrets = []secret{
	{"private_key", regexp.MustCompile(
		`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), nil},
	{"jwt", regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?`), nil},
	{"credentials", regexp.MustCompile(`://([^\s/:@"'<>\[\]]*:[^\s/@"'<>\[\]]+)@`), nil},
	{"aws_key", regexp.MustCompile(`\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b`), nil},
	{"api_key", regexp.MustCompile(`\b(?:sk|pk|rk)[-_][\w-]{6,}`), hasDigit},
	{"api_key", regexp.MustCompile(
		`\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{20,}|pypi-[\w-]{20,})`), nil},
	{"bearer", regexp.MustCompile(`(?i)\bbearer\s+([\w.~+/=-]{12,})`), hasDigit},
	{"secret", regexp.MustCompile(`(?i)\b(?:\w*[_-])?(?:api[ _-]?key|access[ _-]?key|secret[ _-]?key|private[ _-]?key|` +
		`secret[ _-]?access[ _-]?key|auth[ _-]?token|access[ _-]?token|refresh[ _-]?token|client[ _-]?secret|secret|token)` +
		`["'` + "`" + `]?\s*(?:\bis\b|=|:)\s*["'` + "`" + `]?([\w.~+/=-]{8,})`), hasDigit},
	{"password", regexp.MustCompile(`(?i)(?:\b|_)(?:password|passwd|passcode|passphrase|pwd|lozinka|šifra|passwort|contraseña)` +
		`(?:["'` + "`" + `]?\s*[=:]\s*["'` + "`" + `]?|(?:\s+(?:for|of|to|on|za)\s+\S+(?:\s+\S+){0,2}?)?\s+(?:is|je|ist|es)\s+["'` + "`" + `]?)` +
		`([^\s"'` + "`" + `,;]*[^\s"'` + "`" + `,;.!?)])`), likelyPassword},
	{"card", regexp.MustCompile(`\b(?:[2-6]\d{3}(?:[ -]?\d){9,15})\b`), luhn},
}

// Redact replaces what looks like a password, key, token or card number in
// text by "[redacted:kind]", where kind is password, secret, api_key, aws_key,
// bearer, jwt, private_key, credentials or card. It errs towards hiding, but
// talk about secrets ("no API key in the build", "the password is required")
// stays as it is.
func Redact(text string) string {
	for _, s := range secrets {
		text = s.hide(text)
	}

	return text
}

// hide replaces the secrets of one kind.
func (s secret) hide(text string) string {
	found := s.pattern.FindAllStringSubmatchIndex(text, -1)
	if found == nil {
		return text
	}

	var b strings.Builder
	last := 0
	for _, m := range found {
		from, to := m[len(m)-2], m[len(m)-1] // The group, or the whole.
		if hidden := strings.HasPrefix(text[from:to], "[redacted:"); hidden || s.likely != nil && !s.likely(text[from:to]) {
			continue
		}
		b.WriteString(text[last:from])
		b.WriteString("[redacted:" + s.kind + "]")
		last = to
	}
	b.WriteString(text[last:])

	return b.String()
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// notPasswords are words that follow "password is" or "password:" without
// being one.
var notPasswords = wordSet(`a an the in on at by for from of to with not no never always only also still too very so too
	required needed optional missing empty wrong incorrect invalid expired weak strong correct stored saved hashed salted
	encrypted kept hidden visible shown masked reset changed set sent being case one ok okay fine good bad same different
	what why how where when who which it this that these those my your our their his her protected and or but if unless
	string text null nil none true false input field hash policy manager potrebna pogresna nije`, strings.ToLower)

// likelyPassword leaves ordinary words and placeholders alone.
func likelyPassword(s string) bool {
	return len(s) > 1 && !notPasswords[strings.ToLower(s)] && !strings.ContainsAny(s[:1], "<${[*(…")
}

// luhn reports whether s, digits apart from spaces and hyphens, passes the
// check that card numbers are made to pass (ISO/IEC 7812-1).
func luhn(s string) bool {
	sum, n := 0, 0
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if n%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
		n++
	}

	return n >= 13 && n <= 19 && sum%10 == 0
}
