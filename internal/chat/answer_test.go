package chat

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// account is what an Answer knows at the end of a stream.
type account struct {
	Model, Usage, Text string
	Finished, Failed   bool
	Cut, Calls         bool
	Hidden             int // how many frames were the extra usage chunk
}

func accountOf(a *Answer, hidden int) account {
	return account{a.Model, string(a.Usage), a.Text(), a.Finished, a.Failed, a.Cut, a.Calls, hidden}
}

func TestAnswerFrames(t *testing.T) {
	const (
		hello = `data: {"model":"m-1","choices":[{"index":0,"delta":{"role":"assistant","content":"Hel"},"finish_reason":null}]}` + "\n\n"
		rest  = `data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":null}]}` + "\n\n"
		stop  = `data: {"model":"m-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
		done  = "data: [DONE]\n\n"
		usage = `{"prompt_tokens":3,"completion_tokens":2}`
		extra = `data: {"model":"m-1","choices":[],"usage":` + usage + `}` + "\n\n"
	)
	whole := account{Model: "m-1", Usage: usage, Text: "Hello", Finished: true}
	hidden := whole
	hidden.Hidden = 1
	unpriced := whole
	unpriced.Usage = ""

	tests := []struct {
		name   string
		stream string
		want   account
	}{
		{"extra usage chunk", hello + rest + stop + extra + done, hidden},
		{"usage on the last content chunk", hello + rest + strings.Replace(stop, `}]}`, `}],"usage":`+usage+`}`, 1) + done, whole},
		{
			"usage null on the others",
			strings.ReplaceAll(hello+rest+stop, `}]}`, `}],"usage":null}`) + extra + done, hidden,
		},
		{
			"usage on every chunk",
			strings.ReplaceAll(hello+rest, `}]}`, `}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`) +
				strings.Replace(stop, `}]}`, `}],"usage":`+usage+`}`, 1) + done, whole,
		},
		{
			"extra chunk with choices that say nothing",
			hello + rest + stop + `data: {"choices":[{"index":0,"delta":{}}],"usage":` + usage + "}\n\n" + done, hidden,
		},
		{
			"the same with nulls",
			hello + rest + stop + `data: {"choices":[{"index":0,"finish_reason":null,"delta":{"content":"","role":null}}],"usage":` + usage + "}\n\n" + done, hidden,
		},
		{
			"silent choices before the end are shown",
			`data: {"model":"m-1","choices":[{"index":0,"delta":{}}],"usage":` + usage + "}\n\n" + hello + rest + stop + done, whole,
		},
		{
			"choices that speak after the end are shown",
			hello + stop + `data: {"choices":[{"index":0,"delta":{"content":"lo"}}],"usage":` + usage + "}\n\n" + done, whole,
		},
		{"no usage", hello + rest + stop + done, unpriced},
		{"no [DONE]", hello + rest + stop + extra, hidden},
		{"[DONE] alone ends it", hello + rest + done, unpriced},
		{"no end", hello + rest, account{Model: "m-1", Text: "Hello"}},
		{"CRLF", strings.ReplaceAll(hello+rest+stop+extra+done, "\n", "\r\n"), hidden},
		{"comments", ": ping\n\n" + hello + ": ping\n\n" + rest + ":\n\n" + stop + extra + done, hidden},
		{"event and id lines", strings.ReplaceAll(hello+rest+stop+extra, "data:", "event: message\nid: 7\ndata:") + done, hidden},
		{"data over several lines", strings.ReplaceAll(hello+rest+stop+extra, `,"choices`, ",\ndata:  \"choices") + done, hidden},
		{"no space after data", strings.ReplaceAll(hello+rest+stop+extra+done, "data: ", "data:"), hidden},
		{"error in a 200", hello + `data: {"error":{"message":"overloaded","code":503}}` + "\n\n", account{Model: "m-1", Text: "Hel", Failed: true}},
		{"error as a string", `data: {"error":"overloaded"}` + "\n\n", account{Failed: true}},
		{"error null", strings.Replace(hello, `{"model"`, `{"error":null,"model"`, 1) + rest + stop + extra + done, hidden},
		{"garbage instead of JSON", hello + "data: <html>{\"model\":\"x\"}\n\ndata: nul\n\n" + rest + stop + extra + done, hidden},
		{"half a chunk", hello + rest + stop + `data: {"usage":{"prompt_tokens":9` + "\n\n" + extra + done, hidden},
		{"half a chunk at the end", hello + rest + stop + `data: {"usage":{"prompt_tokens":9` + "\n\n", unpriced},
		{"JSON that is no object", hello + "data: 7\n\ndata: []\n\ndata: null\n\n" + rest + stop + extra + done, hidden},
		{
			"tool calls", `data: {"model":"m-1","choices":[{"delta":{"content":null,"tool_calls":[{"function":{"arguments":{}}}]},"finish_reason":"tool_calls"}]}` + "\n\n",
			account{Model: "m-1", Finished: true, Calls: true},
		},
		{"a list of no tool calls", strings.Replace(hello, `"content"`, `"tool_calls":[],"content"`, 1) + rest + stop + extra + done, hidden},
		{"usage in the last choice, as Moonshot has it", hello + rest + strings.Replace(stop, `"stop"}`, `"stop","usage":`+usage+`}`, 1) + done, whole},
		{"usage in a field of Groq's", hello + rest + strings.Replace(stop, `}]}`, `}],"x_groq":{"id":"r-1","usage":`+usage+`}}`, 1) + done, whole},
		{"usage in two places", hello + rest + strings.Replace(stop, `}]}`, `}],"x_groq":{"usage":{}},"usage":`+usage+`}`, 1) + done, whole},
		{"odd fields of Groq's", hello + rest + strings.Replace(stop, `}]}`, `}],"x_groq":[{"usage":{}}]}`, 1) + done, unpriced},
		{
			"cut at its limit", hello + rest + strings.Replace(stop, "stop", "length", 1) + done,
			account{Model: "m-1", Text: "Hello", Finished: true, Cut: true},
		},
		{"usage without choices is shown", hello + rest + stop + `data: {"usage":` + usage + "}\n\n" + done, whole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Answer
			hidden := 0
			frames, _ := cut([]byte(tt.stream))
			for _, frame := range frames {
				if a.Frame([]byte(frame)) {
					hidden++
				}
			}
			if diff := cmp.Diff(tt.want, accountOf(&a, hidden)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswerBody(t *testing.T) {
	tests := []struct {
		name string
		body string
		want account
	}{
		{
			"the usual", `{"model":"m-1","choices":[{"message":{"role":"assistant","content":"Hi\n\u00e9"},"finish_reason":"stop"}],"usage":{"prompt_tokens":12345678901234567890}}` + "\n",
			account{Model: "m-1", Usage: `{"prompt_tokens":12345678901234567890}`, Text: "Hi\né", Finished: true},
		},
		{"tool calls", `{"model":"m","choices":[{"message":{"content":null,"tool_calls":[{}]},"finish_reason":"tool_calls"}]}`, account{Model: "m", Finished: true, Calls: true}},
		{"cut at its limit", `{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"length"}]}`, account{Model: "m", Text: "x", Finished: true, Cut: true}},
		{"usage null", `{"model":"m","choices":[],"usage":null}`, account{Model: "m"}},
		{"error in a 200", `{"error":{"message":"no"}}`, account{Failed: true}},
		{"error and choices", `{"model":"m","error":{"message":"no"},"choices":[{"message":{"content":"x"}}]}`, account{Model: "m", Text: "x", Failed: true}},
		{"not JSON", `<html>`, account{Failed: true}},
		{"half of it", `{"model":"m","usage":{"prompt_tokens":1`, account{Failed: true}},
		{"empty", ``, account{Failed: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Answer
			a.Body([]byte(tt.body))
			if diff := cmp.Diff(tt.want, accountOf(&a, 0)); diff != "" {
				t.Errorf("answer to %s (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestAnswerTextBound(t *testing.T) {
	frame := func(text string) []byte {
		return append(AppendQuoted([]byte(`data: {"choices":[{"delta":{"content":`), text), "}}]}\n\n"...)
	}
	tests := []struct {
		name   string
		frames [][]byte
		want   int
	}{
		{"one line of 1 MB", [][]byte{frame(strings.Repeat("x", 1<<20))}, maxAnswerText},
		{"exactly full", [][]byte{frame(strings.Repeat("x", maxAnswerText))}, maxAnswerText},
		{"many frames", [][]byte{frame(strings.Repeat("x", maxAnswerText-1)), frame("yz"), frame("more")}, maxAnswerText},
		{"a rune across the bound", [][]byte{frame("x" + strings.Repeat("é", maxAnswerText))}, maxAnswerText - 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var a Answer
			for _, f := range tt.frames {
				a.Frame(f)
			}
			if got := a.Text(); len(got) != tt.want || !utf8.ValidString(got) {
				t.Errorf("text of %d bytes, valid %t, want %d valid bytes", len(got), utf8.ValidString(got), tt.want)
			}
		})
	}
}

// TestAnswerKeepsNothing: frames share one buffer, so what an Answer keeps must
// be its own.
func TestAnswerKeepsNothing(t *testing.T) {
	frame := []byte(`data: {"model":"m","choices":[{"delta":{"content":"hi"}}],"usage":{"a":1}}` + "\n\n")
	var a Answer
	a.Frame(frame)
	clear(frame)
	want := account{Model: "m", Usage: `{"a":1}`, Text: "hi"}
	if diff := cmp.Diff(want, accountOf(&a, 0)); diff != "" {
		t.Errorf("after the buffer was reused (-want +got):\n%s", diff)
	}
}
