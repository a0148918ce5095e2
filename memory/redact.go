package memory

import "strings"

// secret finds one kind of secret.
type secret struct {
	kind string

	// starts are what such a secret, or the name before it, begins with. In
	// the middle of a word none counts.
	starts []string
	named  bool // case makes no difference, and one may follow "_", as in DB_PASSWORD

	// find returns the part to hide of a text that begins with a start, whose
	// length it is given, or 0, 0. likely, where set, has the last word on it.
	find   func(text string, start int) (from, to int)
	likely func(string) bool
}

// secrets in order: what has a shape of its own first, so that the guesses
// from a name before it ("password is …") see it hidden already.
var secrets = []secret{
	{"private_key", []string{"-----BEGIN"}, false, shape(
		`-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\z)`), nil},
	{"jwt", []string{"eyJ"}, false, jwt, nil},
	{"credentials", []string{"://"}, false, shape(`://([^\s/:@"'<>\[\]]*:[^\s/@"'<>\[\]]+)@`), nil},
	{"aws_key", []string{"AKIA", "ASIA", "AROA", "AIDA"}, false, shape(`[A-Z]{4}[0-9A-Z]{16}\b`), nil},
	{"api_key", []string{"sk-", "sk_", "pk-", "pk_", "rk-", "rk_"}, false, shape(`..[-_][\w-]{6,}`), hasDigit},
	{"api_key", []string{
		"ya29.", "SG.", "shpat_", "shpss_", "shpca_", "dop_v1_", "key-", "AA", "sq0", "dapi", "glsa_", "lin_api_", "xai-", "gsk_", "r8_", "PMAK-", "NRAK-", "figd_", "ATATT3x",
	}, false, shape(`(?:ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(?:at|ss|ca)_[0-9a-f]{32}|dop_v1_[0-9a-f]{32,}|key-[0-9a-f]{32}|AA[\w-]{33}\b|` +
		`sq0[a-z]{3}-[\w-]{20,}|dapi[0-9a-f]{32}|glsa_\w{20,}|lin_api_\w{20,}|xai-\w{20,}|gsk_\w{20,}|r8_\w{20,}|PMAK-[\w-]{20,}|NRAK-\w{20,}|` +
		`figd_[\w-]{20,}|ATATT3x[\w-]{20,})`), hasDigit},
	{"api_key", []string{"gh", "github_pat_", "whsec_", "glpat-", "xox", "AIza", "hf_", "npm_", "pypi-"}, false, shape(`(?:gh[opsur]_\w{20,}|` +
		`github_pat_\w{20,}|whsec_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|hf_\w{20,}|npm_\w{20,}|pypi-[\w-]{20,})`), nil},
	{"api_key", []string{"hooks.slack.com/services/", "discord.com/api/webhooks/"}, false, shape(
		`(?:hooks\.slack\.com/services|discord\.com/api/webhooks)/([\w/-]{20,})`), hasDigit},
	{"bearer", []string{"bearer"}, true, shape(`(?i:bearer)\s+([\w.~+/=-]{12,})`), hasDigit},
	{"bearer", []string{"basic"}, true, shape(`(?i:basic)\s+([A-Za-z0-9+/]{8,}={0,2})`), namesUser},
	{"secret", []string{"account", "shared", "signing", "encryption", "api", "access", "secret", "private", "auth", "refresh", "client", "token"}, true, namedSecret, hasDigit},
	{"secret", []string{"key"}, true, namedKey, strong},
	{"secret", []string{"wifi key", "wi-fi key", "wlan key", "network key"}, true, shape(
		`(?i:(?:wi-?fi|wlan|network) key(?: (?:at|for|of|in)(?: the| my| our)? \w+)?(?: is|:)) ([^\s,;"'.!?]{6,})`), hasDigit},
	{"secret", []string{"backup code", "recovery code"}, true, shape(
		`(?i:(?:backup|recovery) codes?(?: are| is|:)) ((?:[\w-]*\d[\w-]{4,}(?:, | and | )?)*[\w-]*\d[\w-]{4,})`), nil},
	{"secret", []string{"seed", "recovery", "mnemonic"}, true, shape(`(?i:(?:seed|recovery) phrase|mnemonic)(?: is|:)\s*((?:[a-z]+ ){11,23}[a-z]+)`), nil},
	{"password", []string{"passphrase"}, true, namedPhrase, nil},
	{"password", []string{"password", "passcode", "passwort", "lozinka", "sifra", "šifra"}, true, namedWords, nil},
	{"password", []string{"password", "passwd", "passcode", "passwort", "pwd", "lozinka", "lozinku", "sifru", "šifru", "лозинку", "шифру", "hasło"}, true, bareValue, nil},
	{"password", []string{"<password>", "<passwd>", "<pwd>"}, true, shape(`<\w+>([^\s<]+)`), likelyPassword},
	{"password", []string{"my pass is"}, true, shape(`(?i:my pass is) ([^\s,;"'.!?]{3,})`), likelyPassword},
	{"credentials", []string{"credentials", "creds"}, true, shape(`(?i:credentials|creds)(?: are| is|:)\s*([^\s/:]+ ?[/:] ?[^\s,;]*\d[^\s,;.]*)`), nil},
	{"credentials", []string{"login", "log-in"}, true, shape(`(?i:log-?in)(?: is|:)\s*(\S+ / [^\s,;]*\d[^\s,;.]*)`), nil},
	{"pin", []string{"code"}, true, shape(`(?i:code (?:for|of|to) (?:(?:the|my|our) )?(?:\w+ )?` + locks + `(?: is|:)) (\d{4,8})\b`), nil},
	{"pin", []string{"door", "alarm", "gate"}, true, shape(`(?i:(?:door|alarm|gate) code(?: is|:)?) (\d{4,8})\b`), nil},
	{"password", []string{"pass"}, true, shape(`(?i:pass)\s*[:=]\s*([^\s,;"'.!?]{3,})`), likelyPassword},
	{"pin", []string{"pin"}, true, shape(`(?i:pin(?: code| number)?)(?: is|\s*[:=])\s*(\d{4,8})\b`), nil},
	{"pin", []string{"cvv", "cvc"}, true, shape(`(?i:cv[vc]2?)(?: is|\s*[:=])?\s*(\d{3,4})\b`), nil},
	{"ssn", []string{"ssn", "social"}, true, shape(`(?i:ssn|social security number)(?: is|:)?\s*(\d{3}-\d{2}-\d{4})\b`), nil},
	{"password", []string{
		"mot de passe", "wachtwoord", "senha", "heslo", "parola", "kennwort",
		"password", "passwd", "passcode", "passphrase", "pwd", "pw", "lozinka", "sifra", "šifra", "Šifra", "passwort", "contraseña",
		"hasło", "лозинка", "Лозинка", "шифра", "Шифра", "пароль", "Пароль", "парола", "Парола",
	}, true, namedPassword, likelyPassword},
	{"card", []string{"2", "3", "4", "5", "6"}, false, card, luhn},
}

// locks are what a code of digits opens.
const locks = `(?:door|alarm|safe|gate|garage|building|phone|locker|vault|house|apartment)`

// start is one of a secret's starts.
type start struct {
	secret int // position in secrets
	text   string
}

// startsBy lists all starts by their first byte.
var startsBy = func() (table [256][]start) {
	for i, s := range secrets {
		for _, text := range s.starts {
			table[text[0]] = append(table[text[0]], start{i, text})
			if upper := strings.ToUpper(text); s.named {
				table[upper[0]] = append(table[upper[0]], start{i, text})
			}
		}
	}

	return table
}()

// Redact replaces what looks like a password, key, token or card number in
// text by "[redacted:kind]", where kind is password, pin, secret, api_key,
// aws_key, bearer, jwt, private_key, credentials, ssn or card. It errs towards hiding, but
// talk about secrets ("no API key in the build", "the password is required")
// stays as it is.
func Redact(text string) string {
	text = hideBefore(text)
	found := kindsIn(text)
	if found == 0 {
		return text
	}
	clean := text
	for i := range secrets {
		if found>>i&1 == 1 || clean != text { // Hiding one may bring another to light.
			clean = hide(clean, i)
		}
	}

	return clean
}

// kindsIn returns which of secrets occur in text, as bits.
func kindsIn(text string) (found uint) {
	for want, i := uint(1)<<len(secrets)-1, 0; ; {
		f, ok := find(text, i, want)
		if !ok {
			return found
		}
		found |= 1 << f.secret
		want &^= 1 << f.secret
		i = f.at
	}
}

// hide replaces the secrets of one kind.
func hide(text string, secret int) string {
	s := &secrets[secret]
	var b strings.Builder
	last := 0
	for i := 0; ; {
		f, ok := find(text, i, 1<<secret)
		if !ok {
			break
		}
		i = f.to
		if part := text[f.from:f.to]; strings.HasPrefix(part, "[redacted:") || s.likely != nil && !s.likely(part) {
			continue
		}
		b.WriteString(text[last:f.from])
		b.WriteString("[redacted:" + s.kind + "]")
		last = f.to
	}
	if last == 0 {
		return text
	}
	b.WriteString(text[last:])

	return b.String()
}

// finding is where a secret begins, and the part of it to hide.
type finding struct{ secret, at, from, to int }

// find returns the first secret at or after i that is one of those wanted.
func find(text string, i int, want uint) (finding, bool) {
	for within := i > 0 && isAlnum(text[i-1]); i < len(text); i++ {
		alnum := isAlnum(text[i])
		if alnum && within {
			continue
		}
		within = alnum
		for _, st := range startsBy[text[i]] {
			if want>>st.secret&1 == 0 || !st.begins(text, i) {
				continue
			}
			if from, to := secrets[st.secret].find(text[i:], len(st.text)); to > 0 {
				return finding{st.secret, i, i + from, i + to}, true
			}
		}
	}

	return finding{}, false
}

// begins reports whether the start stands at i, which is not inside a word
// but maybe after "_".
func (st *start) begins(text string, i int) bool {
	if secrets[st.secret].named {
		return hasPrefixFold(text[i:], st.text)
	}

	return strings.HasPrefix(text[i:], st.text) && !(i > 0 && text[i-1] == '_' && isAlnum(text[i]))
}
