package chat

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Edit replaces the bytes at At by New. An empty At inserts before At.Start.
type Edit struct {
	At  Span
	New []byte
}

// ErrOverlap is returned by Splice for edits that claim the same bytes, or
// bytes that are not there.
var ErrOverlap = errors.New("edits overlap")

// Splice returns a copy of raw with the edits applied; all other bytes are
// unchanged. Insertions at one offset keep the order they were given in.
func Splice(raw []byte, edits []Edit) ([]byte, error) { return AppendSplice(nil, raw, edits) }

// AppendSplice is Splice into a buffer at hand: it appends to dst.
func AppendSplice(dst, raw []byte, edits []Edit) ([]byte, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int {
		return cmp.Or(a.At.Start-b.At.Start, a.At.End-b.At.End) // an insertion comes before a replacement
	})
	size := len(raw)
	for _, e := range edits {
		size += len(e.New)
	}
	out := slices.Grow(dst, size)
	at := 0
	for _, e := range edits {
		if e.At.Start < at || e.At.End < e.At.Start || e.At.End > len(raw) {
			return nil, ErrOverlap
		}
		out = append(out, raw[at:e.At.Start]...)
		out = append(out, e.New...)
		at = e.At.End
	}
	return append(out, raw[at:]...), nil
}

// SetModel names another model. Without a "model" field one is added.
func (v *View) SetModel(name string) Edit {
	if v.model.Found() {
		return Edit{v.model, AppendQuoted(nil, name)}
	}
	return v.addField("model", AppendQuoted(nil, name))
}

// ForReasoning fits the request to OpenAI's reasoning models, which refuse
// max_tokens (they take max_completion_tokens) and sampling parameters. It is
// for requests that were written for another model.
func (v *View) ForReasoning() []Edit {
	var edits []Edit
	if k := v.maxTokensKey; k.Found() && !v.maxCompletion.Found() && v.raw(k) == `"max_tokens"` {
		edits = append(edits, Edit{k, []byte(`"max_completion_tokens"`)})
	}
	return append(edits, v.removeFields(v.temperature, v.topP)...)
}

// DropThinking takes the thinking parts out of a history: they are signed for
// the models of one family, and others refuse them. A message of nothing else
// keeps them.
func (v *View) DropThinking() []Edit {
	var edits []Edit
	for i := range v.Messages {
		m := &v.Messages[i]
		parts := v.parts[m.parts[0]:m.parts[1]]
		spans := make([]Span, len(parts))
		sealed := 0
		for j, p := range parts {
			if spans[j] = p.span; p.thinking {
				sealed++
			}
		}
		if sealed > 0 && sealed < len(parts) {
			edits = append(edits, remove(spans, func(j int) bool { return parts[j].thinking })...)
		}
	}
	return edits
}

// removeFields takes fields of the top-level object out, given their values. An
// object of nothing else keeps them: what another edit adds counts on a field.
func (v *View) removeFields(values ...Span) []Edit {
	gone := func(field Span) bool {
		return slices.ContainsFunc(values, func(s Span) bool { return s.Found() && s.End == field.End })
	}
	if !slices.ContainsFunc(v.fields, func(field Span) bool { return !gone(field) }) {
		return nil
	}
	return remove(v.fields, func(i int) bool { return gone(v.fields[i]) })
}

// remove takes elements of a container out, each with the comma before it;
// those at the container's start with the comma after them.
func remove(elements []Span, gone func(i int) bool) []Edit {
	var edits []Edit
	first := 0
	for first < len(elements) && gone(first) {
		first++
	}
	if first > 0 {
		end := elements[first-1].End
		if first < len(elements) {
			end = elements[first].Start
		}
		edits = append(edits, Edit{At: Span{elements[0].Start, end}})
	}
	for i := first + 1; i < len(elements); i++ {
		if gone(i) {
			edits = append(edits, Edit{At: Span{elements[i-1].End, elements[i].End}})
		}
	}
	return edits
}

// LimitOutput lowers the client's output limit to n tokens where it is higher.
func (v *View) LimitOutput(n int) []Edit {
	var edits []Edit
	for _, s := range []Span{v.maxTokens, v.maxCompletion} {
		if v.int(s) > n {
			edits = append(edits, Edit{s, strconv.AppendInt(nil, int64(n), 10)})
		}
	}
	return edits
}

// AskUsage makes a streamed answer end with a usage chunk; ok is false when
// the client asked already, the request is not streamed, or its stream_options
// are of an undefined shape.
func (v *View) AskUsage() (e Edit, ok bool) {
	switch {
	case !v.Stream || v.IncludeUsage:
		return Edit{}, false
	case v.includeUsage.Found():
		return Edit{v.includeUsage, []byte("true")}, true
	case !v.streamOptions.Found():
		return v.addField("stream_options", []byte(`{"include_usage":true}`)), true
	}
	switch v.Raw[v.streamOptions.Start] {
	case 'n':
		return Edit{v.streamOptions, []byte(`{"include_usage":true}`)}, true
	case '{':
		field := []byte(`"include_usage":true`)
		if !v.empty(v.streamOptions) {
			field = append(field, ',')
		}
		at := v.streamOptions.Start + 1
		return Edit{Span{at, at}, field}, true
	}
	return Edit{}, false
}

// escapedGap is the empty line between a text of ours and the client's.
const escapedGap = `\n\n`

// AppendSystem adds text after the client's leading system or developer
// message: inside its string, or as one more text part, so after any cached
// one. Without such a message one is put in front. ok is false when there is
// nowhere to put it (no messages, or content that is absent or of an undefined
// shape).
func (v *View) AppendSystem(text string) (e Edit, ok bool) {
	if len(v.Messages) == 0 {
		return Edit{}, false
	}
	if v.Leading() < 0 {
		msg := append(AppendQuoted([]byte(`{"role":"system","content":`), text), '}', ',')
		at := v.Messages[0].Span.Start
		return Edit{Span{at, at}, msg}, true
	}
	m := &v.Messages[0]
	switch m.Kind {
	case KindString:
		at := m.Content.End - 1
		var b []byte
		if at > m.Content.Start+1 { // the client's own text is not empty
			b = slices.Grow(b, len(escapedGap)+len(text)+len(text)/32)
			b = append(b, escapedGap...)
		}
		return Edit{Span{at, at}, appendEscaped(b, text)}, true
	case KindParts:
		at := m.Content.End - 1
		var b []byte
		if m.parts[0] < m.parts[1] {
			b = append(b, ',')
			at = v.parts[m.parts[1]-1].span.End
		}
		return Edit{Span{at, at}, appendTextPart(b, text)}, true
	case KindNull:
		return Edit{m.Content, AppendQuoted(nil, text)}, true
	}
	return Edit{}, false
}

// PrefixUser puts text before what message i says; where it has parts, before
// the last that is text, so after tool results, and after a document that the
// client has cached for more than one question. Where cache_control stands
// makes no difference, since clients move it on with each turn. ok is false for
// content that has no place for it.
func (v *View) PrefixUser(i int, text string) (e Edit, ok bool) {
	m := &v.Messages[i]
	at := m.Content.Start + 1
	switch m.Kind {
	case KindString:
		return Edit{Span{at, at}, append(appendEscaped(nil, text), escapedGap...)}, true
	case KindParts:
		b := appendTextPart(nil, text)
		if m.parts[0] < m.parts[1] {
			b = append(b, ',')
		}
		for k := m.parts[1] - 1; k > m.parts[0]; k-- {
			if p := &v.parts[k]; p.text.Found() {
				at = p.span.Start
				break
			}
		}
		return Edit{Span{at, at}, b}, true
	}
	return Edit{}, false
}

// SetText replaces what message i says, for content that is a string.
func (v *View) SetText(i int, text string) (e Edit, ok bool) {
	m := &v.Messages[i]
	if m.Kind != KindString {
		return Edit{}, false
	}
	return Edit{m.Content, AppendQuoted(nil, text)}, true
}

func (v *View) addField(key string, value []byte) Edit {
	b := append(AppendQuoted(nil, key), ':')
	b = append(b, value...)
	if len(v.fields) > 0 {
		b = append(b, ',')
	}
	at := v.root.Start + 1
	return Edit{Span{at, at}, b}
}

func (v *View) empty(object Span) bool {
	w := &walker{b: v.Raw, i: object.Start + 1}
	return w.peek() == '}'
}

func appendTextPart(dst []byte, text string) []byte {
	return append(AppendQuoted(append(dst, `{"type":"text","text":`...), text), '}')
}

// AppendQuoted appends s to dst as a JSON string. Invalid UTF-8 becomes U+FFFD.
func AppendQuoted(dst []byte, s string) []byte {
	return append(appendEscaped(append(dst, '"'), s), '"')
}

const hexDigits = "0123456789abcdef"

// appendEscaped copies what needs no escape in runs.
func appendEscaped(dst []byte, s string) []byte {
	dst = slices.Grow(dst, len(s)+len(s)/32)
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		size := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
		}
		dst = append(dst, s[done:i]...)
		switch {
		case c >= utf8.RuneSelf:
			dst = utf8.AppendRune(dst, utf8.RuneError)
		case c == '"', c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i += size
		done = i
	}
	return append(dst, s[done:]...)
}
