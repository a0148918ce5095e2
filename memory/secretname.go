package memory

import "strings"

// The rules of this file: secrets that stand before their name, as in "hunter2
// is my password", and those of several words.

// owners are words between the verb and the name of a secret that stands
// before it: at most two of them.
var owners = wordSet("my the our your new old current wifi wi-fi admin root router email netflix bank phone login guest moja nasa naša moj", strings.ToLower)

// nameKinds are names of secrets by the kind they are hidden as.
var nameKinds = map[string]string{
	"password": "password", "passwort": "password", "passcode": "password", "passphrase": "password", "pass": "password", "pwd": "password",
	"lozinka": "password", "šifra": "password", "sifra": "password", "pin": "pin",
}

// notNamesAlone are words after a secret's name that make it the name of
// something else: "my password manager".
var notNamesAlone = wordSet("manager managers policy generator hint rule rules vault app tool store database strategy keeper reset field prompt list file holder protection",
	strings.ToLower)

// hideBefore hides secrets that stand before their name.
func hideBefore(text string) string {
	for at := 0; ; {
		i := verbAfter(text, at)
		if i < 0 {
			return text
		}
		at = i + 1
		kind := nameAfter(text, i+len(" is "))
		if kind == "" {
			continue
		}
		from, to, first := wordBefore(text, i)
		part := text[from:to]
		if !likelyPassword(part) || strings.HasPrefix(part, "[redacted:") || pronouns[strings.ToLower(part)] {
			continue
		}
		if digits := hasDigit(part); kind == "pin" && !digits || !digits && !first {
			continue
		}
		text = text[:from] + "[redacted:" + kind + "]" + text[to:]
	}
}

// pronouns begin sentences about secrets without being one.
var pronouns = wordSet("here there that's it's he she they we you i mine yours everything nothing something anything ovo to koja kakva gde gdje šta sta moja",
	strings.ToLower)

// verbAfter returns where the next " is " or " je " begins, or -1.
func verbAfter(text string, from int) int {
	for i := from; i+4 < len(text); i++ {
		if text[i] == ' ' && text[i+3] == ' ' && (hasPrefixFold(text[i+1:], "is") || hasPrefixFold(text[i+1:], "je")) {
			return i
		}
	}

	return -1
}

// nameAfter returns the kind of secret of which the name stands at i, after at
// least one of owners; "" if none does.
func nameAfter(text string, i int) string {
	for n := range 3 {
		end := i
		for end < len(text) && !isSpace(text[end]) && strings.IndexByte(".,;:!?)\"'", text[end]) < 0 {
			end++
		}
		word := strings.ToLower(text[i:end])
		if kind := nameKinds[word]; kind != "" && n > 0 {
			if end < len(text) && text[end] == '\'' {
				return ""
			}
			if next, _ := nextWord(text, end); notNamesAlone[strings.ToLower(strings.Trim(next, ".,;:!?"))] {
				return ""
			}

			return kind
		}
		if !owners[word] || end == len(text) || text[end] != ' ' {
			return ""
		}
		i = end + 1
	}

	return ""
}

// wordBefore returns the word that ends at i, without quotes around it, and
// whether it begins a clause.
func wordBefore(text string, i int) (from, to int, first bool) {
	to = i
	for from = i; from > 0 && !isSpace(text[from-1]); {
		from--
	}
	first = from == 0 || text[from-1] == '\n' || from > 1 && strings.IndexByte(".,;:!?", text[from-2]) >= 0
	if from < to && isQuote(text[from]) {
		from++
		first = true
	}
	if to > from && isQuote(text[to-1]) {
		to--
	}

	return from, to, first
}

// A passphrase has from minPhrase to maxPhrase words.
const (
	minPhrase = 2
	maxPhrase = 12
)

// namedPhrase finds the words in "my passphrase is correct horse battery
// staple": up to the end of the clause.
func namedPhrase(text string, start int) (from, to int) {
	i := skipSpace(text, skipQuote(text, start))
	spoken := false
	switch {
	case i < len(text) && (text[i] == ':' || text[i] == '='):
		i++
	case i > start && hasPrefixFold(text[i:], "is ") || hasPrefixFold(text[i:], "je "):
		j := skipColon(text, i+2)
		spoken, i = j == i+2, j
	default:
		return 0, 0
	}
	from, to = phrase(text, skipQuote(text, skipSpace(text, i)), minPhrase)
	if spoken && speaks(text[from:to]) {
		return 0, 0
	}

	return from, to
}

// namedWords finds a password of several words, none of which joins words of
// a sentence: "the password is correct horse battery staple".
func namedWords(text string, start int) (from, to int) {
	if from, to = namedPhrase(text, start); to == 0 {
		return 0, 0
	}
	if words := text[from:to]; strings.Count(words, " ") < 2 || speaks(words) {
		return 0, 0
	}

	return from, to
}

// speaks reports whether words are those of a sentence.
func speaks(words string) bool {
	for word := range strings.FieldsSeq(words) {
		if joins[strings.ToLower(word)] {
			return true
		}
	}

	return false
}

// joins are words that a sentence holds and a passphrase doesn't.
var joins = wordSet(`a an the in on at by for from of to with not no and or but if so as is are was were be been has have had will would can could should
	must may i you he she it we they me him her us them my your his its our their this that these those what which who when where how why
	there than then too very just only also still already never always every each any some all both more most less one two on je na u i ili se da za od sa su`,
	strings.ToLower)

// phrase returns where the words at from end, if they are enough.
func phrase(text string, from, least int) (int, int) {
	to, words := from, 0
	for i := from; i < len(text) && words < maxPhrase; {
		end := i
		for end < len(text) && (isLetter(text[end]) || isDigit(text[end]) || text[end] == '-') {
			end++
		}
		if end == i {
			break
		}
		words++
		to = end
		if end == len(text) || text[end] != ' ' {
			break
		}
		i = end + 1
	}
	if first, _, _ := strings.Cut(text[from:to], " "); words < least || notPasswords[strings.ToLower(first)] && first != "correct" {
		return 0, 0
	}

	return from, to
}

// bareValue finds the value in "password hunter2", or "changed my password to
// hunter2": letters and digits mixed.
func bareValue(text string, start int) (from, to int) {
	if start == len(text) || text[start] != ' ' {
		return 0, 0
	}
	i := start + 1
	if word, end := nextWord(text, start); (word == "to" || word == "na" || word == "u") && end < len(text) {
		i = end + 1
	}
	if from, to = value(text, i); to-from < 6 || !mixes(text[from:to]) || notBare[strings.ToLower(text[from:to])] {
		return 0, 0
	}

	return from, to
}

// mixes reports whether a word has letters before digits, or signs among them,
// as nothing but a password has.
func mixes(word string) bool {
	letters, digits, signs := 0, 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case isLetter(c):
			letters++
		case isDigit(c):
			digits++
		case strings.IndexByte("!@#$%^&*?+", c) >= 0:
			signs++
		default:
			return false
		}
	}

	return letters >= 3 && digits > 0 || letters > 0 && digits > 0 && signs > 0
}

// notBare are products and standards with a digit in their name.
var notBare = wordSet(`1password bcrypt2 argon2 argon2i argon2id pbkdf2 sha1 sha256 sha512 base64 oauth2 ipv4 ipv6 windows10 windows11 keepass2 utf8
	web3 log4j python3 postgres15 postgres16 mysql8`, strings.ToLower)
