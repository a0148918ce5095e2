package chat

import (
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// Role is who speaks in a message.
type Role uint8

// The roles that matter to a proxy; any other word is RoleOther.
const (
	RoleOther Role = iota
	RoleSystem
	RoleDeveloper
	RoleUser
	RoleAssistant
	RoleTool
)

// Kind is the JSON shape of a message's content.
type Kind uint8

// The shapes of content. KindOther is anything that the API does not define.
const (
	KindAbsent Kind = iota
	KindNull
	KindString
	KindParts
	KindOther
)

// Message locates one element of "messages".
type Message struct {
	Role      Role
	Kind      Kind
	Span      Span // the whole object
	Content   Span // the content value, quotes or brackets included
	ToolCalls bool // carries tool_calls
	name      Span
	parts     [2]int
}

// part locates one element of a content array.
type part struct {
	span       Span
	text       Span // the text string of a text part
	toolResult bool
	thinking   bool // sealed by the model that thought it
}

// Needs are the abilities that a request asks of a model.
type Needs struct {
	Tools, Vision, Audio, File, JSONSchema, Reasoning bool

	Choices  bool // n > 1
	Logprobs bool
}

// View is what one walk over a request body found. It keeps the body; neither
// may be changed while the other is in use.
type View struct {
	Raw      []byte
	Messages []Message
	Needs    Needs

	Stream       bool
	IncludeUsage bool
	FormatFixed  bool   // response_format other than text, or tool_choice "required" or a named tool
	MaxOutput    int    // max_completion_tokens, else max_tokens; 0 when absent
	ToolNames    string // names of the tools in order, joined by newlines
	TextBytes    int    // bytes of message text, tool calls and tool definitions: what a token estimate is taken of

	root          Span   // the top-level object
	fields        []Span // its fields, key to value
	repeated      bool   // a key that edits depend on occurs twice
	model         Span
	stream        Span
	messages      Span
	streamOptions Span
	includeUsage  Span
	user          Span
	safetyID      Span
	maxTokensKey  Span // the key, quotes included
	maxTokens     Span
	maxCompletion Span
	temperature   Span
	topP          Span
	cacheKey      Span
	metaSession   Span
	metaUser      Span
	parts         []part
}

// Parse walks body once. A body that is not one JSON object gives a
// *SyntaxError; fields of an unexpected type are treated as absent.
func Parse(body []byte) (*View, error) {
	v := &View{Raw: body}
	w := &walker{b: body}
	w.open('{')
	v.root.Start = w.i - 1
	for w.next('}') {
		start := w.i
		w.keyAt = start
		v.field(w, w.key())
		v.fields = append(v.fields, Span{start, w.i})
	}
	v.root.End = w.i
	if w.peek(); w.err == nil && w.i != len(body) {
		w.fail("nothing after the object")
	}
	if w.err != nil {
		return nil, w.err
	}
	return v, nil
}

func (v *View) field(w *walker, key []byte) {
	switch string(key) {
	case "model":
		v.once(&v.model, w.skip())
	case "messages":
		v.once(&v.messages, v.walkMessages(w))
	case "stream":
		v.once(&v.stream, w.skip())
		v.Stream = v.raw(v.stream) == "true"
	case "stream_options":
		v.once(&v.streamOptions, v.walkStreamOptions(w))
	case "tools", "functions":
		v.walkTools(w)
	case "tool_choice":
		s := v.raw(w.skip())
		v.FormatFixed = v.FormatFixed || s == `"required"` || strings.HasPrefix(s, "{")
	case "response_format":
		v.walkResponseFormat(w)
	case "max_completion_tokens":
		v.maxCompletion = w.skip()
		if n := v.int(v.maxCompletion); n > 0 {
			v.MaxOutput = n
		}
	case "max_tokens":
		v.maxTokensKey = Span{w.keyAt, w.keyAt + len(`"max_tokens"`)}
		v.maxTokens = w.skip()
		if n := v.int(v.maxTokens); n > 0 && v.MaxOutput == 0 {
			v.MaxOutput = n
		}
	case "temperature":
		v.temperature = w.skip()
	case "top_p":
		v.topP = w.skip()
	case "reasoning_effort":
		s := v.raw(w.skip())
		v.Needs.Reasoning = s != "null" && s != `"none"`
	case "n":
		v.Needs.Choices = v.int(w.skip()) > 1
	case "logprobs":
		v.Needs.Logprobs = v.raw(w.skip()) == "true"
	case "metadata":
		v.walkMetadata(w)
	case "user":
		v.user = w.skip()
	case "safety_identifier":
		v.safetyID = w.skip()
	case "prompt_cache_key":
		v.cacheKey = w.skip()
	default:
		w.skip()
	}
}

// once records where a field that we may edit stands. A repeated one makes the
// request ambiguous (parsers disagree about which counts), so it is noted.
func (v *View) once(at *Span, s Span) {
	v.repeated = v.repeated || at.Found()
	*at = s
}

func (v *View) walkMessages(w *walker) Span {
	if w.peek() != '[' {
		return w.skip()
	}
	start := w.i
	w.open('[')
	for w.next(']') {
		v.walkMessage(w)
	}
	return Span{start, w.i}
}

func (v *View) walkMessage(w *walker) {
	if w.peek() != '{' {
		v.Messages = append(v.Messages, Message{Span: w.skip()})
		return
	}
	m := Message{Span: Span{Start: w.i}}
	var role Span
	w.open('{')
	for w.next('}') {
		switch string(w.key()) {
		case "role":
			v.once(&role, w.skip())
		case "content":
			v.repeated = v.repeated || m.Content.Found()
			v.walkContent(w, &m)
		case "name":
			m.name = w.skip()
		case "tool_calls", "function_call":
			s := w.skip()
			if s.Found() && v.Raw[s.Start] != 'n' {
				m.ToolCalls, v.Needs.Tools = true, true
				v.TextBytes += s.End - s.Start
			}
		default:
			w.skip()
		}
	}
	m.Span.End = w.i
	m.Role = roleOf(v.word(role))
	v.Messages = append(v.Messages, m)
}

func (v *View) walkContent(w *walker, m *Message) {
	switch w.peek() {
	case '"':
		m.Kind, m.Content = KindString, w.str()
	case '[':
		m.Kind, m.Content.Start, m.parts[0] = KindParts, w.i, len(v.parts)
		w.open('[')
		for w.next(']') {
			v.walkPart(w)
		}
		m.Content.End, m.parts[1] = w.i, len(v.parts)
	case 'n':
		m.Kind, m.Content = KindNull, w.skip()
	default:
		m.Kind, m.Content = KindOther, w.skip()
	}
	if m.Kind == KindString {
		v.TextBytes += m.Content.End - m.Content.Start
	}
}

func (v *View) walkPart(w *walker) {
	if w.peek() != '{' {
		v.parts = append(v.parts, part{span: w.skip()})
		return
	}
	p := part{span: Span{Start: w.i}}
	var kind []byte
	w.open('{')
	for w.next('}') {
		switch string(w.key()) {
		case "type":
			kind = v.word(w.skip())
		case "text":
			if s := w.skip(); w.err == nil && v.Raw[s.Start] == '"' {
				p.text = s
			}
		default:
			w.skip()
		}
	}
	p.span.End = w.i
	switch string(kind) {
	case "image_url", "image", "input_image":
		v.Needs.Vision = true
	case "input_audio", "audio":
		v.Needs.Audio = true
	case "file", "input_file", "document":
		v.Needs.File = true
	case "tool_result":
		p.toolResult = true
	case "thinking", "redacted_thinking":
		p.thinking = true
	}
	v.TextBytes += p.text.End - p.text.Start
	v.parts = append(v.parts, p)
}

func (v *View) walkStreamOptions(w *walker) Span {
	if w.peek() != '{' {
		return w.skip()
	}
	start := w.i
	w.open('{')
	for w.next('}') {
		if string(w.key()) == "include_usage" {
			v.once(&v.includeUsage, w.skip())
			v.IncludeUsage = v.raw(v.includeUsage) == "true"
			continue
		}
		w.skip()
	}
	return Span{start, w.i}
}

func (v *View) walkTools(w *walker) {
	if w.peek() != '[' {
		w.skip()
		return
	}
	var names []string
	w.open('[')
	for w.next(']') {
		v.Needs.Tools = true
		at := w.skip()
		tool := v.Raw[at.Start:at.End]
		v.TextBytes += len(tool)
		name := gjson.GetBytes(tool, "function.name")
		if !name.Exists() {
			name = gjson.GetBytes(tool, "name")
		}
		names = append(names, name.String())
	}
	v.ToolNames = strings.Join(names, "\n")
}

func (v *View) walkResponseFormat(w *walker) {
	switch gjson.Get(v.raw(w.skip()), "type").String() {
	case "json_schema":
		v.Needs.JSONSchema, v.FormatFixed = true, true
	case "json_object":
		v.FormatFixed = true
	}
}

func (v *View) walkMetadata(w *walker) {
	if w.peek() != '{' {
		w.skip()
		return
	}
	w.open('{')
	for w.next('}') {
		switch string(w.key()) {
		case "session_id":
			v.metaSession = w.skip()
		case "user_id":
			v.metaUser = w.skip()
		default:
			w.skip()
		}
	}
}

func roleOf(name []byte) Role {
	switch string(name) {
	case "system":
		return RoleSystem
	case "developer":
		return RoleDeveloper
	case "user":
		return RoleUser
	case "assistant":
		return RoleAssistant
	case "tool", "function":
		return RoleTool
	}
	return RoleOther
}

func (v *View) raw(s Span) string { return string(v.Raw[s.Start:s.End]) }

func (v *View) int(s Span) int {
	n, err := strconv.Atoi(v.raw(s))
	if err != nil {
		return 0
	}
	return n
}

// str is word as a string, in which bytes that are not UTF-8 become U+FFFD.
func (v *View) str(s Span) string {
	return strings.ToValidUTF8(string(v.word(s)), "\uFFFD")
}

// word decodes a JSON string, without a copy where it has no escapes; nil when
// s is not a string.
func (v *View) word(s Span) []byte {
	if !s.Found() || v.Raw[s.Start] != '"' {
		return nil
	}
	return decode(v.Raw[s.Start:s.End])
}
