package chat

import (
	"bytes"

	"github.com/tidwall/gjson"
)

// maxAnswerText bounds how much of an answer's text is kept for learning.
const maxAnswerText = 16 << 10

// Answer gathers what an account needs from an answer while it passes:
// from frames of a stream, or from one JSON body. The zero value is ready.
type Answer struct {
	Model    string // the model that the upstream says answered
	Usage    []byte // the last usage object, raw; nil if none came
	Finished bool   // a finish_reason or [DONE] was seen
	Failed   bool   // an error came inside a 200, or a body that is not JSON
	text     []byte
}

// Text is the answer's text, at most 16 KiB of it.
func (a *Answer) Text() string { return string(bytes.ToValidUTF8(a.text, nil)) }

// Body reads an answer that was not streamed.
func (a *Answer) Body(body []byte) {
	if !gjson.ValidBytes(body) {
		a.Failed = true
		return
	}
	root := gjson.ParseBytes(body)
	a.read(root)
	a.addText(root.Get("choices.0.message.content"))
}

// Frame reads one frame of a stream and reports whether it is the extra chunk
// that include_usage asks for: usage, and choices that say nothing. A frame
// whose data is not JSON is ignored.
func (a *Answer) Frame(frame []byte) (usageOnly bool) {
	data := Data(frame)
	if len(data) == 0 {
		return false
	}
	if bytes.Equal(data, []byte("[DONE]")) {
		a.Finished = true
		return false
	}
	if !gjson.ValidBytes(data) {
		return false
	}
	root := gjson.ParseBytes(data)
	a.read(root)
	a.addText(root.Get("choices.0.delta.content"))
	return root.Get("usage").IsObject() && silent(root.Get("choices"), a.Finished)
}

// silent reports whether the choices of a chunk are an empty array or, once the
// answer has ended, hold nothing: LiteLLM sends [{"index":0,"delta":{}}] with
// the usage where OpenAI sends [].
func silent(choices gjson.Result, ended bool) bool {
	if !choices.IsArray() {
		return false
	}
	for _, c := range choices.Array() {
		if !ended || c.Get("finish_reason").Type != gjson.Null {
			return false
		}
		for _, field := range c.Get("delta").Map() {
			if field.Type != gjson.Null && field.Raw != `""` {
				return false
			}
		}
	}
	return true
}

func (a *Answer) read(root gjson.Result) {
	if a.Model == "" {
		a.Model = root.Get("model").String()
	}
	if u := root.Get("usage"); u.IsObject() {
		a.Usage = []byte(u.Raw)
	}
	if root.Get("choices.0.finish_reason").Type == gjson.String {
		a.Finished = true
	}
	if e := root.Get("error"); e.IsObject() || e.Type == gjson.String {
		a.Failed = true
	}
}

func (a *Answer) addText(content gjson.Result) {
	if room := maxAnswerText - len(a.text); content.Type == gjson.String && room > 0 {
		a.text = append(a.text, content.Str[:min(len(content.Str), room)]...)
	}
}
