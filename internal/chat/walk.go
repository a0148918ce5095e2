package chat

import (
	"bytes"
	"fmt"

	"github.com/tidwall/gjson"
)

// maxDepth bounds nesting. Real requests stay under 50 levels (tool schemas
// are the deepest); Python's own parser gives up near 1,000.
const maxDepth = 1000

// Span is a half-open byte range [Start, End) of a body. The zero Span means
// "not there": no value can start at offset 0 and be empty.
type Span struct{ Start, End int }

// Found reports whether the span covers anything.
func (s Span) Found() bool { return s.End > s.Start }

// SyntaxError says where a body stops being JSON.
type SyntaxError struct {
	Offset int    // byte offset of the first byte that does not fit
	Want   string // what would have fitted
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: expected %s", e.Offset, e.Want)
}

// walker reads one JSON text front to back. It is a pull parser with a sticky
// error:
//
//	w.open('{')
//	for w.next('}') {
//		switch key := w.key(); key {
//		case "model": model = w.skip()
//		default:      w.skip()
//		}
//	}
//
// Structure is checked (brackets, commas, colons, quotes, literals); what is
// inside a string or a number is left to whoever decodes it.
type walker struct {
	b     []byte
	i     int
	depth int
	first bool // the container just opened has had no element yet
	keyAt int  // where the last key of the top-level object began
	err   error
}

func (w *walker) fail(want string) {
	if w.err == nil {
		w.err = &SyntaxError{Offset: w.i, Want: want}
	}
}

// peek skips white space and returns the next byte, 0 at the end or after an error.
func (w *walker) peek() byte {
	for w.err == nil && w.i < len(w.b) {
		switch c := w.b[w.i]; c {
		case ' ', '\n', '\r', '\t':
			w.i++
		default:
			return c
		}
	}
	return 0
}

// open steps into a container whose opening bracket is c.
func (w *walker) open(c byte) {
	switch {
	case w.peek() != c:
		w.fail(fmt.Sprintf("%q", c))
	case w.depth >= maxDepth:
		w.fail(fmt.Sprintf("at most %d levels of nesting", maxDepth))
	default:
		w.i++
		w.depth++
		w.first = true
	}
}

// next reports whether the open container has another element, stepping over
// the comma before it, or over the closing bracket end when there is none.
func (w *walker) next(end byte) bool {
	c := w.peek()
	switch {
	case w.err != nil:
		return false
	case c == end:
		w.i++
		w.depth--
		w.first = false
		return false
	case w.first:
		w.first = false
		return true
	case c != ',':
		w.fail(fmt.Sprintf("',' or %q", end))
		return false
	}
	w.i++
	if w.peek() == end {
		w.fail("a value after ','")
	}
	return w.err == nil
}

// key reads an object key and its colon, and returns the key decoded.
func (w *walker) key() []byte {
	s := w.keySpan()
	if w.err != nil {
		return nil
	}
	return decode(w.b[s.Start:s.End])
}

// decode returns what a JSON string, given with its quotes, says: a slice of
// it if it has no escapes.
func decode(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	return []byte(gjson.ParseBytes(quoted).Str)
}

func (w *walker) keySpan() Span {
	s := w.str()
	if w.peek() == ':' {
		w.i++
	} else {
		w.fail("':'")
	}
	return s
}

// str reads a string and returns its span, quotes included.
func (w *walker) str() Span {
	if w.peek() != '"' {
		w.fail("a string")
		return Span{}
	}
	start := w.i
	for p := start + 1; ; p++ {
		q := bytes.IndexByte(w.b[p:], '"')
		if q < 0 {
			w.i = len(w.b)
			w.fail("'\"' to end the string")
			return Span{}
		}
		if p += q; !escaped(w.b, p) {
			w.i = p + 1
			return Span{start, w.i}
		}
	}
}

// escaped reports whether the byte at p follows an odd run of backslashes. The
// opening quote of the string bounds the run.
func escaped(b []byte, p int) bool {
	n := 0
	for b[p-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// skip steps over one value of any kind and returns its span.
func (w *walker) skip() Span {
	c := w.peek()
	start := w.i
	switch {
	case c == '"':
		return w.str()
	case c == '{':
		w.open('{')
		for w.next('}') {
			w.keySpan()
			w.skip()
		}
	case c == '[':
		w.open('[')
		for w.next(']') {
			w.skip()
		}
	default:
		w.scalar()
	}
	if w.err != nil {
		return Span{}
	}
	return Span{start, w.i}
}

// scalar steps over a number or a literal.
func (w *walker) scalar() {
	start := w.i
	for w.i < len(w.b) && isScalarByte(w.b[w.i]) {
		w.i++
	}
	switch s := w.b[start:w.i]; {
	case len(s) > 0 && (s[0] == '-' || '0' <= s[0] && s[0] <= '9'):
	case string(s) == "true", string(s) == "false", string(s) == "null":
	default:
		w.i = start
		w.fail("a value")
	}
}

func isScalarByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'E'
}
