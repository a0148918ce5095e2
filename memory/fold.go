package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// letters spells letters that no decomposition reduces to plain Latin, and
// Cyrillic as Serbian writes it in Latin, marks dropped. Ђ and đ meet as dj,
// which is also how people without the key type them.
var letters = map[rune]string{
	'đ': "dj", 'ð': "d", 'ł': "l", 'ø': "o", 'ß': "ss", 'æ': "ae", 'œ': "oe", 'ı': "i", 'þ': "th",
	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'ђ': "dj", 'е': "e", 'ж': "z", 'з': "z", 'и': "i",
	'ј': "j", 'к': "k", 'л': "l", 'љ': "lj", 'м': "m", 'н': "n", 'њ': "nj", 'о': "o", 'п': "p", 'р': "r",
	'с': "s", 'т': "t", 'ћ': "c", 'у': "u", 'ф': "f", 'х': "h", 'ц': "c", 'ч': "c", 'џ': "dz", 'ш': "s",
	'щ': "sc", 'ъ': "", 'ы': "y", 'ь': "", 'э': "e", 'ю': "ju", 'я': "ja", 'є': "e", 'і': "i", 'ґ': "g",
	'’': "'", '‘': "'", 'ʼ': "'", '“': `"`, '”': `"`, '„': `"`,
}

// fold spells text for comparing: compatibility forms resolved (NFKC), lower
// case, marks stripped from Latin, Greek and Cyrillic, Cyrillic spelt in
// Latin, curly quotes straight, invisible characters gone. Spaces and
// punctuation stay.
func fold(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}

	var b strings.Builder
	b.Grow(len(text))
	bare := false // Is the character before one whose marks are dropped?
	for _, r := range norm.NFKC.String(strings.ToValidUTF8(text, "\uFFFD")) {
		r = unicode.ToLower(r)
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
			bare = true
		case invisible(r), bare && unicode.Is(unicode.Mn, r):
		default:
			bare = foldRune(&b, r)
		}
	}

	return b.String()
}

// foldRune writes one lower-case rune without its marks and reports whether
// its script is one whose marks are dropped.
func foldRune(b *strings.Builder, r rune) bool {
	if !unicode.In(r, unicode.Latin, unicode.Cyrillic, unicode.Greek) {
		if s, ok := letters[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}

		return false
	}
	if _, ok := letters[r]; !ok {
		r, _ = utf8.DecodeRuneInString(norm.NFD.String(string(r)))
	}
	if s, ok := letters[r]; ok {
		b.WriteString(s)
	} else {
		b.WriteRune(r)
	}

	return true
}

// invisible reports whether r shows nothing: zero-width and soft hyphens,
// direction marks, tags, variation selectors. Text hides words with them.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u115F' || r == '\u3164'
}

// cleanText returns what a person would see of text: valid UTF-8, composed
// (NFC), without invisible or control characters except line ends and tabs.
func cleanText(text string) string {
	if isPlain(text) {
		return text
	}
	if !isASCII(text) {
		text = norm.NFC.String(toText(text))
	}

	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || invisible(r) {
			return -1
		}

		return r
	}, text)
}

// toText makes a string that SQLite takes as text.
func toText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}

	return true
}

// isPlain reports whether s holds printable ASCII, line ends and tabs alone.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7F || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}

	return true
}
