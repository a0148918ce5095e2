package memory

// The functions of this file know ASCII alone, like \w, \s and \b in patterns.

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }

func isWord(c byte) bool { return isAlnum(c) || c == '_' }

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' && c != '\v' }

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// skipSpace returns where the white space at i ends.
func skipSpace(text string, i int) int {
	for i < len(text) && isSpace(text[i]) {
		i++
	}

	return i
}

// skipQuote returns the position after the quote at i, or i.
func skipQuote(text string, i int) int {
	if i < len(text) && isQuote(text[i]) {
		i++
	}

	return i
}

// hasPrefixFold reports whether text begins with a prefix, which is in lower
// case; its own case makes no difference.
func hasPrefixFold(text, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if c := text[i]; c != prefix[i] && c|0x20 != prefix[i] {
			return false
		}
	}

	return true
}
