package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// serbian spells Serbian Cyrillic in Latin letters, as the rules have them.
var serbian = map[rune]string{
	'а': "a", 'б': "b", 'в': "v", 'г': "g", 'д': "d", 'ђ': "đ", 'е': "e", 'ж': "ž", 'з': "z", 'и': "i", 'ј': "j", 'к': "k", 'л': "l",
	'љ': "lj", 'м': "m", 'н': "n", 'њ': "nj", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'ћ': "ć", 'у': "u", 'ф': "f", 'х': "h",
	'ц': "c", 'ч': "č", 'џ': "dž", 'ш': "š",
}

// inCyrillic reports whether text holds a letter of it.
func inCyrillic(text string) bool {
	return !isASCII(text) && strings.ContainsFunc(text, func(r rune) bool { return serbian[unicode.ToLower(r)] != "" })
}

// inLatin spells a text's Serbian Cyrillic in Latin letters.
func inLatin(text string) string {
	var b strings.Builder
	for _, r := range text {
		latin, ok := serbian[unicode.ToLower(r)]
		switch {
		case !ok:
			b.WriteRune(r)
		case unicode.IsUpper(r):
			first, n := utf8.DecodeRuneInString(latin)
			b.WriteRune(unicode.ToUpper(first))
			b.WriteString(latin[n:])
		default:
			b.WriteString(latin)
		}
	}

	return b.String()
}
