package memory

import (
	"regexp"
	"strings"
)

// The rules of this file. Each function looks at a text that begins with a
// secret's start, whose length some are given, and returns the part to hide,
// or 0, 0. Written by hand are those that most texts give a reason to look for:
// a "token", a "client", a number. Redacting 2 KB takes a hundredth of the time
// that a search with patterns took. The worst text known, 32 KB of one broken
// JWT after another, takes 30 ms.

// shape finds by a pattern: its group, or else the whole.
func shape(pattern string) func(string, int) (int, int) {
	re := regexp.MustCompile("^" + pattern)

	return func(text string, _ int) (int, int) {
		m := re.FindStringSubmatchIndex(text)
		if m == nil {
			return 0, 0
		}

		return m[len(m)-2], m[len(m)-1]
	}
}

// jwt finds two or three parts in base64, the first two of some length.
func jwt(text string, start int) (from, to int) {
	head := jwtPart(text, start)
	if head-start < 8 || head == len(text) || text[head] != '.' {
		return 0, 0
	}
	if to = jwtPart(text, head+1); to-head-1 < 8 {
		return 0, 0
	}
	if to < len(text) && text[to] == '.' {
		to = jwtPart(text, to+1)
	}

	return 0, to
}

// jwtPart returns where the part at i ends.
func jwtPart(text string, i int) int {
	for i < len(text) && (isWord(text[i]) || text[i] == '-') {
		i++
	}

	return i
}

// secretNames are the words of what secrets are called. They are joined by a
// space, "_" or "-", or not parted at all.
var secretNames = [][]string{
	{"api", "key"},
	{"access", "key"},
	{"account", "key"},
	{"signing", "key"},
	{"encryption", "key"},
	{"shared", "access", "key"},
	{"secret", "key"},
	{"secret", "key", "base"},
	{"private", "key"},
	{"secret", "access", "key"},
	{"auth", "token"},
	{"access", "token"},
	{"refresh", "token"},
	{"client", "secret"},
	{"secret"},
	{"token"},
}

// namedSecret finds the value in "api_key = value", "the token is value".
func namedSecret(text string, _ int) (from, to int) {
	for _, name := range secretNames {
		if end := joined(text, name); end > 0 {
			if from, to = assigned(text, end); to > 0 {
				return from, to
			}
		}
	}

	return 0, 0
}

// joined returns the length of the words that text begins with, or 0.
func joined(text string, words []string) int {
	n := 0
	for i, word := range words {
		if i > 0 && n < len(text) && strings.IndexByte(" _-", text[n]) >= 0 {
			n++
		}
		if !hasPrefixFold(text[n:], word) {
			return 0
		}
		n += len(word)
	}

	return n
}

// assigned finds the value that is given to the name that ends at i: at least
// eight characters of a token.
func assigned(text string, end int) (from, to int) {
	i := skipSpace(text, skipQuote(text, end))
	switch {
	case i < len(text) && (text[i] == '=' || text[i] == ':'):
		i++
	case i > end && hasPrefixFold(text[i:], "is") && !(i+2 < len(text) && isWord(text[i+2])):
		i += 2
	default: // Nothing says that it is given: "token abc…".
		if from, to = tokenAt(text, i); i == end || !strong(text[from:to]) || to-from < 20 {
			return 0, 0
		}
		return from, to
	}
	if from, to = tokenAt(text, skipQuote(text, skipSpace(text, i))); to-from < 8 {
		return 0, 0
	}

	return from, to
}

// tokenAt returns where the token at i begins and ends, which is i if there is
// none.
func tokenAt(text string, i int) (from, to int) {
	for to = i; to < len(text) && (isWord(text[to]) || strings.IndexByte(".~+/=-", text[to]) >= 0); {
		to++
	}
	for to > i && text[to-1] == '.' { // The sentence's.
		to--
	}

	return i, to
}

// namedKey finds the value in "the key is value".
func namedKey(text string, start int) (from, to int) { return assigned(text, start) }

// strong reports whether a token looks made by a machine: letters and digits
// that change places, and no version, path or identifier that people read.
func strong(token string) bool {
	if len(token) < 12 || strings.Count(token, "-") > 3 {
		return false
	}
	changes, digits, letters := 0, 0, 0
	for i := range len(token) {
		switch {
		case isDigit(token[i]):
			digits++
		case isLetter(token[i]):
			letters++
		}
		if i > 0 && isDigit(token[i]) != isDigit(token[i-1]) {
			changes++
		}
	}

	long := len(token) >= 32 && strings.ContainsAny(token[1:], "/+") && token[0] != '/'

	return letters > 1 && (digits > 1 && changes > 2 || digits == 1 && long)
}

// namesUser reports whether base64 holds a name and a password.
func namesUser(token string) bool { return strings.Contains(decode(token), ":") }

// namedPassword finds the value in "password: value", and in "the password
// for the staging box is value" with up to three words between.
func namedPassword(text string, start int) (from, to int) {
	if i := skipSpace(text, skipQuote(text, start)); i < len(text) && (text[i] == '=' || text[i] == ':') {
		if from, to = value(text, skipSpace(text, i+1)); to > 0 {
			return from, to
		}
	}

	if hasPrefixFold(text[start:], "'s ") {
		return digitValue(text, start+len("'s "))
	}
	word, i := nextWord(text, start)
	between, changed := 0, false
	if linksName[strings.ToLower(word)] {
		_, i = nextWord(text, i)
		word, i = nextWord(text, i)
		between = 2
	}
	for {
		verb := strings.TrimSuffix(strings.ToLower(word), ":")
		switch {
		case verb == "is" && i < len(text):
			if from, to = value(text, skipSpace(text, skipColon(text, i))); to > 0 && (!changed || hasDigit(text[from:to])) {
				return from, to
			}
		case gives[verb]:
			if from, to = digitValue(text, skipSpace(text, i)); to > 0 {
				return from, to
			}
			between = max(between, 1)
		case passes[verb]:
			between, changed = max(between, 1), true
		}
		if between == 0 {
			return 0, 0
		}
		between--
		word, i = nextWord(text, i)
	}
}

// skipColon returns the end of a colon at i, which white space may stand before.
func skipColon(text string, i int) int {
	if j := skipSpace(text, i); j < len(text) && text[j] == ':' {
		return j + 1
	}

	return i
}

// gives are verbs that a password follows, if it doesn't look like a word;
// passes are what may stand before one.
var (
	gives  = wordSet("je ist lautet es est era was to now bila је ми гласи", strings.ToLower)
	passes = wordSet("mi ми has been will be changed reset set", strings.ToLower)
)

// digitValue is value of a password with a digit in it.
func digitValue(text string, i int) (from, to int) {
	if from, to = value(text, i); to == 0 || !hasDigit(text[from:to]) {
		return 0, 0
	}

	return from, to
}

// linksName are words that tell what a password is for.
var linksName = wordSet("for of to on at za", strings.ToLower)

// nextWord returns what stands between the white space at i and the next, and
// its end; "" if no white space is at i.
func nextWord(text string, i int) (word string, end int) {
	from := skipSpace(text, i)
	if from == i {
		return "", i
	}
	for end = from; end < len(text) && !isSpace(text[end]); {
		end++
	}

	return text[from:end], end
}

// maxQuotedSecret bounds a secret in quotes, in bytes.
const maxQuotedSecret = 80

// value finds a password, which may be quoted; punctuation at its end is the
// sentence's.
func value(text string, i int) (from, to int) {
	from = skipQuote(text, i)
	to = from
	if from > i { // All that is in the quotes.
		if n := strings.IndexByte(text[from:min(len(text), from+maxQuotedSecret)], text[i]); n > 0 {
			return from, from + n
		}
	}
	for to < len(text) && !isSpace(text[to]) && !isQuote(text[to]) && text[to] != ',' && text[to] != ';' {
		to++
	}
	for to > from && strings.IndexByte(".!?)", text[to-1]) >= 0 {
		to--
	}
	if to == from {
		return 0, 0
	}

	return from, to
}

// card finds 13 to 19 digits, with a space or hyphen between any two but the
// first four.
func card(text string, _ int) (from, to int) {
	digits := 0
	for i := 0; i < len(text) && digits < 19; i++ {
		if digits >= 4 {
			i += separator(text[i:])
		}
		if i == len(text) || !isDigit(text[i]) {
			break
		}
		digits++
		if digits >= 13 && !(i+1 < len(text) && isWord(text[i+1])) {
			to = i + 1
		}
	}

	return 0, to
}

// separator is the length of what may stand between the digits of a card at
// the start of text: a hyphen or a space, also one that keeps a line together.
func separator(text string) int {
	for _, s := range []string{" ", "-", "\u00a0", "\u202f"} {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}

	return 0
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// notPasswords are words that follow "password is" or "password:" without
// being one.
var notPasswords = wordSet(`a an the in on at by for from of to with not no never always only also still too very so too
	required needed optional missing empty wrong incorrect invalid expired weak strong correct stored saved hashed salted
	encrypted kept hidden visible shown masked reset changed set sent being checked validated verified rotated shared rejected
	accepted generated compared logged typed entered asked used case one ok okay fine good bad same different
	what why how where when who which it this that these those my your our their his her protected and or but if unless
	something anything nothing everything impossible easy hard simple better worse longer shorter known
	string text null nil none true false input field hash policy manager oublie olvidada potrebna pogresna nije
	обавезна потребна погрешна није обязателен`, strings.ToLower)

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
