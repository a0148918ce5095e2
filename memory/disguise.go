package memory

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The disguises that the scanner sees through, each undone once. None is
// evidence in itself: what counts is what comes to light.

// disguised is another reading of a text.
type disguised struct {
	text  string
	coded bool // in a code that nobody writes plain words in
}

// disguises returns other readings of a text: what its codes, its letters
// spelt apart, its look-alikes or its quoted pieces say. seen are the classes
// of words in the text as it stands.
func disguises(text string, seen class) []disguised {
	var out []disguised
	add := func(other string, coded bool) {
		if other != "" && other != text {
			out = append(out, disguised{other, coded})
		}
	}
	if strings.ContainsAny(text, "%&\\") {
		add(unescape(text), false)
	}
	if !isASCII(text) {
		add(lookAlikes(text), false)
		add(tagText(text), true)
	}
	add(spelled(text), false)
	if holdsBlob(text) {
		for _, blob := range base64Blob.FindAllString(text, 8) {
			add(decode(blob), true)
		}
	}
	if strings.ContainsAny(text, "0123456789") {
		add(numbers(text), true)
	}
	if pieces := quotedPieces(text); len(pieces) > 1 {
		add(strings.Join(pieces, ""), false)
	}
	if seen&clsRotated != 0 {
		add(rotate(text), true)
	}
	if seen&clsReversed != 0 {
		add(reverse(text), true)
	}

	return out
}

// unescape resolves %69, \u0069, \x69 and &#105;.
func unescape(text string) string {
	if strings.Contains(text, "&") {
		text = html.UnescapeString(text)
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		n, width := 0, 0
		switch {
		case text[i] == '%':
			n, width = 1, 2
		case strings.HasPrefix(text[i:], `\x`):
			n, width = 2, 2
		case strings.HasPrefix(text[i:], `\u`):
			n, width = 2, 4
		}
		if width > 0 && i+n+width <= len(text) {
			if v, err := strconv.ParseUint(text[i+n:i+n+width], 16, 32); err == nil {
				b.WriteRune(rune(v))
				i += n + width
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}

	return b.String()
}

// alike are letters of other scripts that look like Latin ones.
var alike = map[rune]rune{
	'а': 'a', 'в': 'b', 'с': 'c', 'ԁ': 'd', 'е': 'e', 'һ': 'h', 'н': 'h', 'і': 'i', 'ј': 'j', 'к': 'k', 'ӏ': 'l', 'м': 'm', 'о': 'o',
	'р': 'p', 'ԛ': 'q', 'г': 'r', 'ѕ': 's', 'т': 't', 'у': 'y', 'х': 'x', 'ѵ': 'v', 'ԝ': 'w',
	'α': 'a', 'β': 'b', 'ε': 'e', 'η': 'n', 'ι': 'i', 'κ': 'k', 'ν': 'v', 'ο': 'o', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'χ': 'x', 'ω': 'w',
	'ɡ': 'g', 'ɩ': 'i', 'ո': 'n', 'ս': 'u', 'օ': 'o', 'ɑ': 'a', 'ⅼ': 'l', 'ⲟ': 'o',
}

// lookAlikes spells words that mix Latin with such letters in Latin.
func lookAlikes(text string) string {
	changed := false
	fields := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) })
	for i, word := range fields {
		if isASCII(word) || !strings.ContainsFunc(word, isLatin) {
			continue
		}
		fields[i] = strings.Map(func(r rune) rune {
			if latin, ok := alike[unicode.ToLower(r)]; ok {
				changed = true
				return latin
			}
			return r
		}, word)
	}
	if !changed {
		return text
	}

	return strings.Join(fields, " ")
}

func isLatin(r rune) bool { return r < utf8.RuneSelf && unicode.IsLetter(r) }

// tagText returns what is written in tag characters, which show nothing.
func tagText(text string) string {
	var b strings.Builder
	for _, r := range text {
		if 0xE0020 <= r && r <= 0xE007E {
			b.WriteRune(r - 0xE0000)
		}
	}

	return b.String()
}

// minSpelled is the number of letters standing alone that spell something.
const minSpelled = 5

// spelled returns text with words that are spelt apart joined: "i g n o r e",
// "p.r.e.v", "in-struc-tions"; "" if there are none. Two spaces part words.
func spelled(text string) string {
	if !strings.Contains(text, "-") && !lettersAlone(text) {
		return ""
	}
	var b strings.Builder
	alone := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		before := i > 0 && isLetter(text[i-1])
		after := i+1 < len(text) && isLetter(text[i+1])
		switch {
		case !isLetter(c) && before && after && c == '-':
			alone++ // A hyphen inside a word.
		case !isLetter(c) && before && after && isAlone(text, i-1) && isAlone(text, i+1):
			alone++
		default:
			b.WriteByte(c)
		}
	}
	if alone == 0 {
		return ""
	}

	return segment(b.String())
}

// isAlone reports whether the letter at i has no letter beside it.
func isAlone(text string, i int) bool {
	return isLetter(text[i]) && (i == 0 || !isLetter(text[i-1])) && (i+1 == len(text) || !isLetter(text[i+1]))
}

// lettersAlone reports whether minSpelled letters stand alone one after the
// other.
func lettersAlone(text string) bool {
	run := 0
	for i := range len(text) {
		switch {
		case isAlone(text, i):
			if run++; run >= minSpelled {
				return true
			}
		case isLetter(text[i]):
			run = 0
		}
	}

	return false
}

// segment parts words that ran together, by the scanner's own vocabulary.
func segment(text string) string {
	var b strings.Builder
	for at, word := range spaced(text) {
		if at > 0 {
			b.WriteByte(' ')
		}
		if _, known := scanner.words[strings.ToLower(word)]; known || len(word) < 8 {
			b.WriteString(word)
			continue
		}
		for i := 0; i < len(word); {
			n := 0
			for end := min(len(word), i+14); end >= i+2; end-- {
				if _, ok := scanner.words[strings.ToLower(word[i:end])]; ok {
					n = end - i
					break
				}
			}
			if n == 0 {
				b.WriteByte(word[i])
				i++
				continue
			}
			b.WriteString(" " + word[i:i+n] + " ")
			i += n
		}
	}

	return b.String()
}

// numbers returns what stands in a text in hexadecimal or binary digits, which
// may be parted by spaces.
func numbers(text string) string {
	var digits []byte
	best := ""
	flush := func() {
		if len(digits) > len(best) {
			best = string(digits)
		}
		digits = digits[:0]
	}
	for i := range len(text) {
		c := text[i] | lowerBit(text[i])
		switch {
		case isDigit(c) || 'a' <= c && c <= 'f':
			digits = append(digits, c)
		case c != ' ':
			flush()
		}
	}
	flush()
	if len(best) < 24 {
		return ""
	}
	if strings.Trim(best, "01") == "" {
		return fromBits(best)
	}
	raw, err := hex.DecodeString(best[:len(best)&^1])
	if err != nil || !printable(string(raw)) {
		return ""
	}

	return string(raw)
}

// fromBits returns the characters of eight binary digits each.
func fromBits(digits string) string {
	var raw []byte
	for i := 0; i+8 <= len(digits); i += 8 {
		v, err := strconv.ParseUint(digits[i:i+8], 2, 8)
		if err != nil {
			return ""
		}
		raw = append(raw, byte(v))
	}
	if !printable(string(raw)) {
		return ""
	}

	return string(raw)
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) })
}

// quotedPieces returns what stands in straight quotes, when a text says that
// such pieces belong together.
func quotedPieces(text string) []string {
	if strings.Count(text, `"`) < 4 && strings.Count(text, "'") < 4 {
		return nil
	}
	for _, quote := range []string{`"`, "'"} {
		parts := strings.Split(text, quote)
		if len(parts) < 5 {
			continue
		}
		var out []string
		for i := 1; i < len(parts); i += 2 {
			out = append(out, parts[i])
		}

		return out
	}

	return nil
}

// rotate moves each letter by 13.
func rotate(text string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isLetter(byte(r)) {
			base := r&^0x1F | 1
			return base + (r-base+13)%26
		}
		return r
	}, text)
}

// reverse writes text backwards.
func reverse(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)

	return string(runes)
}

// decode returns the text that a base64 blob holds, or nothing.
func decode(blob string) string {
	blob = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(blob, "="))
	if len(blob)%4 == 1 {
		blob = blob[:len(blob)-1]
	}
	raw, err := base64.RawStdEncoding.DecodeString(blob)
	if err != nil || !printable(string(raw)) {
		return ""
	}

	return string(raw)
}
