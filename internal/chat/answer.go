package chat

import "bytes"

// maxAnswerText bounds how much of an answer's text is kept for learning.
const maxAnswerText = 16 << 10

// Answer gathers what an account needs from an answer while it passes:
// from frames of a stream, or from one JSON body. The zero value is ready.
type Answer struct {
	Model    string // the model that the upstream says answered
	Usage    []byte // the last usage object, raw; nil if none came
	Finished bool   // a finish_reason or [DONE] was seen
	Cut      bool   // the model stopped because it had reached its limit
	Calls    bool   // it calls tools
	Failed   bool   // an error came inside a 200, or a body that is not JSON
	text     []byte
}

// Text is the answer's text, at most 16 KiB of it.
func (a *Answer) Text() string { return string(bytes.ToValidUTF8(a.text, nil)) }

// Body reads an answer that was not streamed.
func (a *Answer) Body(body []byte) {
	if _, ok := a.read(body, "message"); !ok {
		a.Failed = true
	}
}

// Frame reads one frame of a stream and reports whether it is the extra chunk
// that include_usage asks for: usage, and choices that say nothing. A frame
// whose data is not JSON is ignored.
//
// Choices that say nothing are an empty array or, once the answer has ended,
// such that hold nothing: LiteLLM sends [{"index":0,"delta":{}}] with the usage
// where OpenAI sends [].
func (a *Answer) Frame(frame []byte) (usageOnly bool) {
	data := Data(frame)
	if len(data) == 0 {
		return false
	}
	if string(data) == "[DONE]" {
		a.Finished = true
		return false
	}
	c, ok := a.read(data, "delta")
	return ok && c.usage.Found() && c.array && (c.choices == 0 || a.Finished && !c.says)
}

// chunk is what one walk over an answer, or over a chunk of one, found.
type chunk struct {
	model, usage, content Span
	inner                 Span // usage inside x_groq (Groq) or the first choice (Moonshot), which some send unasked
	array                 bool // choices is an array
	choices               int
	says                  bool // a choice ends, or its delta or message holds something
	finished, cut, failed bool
	calls                 bool
}

// read walks an answer once. said names the field of a choice that holds its
// text: message or delta. It is not ok for what is not a JSON object.
func (a *Answer) read(data []byte, said string) (c chunk, ok bool) {
	w := &walker{b: data}
	w.open('{')
	for w.next('}') {
		switch string(w.key()) {
		case "model":
			c.model = w.ofKind('"')
		case "usage":
			c.usage = w.ofKind('{')
		case "x_groq":
			c.walkGroq(w)
		case "error":
			kind := w.peek()
			c.failed = c.failed || kind == '{' || kind == '"'
			w.skip()
		case "choices":
			c.walkChoices(w, said)
		default:
			w.skip()
		}
	}
	if w.peek(); w.err != nil || w.i != len(data) {
		return c, false
	}
	if a.Model == "" && c.model.Found() {
		a.Model = string(decode(data[c.model.Start:c.model.End]))
	}
	if c.usage.Found() {
		a.Usage = bytes.Clone(data[c.usage.Start:c.usage.End])
	}
	if own := c.inner; own.Found() && !c.usage.Found() {
		a.Usage = bytes.Clone(data[own.Start:own.End])
	}
	a.Finished = a.Finished || c.finished
	a.Cut = a.Cut || c.cut
	a.Calls = a.Calls || c.calls
	a.Failed = a.Failed || c.failed
	if room := maxAnswerText - len(a.text); c.content.Found() && room > 0 {
		text := decode(data[c.content.Start:c.content.End])
		a.text = append(a.text, text[:min(len(text), room)]...)
	}
	return c, true
}

func (c *chunk) walkChoices(w *walker, said string) {
	if c.array = w.peek() == '['; !c.array {
		w.skip()
		return
	}
	w.open('[')
	for ; w.next(']'); c.choices++ {
		if w.peek() != '{' {
			c.says = true
			w.skip()
			continue
		}
		w.open('{')
		for w.next('}') {
			switch key := w.key(); {
			case string(key) == "finish_reason":
				kind := w.peek()
				c.says = c.says || kind != 'n'
				c.finished = c.finished || kind == '"' && c.choices == 0
				at := w.skip()
				c.cut = c.cut || string(w.b[at.Start:at.End]) == `"length"`
			case string(key) == said:
				c.walkSaid(w)
			case string(key) == "usage" && c.choices == 0:
				c.inner = w.ofKind('{')
			default:
				w.skip()
			}
		}
	}
}

func (c *chunk) walkGroq(w *walker) {
	if w.peek() != '{' {
		w.skip()
		return
	}
	w.open('{')
	for w.next('}') {
		if string(w.key()) == "usage" {
			c.inner = w.ofKind('{')
			continue
		}
		w.skip()
	}
}

// walkSaid reads a delta or a message.
func (c *chunk) walkSaid(w *walker) {
	if w.peek() != '{' {
		w.skip()
		return
	}
	w.open('{')
	for w.next('}') {
		key := w.key()
		content, calls := string(key) == "content", string(key) == "tool_calls" || string(key) == "function_call"
		kind, at := w.peek(), w.skip()
		if empty := kind == 'n' || kind == '"' && at.End-at.Start == 2; empty {
			continue
		}
		c.calls = c.calls || calls && at.End-at.Start > len("[]")
		if c.says = true; content && kind == '"' && c.choices == 0 {
			c.content = at
		}
	}
}

// ofKind reads a value and returns its span if it begins with c, else the zero
// span.
func (w *walker) ofKind(c byte) Span {
	ok := w.peek() == c
	if s := w.skip(); ok {
		return s
	}
	return Span{}
}
