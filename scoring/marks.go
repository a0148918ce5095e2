package scoring

import "strings"

// marks are signals that are not words: code fences and operators, identifiers, numbered lists, mathematics.
type marks struct {
	fence    bool // ```
	inline   bool // `x`
	operator bool // (), ==, ::, …
	name     bool // snake_case or camelCase
	math     bool // ∑, ≤, ∀, …
	items    int  // of lists numbered from 1
}

// code returns how many hits of code the marks are worth.
func (m *marks) code() int {
	n := 0
	if m.fence {
		n += 2
	} else if m.inline {
		n++
	}
	if m.operator {
		n++
	}
	if m.name {
		n++
	}
	return n
}

// steps returns how many hits of several steps the marks are worth: one item is no list.
func (m *marks) steps() int {
	return max(0, min(m.items-1, 2))
}

// proof returns how many hits of reasoning the marks are worth.
func (m *marks) proof() int {
	if m.math {
		return 1
	}
	return 0
}

// scan adds what it finds in text.
func (m *marks) scan(text string) {
	m.fence = m.fence || strings.Contains(text, "```")
	if i := strings.IndexByte(text, '`'); i >= 0 {
		m.inline = m.inline || strings.IndexByte(text[i+1:], '`') > 0
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z':
			m.name = m.name || camel(text, i)
		case '0' <= c && c <= '9':
			if numbers(text, i, m.items+1) {
				m.items++
			}
		case c == '_':
			m.name = m.name || 0 < i && i+1 < len(text) && alphanumeric(text[i-1]) && alphanumeric(text[i+1])
		case c == 0xE2 && i+2 < len(text): // U+2000 to U+2FFF
			r := rune(c&0x0F)<<12 | rune(text[i+1]&0x3F)<<6 | rune(text[i+2]&0x3F)
			m.math = m.math || 0x2200 <= r && r <= 0x22FF // Mathematical Operators
		case i+1 < len(text):
			m.operator = m.operator || operator(c, text[i+1])
		}
	}
}

// camel reports whether text[i] is the first small letter of a hump in camelCase. Names of firms and things
// begin with a capital or have one small letter in front (YouTube, iPhone), so they are none.
func camel(text string, i int) bool {
	if i < 3 || !upper(text[i-1]) || !lower(text[i-2]) || !lower(text[i-3]) {
		return false
	}
	i -= 3
	for i > 0 && alphanumeric(text[i-1]) {
		i--
	}
	return lower(text[i])
}

// numbers reports whether the digit at text[i] begins item want of a list: "2." at the start of a line, "2)"
// or "(2)" anywhere, each with a space behind. Lists end at 9, which is enough to know one.
func numbers(text string, i, want int) bool {
	if int(text[i]-'0') != want || i+2 >= len(text) || text[i+2] != ' ' {
		return false
	}
	switch text[i+1] {
	case '.':
		before := strings.TrimRight(text[:i], " \t")
		return before == "" || before[len(before)-1] == '\n'
	case ')':
		before := strings.TrimSuffix(text[:i], "(")
		return before == "" || strings.IndexByte(" \t\n", before[len(before)-1]) >= 0
	}
	return false
}

// operator reports whether two bytes are a mark of code that prose hardly has.
func operator(a, b byte) bool {
	switch {
	case a == b:
		return a == '=' || a == ':' || a == '&' || a == '|'
	case b == '=':
		return a == '!' || a == '+' || a == ':' || a == '<' || a == '>'
	}
	return a == '(' && b == ')' || a == '{' && b == '}' || a == '[' && b == ']' ||
		a == ')' && b == ';' || a == '}' && b == ';' || a == '<' && b == '/'
}

func lower(c byte) bool { return 'a' <= c && c <= 'z' }
func upper(c byte) bool { return 'A' <= c && c <= 'Z' }

func alphanumeric(c byte) bool {
	return lower(c) || upper(c) || '0' <= c && c <= '9'
}
