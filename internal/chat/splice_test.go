package chat

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// refused stands for ok == false in the tables below.
const refused = "(refused)"

// edited applies the edit that make returns to body.
func edited(t *testing.T, body string, make func(*View) (Edit, bool)) string {
	t.Helper()
	e, ok := make(mustParse(t, body))
	if !ok {
		return refused
	}
	out, err := Splice([]byte(body), []Edit{e})
	if err != nil {
		t.Fatalf("Splice(%q, %+v): %v", body, e, err)
	}
	if !json.Valid(out) {
		t.Errorf("edited body is not JSON: %s", out)
	}
	return string(out)
}

func TestSetModel(t *testing.T) {
	tests := []struct {
		name string
		body string
		want string
	}{
		{"in place", `{"messages":[],"model":"old","n":1}`, `{"messages":[],"model":"a\"b","n":1}`},
		{"white space kept", " {\n\t\"model\" :  \"old\" \r\n} \n", " {\n\t\"model\" :  \"a\\\"b\" \r\n} \n"},
		{"absent", `{"n":1}`, `{"model":"a\"b","n":1}`},
		{"absent from nothing", `{ }`, `{"model":"a\"b" }`},
		{"null", `{"model":null}`, `{"model":"a\"b"}`},
		{"not a string", `{"model":{"id":"x"},"n":1}`, `{"model":"a\"b","n":1}`},
		{"escaped key", `{"mod\u0065l":"old"}`, `{"mod\u0065l":"a\"b"}`},
		{
			"all else as it came",
			`{"z":9007199254740993,"a":1.0,"b":1E5,"c":-0,"model":"x","u":"\u0041\/` + "\xff" + `é","n":{"model":"x","model":"y"},"seed":1,"seed":2}`,
			`{"z":9007199254740993,"a":1.0,"b":1E5,"c":-0,"model":"a\"b","u":"\u0041\/` + "\xff" + `é","n":{"model":"x","model":"y"},"seed":1,"seed":2}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := edited(t, tt.body, func(v *View) (Edit, bool) { return v.SetModel(`a"b`), true })
			if got != tt.want {
				t.Errorf("SetModel on %s\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

func TestAskUsage(t *testing.T) {
	tests := []struct {
		name string
		body string
		want string
	}{
		{"absent", `{"stream":true}`, `{"stream_options":{"include_usage":true},"stream":true}`},
		{"null", `{"stream_options":null,"stream":true}`, `{"stream_options":{"include_usage":true},"stream":true}`},
		{"empty", `{"stream":true,"stream_options":{ }}`, `{"stream":true,"stream_options":{"include_usage":true }}`},
		{"other options", `{"stream":true,"stream_options":{ "x":1}}`, `{"stream":true,"stream_options":{"include_usage":true, "x":1}}`},
		{"declined", `{"stream":true,"stream_options":{"include_usage": false ,"x":1}}`, `{"stream":true,"stream_options":{"include_usage": true ,"x":1}}`},
		{"null inside", `{"stream":true,"stream_options":{"include_usage":null}}`, `{"stream":true,"stream_options":{"include_usage":true}}`},
		{"asked already", `{"stream":true,"stream_options":{"include_usage":true}}`, refused},
		{"undefined shape", `{"stream":true,"stream_options":[1]}`, refused},
		{"not streamed", `{"stream":false}`, refused},
		{"stream absent", `{"stream_options":{}}`, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := edited(t, tt.body, (*View).AskUsage); got != tt.want {
				t.Errorf("AskUsage on %s\n got %s\nwant %s", tt.body, got, tt.want)
			}
		})
	}
}

func TestAppendSystem(t *testing.T) {
	const block = "# M\n\"x\""
	tests := []struct {
		name     string
		messages string
		want     string
	}{
		{
			"string", `[{"role":"system","content":"Be\u0020kind."},{"role":"user","content":"u"}]`,
			`[{"role":"system","content":"Be\u0020kind.\n\n# M\n\"x\""},{"role":"user","content":"u"}]`,
		},
		{
			"string that ends in an escape", `[{"role":"system","content":"a\\"}]`,
			`[{"role":"system","content":"a\\\n\n# M\n\"x\""}]`,
		},
		{
			"empty string", `[{"role":"system","content":""}]`,
			`[{"role":"system","content":"# M\n\"x\""}]`,
		},
		{
			"parts", `[{"role":"system","content":[{"type":"text","text":"a"}]}]`,
			`[{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"# M\n\"x\""}]}]`,
		},
		{
			"after the last cached part", `[{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}} ]}]`,
			`[{"role":"system","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}},{"type":"text","text":"# M\n\"x\""} ]}]`,
		},
		{
			"empty parts", `[{"role":"system","content":[ ]}]`,
			`[{"role":"system","content":[ {"type":"text","text":"# M\n\"x\""}]}]`,
		},
		{
			"null", `[{"role":"system","content":null}]`,
			`[{"role":"system","content":"# M\n\"x\""}]`,
		},
		{
			"developer", `[{"role":"developer","content":"a"}]`,
			`[{"role":"developer","content":"a\n\n# M\n\"x\""}]`,
		},
		{
			"role after content", `[{"content":"a","name":"n","role":"system"}]`,
			`[{"content":"a\n\n# M\n\"x\"","name":"n","role":"system"}]`,
		},
		{
			"white space", "[\n  { \"role\" : \"system\" ,\t\"content\" : \"a\" }\n]",
			"[\n  { \"role\" : \"system\" ,\t\"content\" : \"a\\n\\n# M\\n\\\"x\\\"\" }\n]",
		},
		{
			"no leading system", `[ {"role":"user","content":"u"}]`,
			`[ {"role":"system","content":"# M\n\"x\""},{"role":"user","content":"u"}]`,
		},
		{
			"late system is left alone", `[{"role":"user","content":"u"},{"role":"system","content":"late"}]`,
			`[{"role":"system","content":"# M\n\"x\""},{"role":"user","content":"u"},{"role":"system","content":"late"}]`,
		},
		{
			"second system is left alone", `[{"role":"system","content":"a"},{"role":"system","content":"b"}]`,
			`[{"role":"system","content":"a\n\n# M\n\"x\""},{"role":"system","content":"b"}]`,
		},
		{"first element is no message", `[7]`, `[{"role":"system","content":"# M\n\"x\""},7]`},
		{"content absent", `[{"role":"system"}]`, refused},
		{"content of undefined shape", `[{"role":"system","content":{"text":"a"}}]`, refused},
		{"no messages", `[]`, refused},
		{"messages null", `null`, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := edited(t, `{"messages":`+tt.messages+`}`, func(v *View) (Edit, bool) { return v.AppendSystem(block) })
			if want := inMessages(tt.want); got != want {
				t.Errorf("AppendSystem on %s\n got %s\nwant %s", tt.messages, got, want)
			}
		})
	}
}

func TestPrefixUser(t *testing.T) {
	const prefix = "# R\n\\o/"
	tests := []struct {
		name     string
		messages string
		want     string
	}{
		{
			"string", `[{"role":"user","content":"\u0041 b"}]`,
			`[{"role":"user","content":"# R\n\\o/\n\n\u0041 b"}]`,
		},
		{
			"empty string", `[{"role":"user","content":""}]`,
			`[{"role":"user","content":"# R\n\\o/\n\n"}]`,
		},
		{
			"parts", `[{"role":"user","content":[ {"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"# R\n\\o/"}, {"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`,
		},
		{
			"image first", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x"}}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"# R\n\\o/"},{"type":"image_url","image_url":{"url":"data:,x"}}]}]`,
		},
		{
			"a document that is cached", `[{"role":"user","content":[{"type":"text","text":"doc","cache_control":{"type":"ephemeral"}}, {"type":"text","text":"q"} ]}]`,
			`[{"role":"user","content":[{"type":"text","text":"doc","cache_control":{"type":"ephemeral"}}, {"type":"text","text":"# R\n\\o/"},{"type":"text","text":"q"} ]}]`,
		},
		{
			"the same when the mark has moved on", `[{"role":"user","content":[{"type":"text","text":"doc"}, {"type":"text","text":"q"} ]}]`,
			`[{"role":"user","content":[{"type":"text","text":"doc"}, {"type":"text","text":"# R\n\\o/"},{"type":"text","text":"q"} ]}]`,
		},
		{
			"tool results come first", `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"text","text":"q"}]}]`,
			`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"},{"type":"text","text":"# R\n\\o/"},{"type":"text","text":"q"}]}]`,
		},
		{
			"empty parts", `[{"role":"user","content":[ ]}]`,
			`[{"role":"user","content":[{"type":"text","text":"# R\n\\o/"} ]}]`,
		},
		{
			"role after content", `[{"content":"a","role":"user"}]`,
			`[{"content":"# R\n\\o/\n\na","role":"user"}]`,
		},
		{
			"white space", "[ {\"role\":\"user\" , \"content\"\n:\t\"a\" } ]",
			"[ {\"role\":\"user\" , \"content\"\n:\t\"# R\\n\\\\o/\\n\\na\" } ]",
		},
		{"null", `[{"role":"user","content":null}]`, refused},
		{"absent", `[{"role":"user"}]`, refused},
		{"undefined shape", `[{"role":"user","content":5}]`, refused},
		{"no message", `["x"]`, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := edited(t, `{"messages":`+tt.messages+`}`, func(v *View) (Edit, bool) { return v.PrefixUser(0, prefix) })
			if want := inMessages(tt.want); got != want {
				t.Errorf("PrefixUser on %s\n got %s\nwant %s", tt.messages, got, want)
			}
		})
	}
}

func inMessages(want string) string {
	if want == refused {
		return refused
	}
	return `{"messages":` + want + `}`
}

func TestAllEditsTogether(t *testing.T) {
	body := `{"stream":true,"messages":[{"role":"user","content":"old"},{"role":"assistant","content":"a"},{"role":"user","content":[{"type":"text","text":"new"}]}],"x":18446744073709551616}`
	v := mustParse(t, body)
	system, _ := v.AppendSystem("S")
	first, _ := v.PrefixUser(0, "P0")
	last, _ := v.PrefixUser(2, "P2")
	usage, _ := v.AskUsage()
	got, err := Splice(v.Raw, []Edit{last, v.SetModel("m"), usage, first, system})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","stream_options":{"include_usage":true},"stream":true,"messages":[{"role":"system","content":"S"},` +
		`{"role":"user","content":"P0\n\nold"},{"role":"assistant","content":"a"},` +
		`{"role":"user","content":[{"type":"text","text":"P2"},{"type":"text","text":"new"}]}],"x":18446744073709551616}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("all edits (-want +got):\n%s", diff)
	}
	if string(v.Raw) != body {
		t.Error("Splice changed the original body")
	}
}

func TestSplice(t *testing.T) {
	edit := func(start, end int, text string) Edit { return Edit{Span{start, end}, []byte(text)} }
	tests := []struct {
		name  string
		edits []Edit
		want  string
		err   error
	}{
		{"none", nil, "0123456789", nil},
		{"replace", []Edit{edit(2, 4, "ab")}, "01ab456789", nil},
		{"delete", []Edit{edit(0, 10, "")}, "", nil},
		{"insert at both ends", []Edit{edit(10, 10, ">"), edit(0, 0, "<")}, "<0123456789>", nil},
		{"insertions keep their order", []Edit{edit(5, 5, "b"), edit(5, 5, "a")}, "01234ba56789", nil},
		{"neighbours", []Edit{edit(4, 6, "y"), edit(2, 4, "x")}, "01xy6789", nil},
		{"insert before a replacement", []Edit{edit(2, 4, "x"), edit(2, 2, "i")}, "01ix456789", nil},
		{"insert after a replacement", []Edit{edit(4, 4, "i"), edit(2, 4, "x")}, "01xi456789", nil},
		{"overlap", []Edit{edit(2, 5, "x"), edit(4, 6, "y")}, "", ErrOverlap},
		{"the same bytes twice", []Edit{edit(2, 4, "x"), edit(2, 4, "x")}, "", ErrOverlap},
		{"insert within a replacement", []Edit{edit(2, 5, "x"), edit(3, 3, "y")}, "", ErrOverlap},
		{"past the end", []Edit{edit(9, 11, "x")}, "", ErrOverlap},
		{"before the start", []Edit{edit(-1, 2, "x")}, "", ErrOverlap},
		{"backwards", []Edit{edit(4, 2, "x")}, "", ErrOverlap},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Splice([]byte("0123456789"), tt.edits)
			if string(got) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Splice(%+v) = %q, %v, want %q, %v", tt.edits, got, err, tt.want, tt.err)
			}
		})
	}
}

func TestAppendQuoted(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string
	}{
		{"empty", "", `""`},
		{"plain", "a/<&>é😀\u2028\x7f", "\"a/<&>é😀\u2028\x7f\""},
		{"escapes", "\"\\\n", `"\"\\\n"`},
		{"control bytes", "\x00\t\r\x1f", `"\u0000\u0009\u000d\u001f"`},
		{"invalid UTF-8", "a\xffb\xc3", "\"a\uFFFDb\uFFFD\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AppendQuoted([]byte("x"), tt.text)); got != "x"+tt.want {
				t.Errorf("AppendQuoted(x, %q) = %s, want x%s", tt.text, got, tt.want)
			}
		})
	}
}

func TestForReasoning(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{name: "nothing to do", body: `{"model":"m"}`, want: `{"model":"m"}`},
		{name: "limit", body: `{ "max_tokens" : 64000 }`, want: `{ "max_completion_tokens" : 64000 }`},
		{name: "both limits", body: `{"max_tokens":1,"max_completion_tokens":2}`, want: `{"max_tokens":1,"max_completion_tokens":2}`},
		{name: "escaped key", body: `{"max\u005ftokens":1}`, want: `{"max\u005ftokens":1}`},
		{name: "sampling first", body: `{ "temperature":0.2 , "top_p":0.9, "seed":1}`, want: `{ "seed":1}`},
		{name: "sampling last", body: `{"seed":1 , "temperature":0.2, "top_p": null }`, want: `{"seed":1 }`},
		{name: "sampling in between", body: `{"a":1,"temperature":0.2,"b":2,"top_p":1,"c":3}`, want: `{"a":1,"b":2,"c":3}`},
		{name: "first and last", body: `{"temperature":0.2,"b":2,"top_p":1}`, want: `{"b":2}`},
		{name: "nothing else", body: `{"temperature":0.2,"top_p":1}`, want: `{"temperature":0.2,"top_p":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Parse([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Splice(v.Raw, v.ForReasoning())
			if err != nil || string(got) != tt.want {
				t.Errorf("ForReasoning(%s) = %s, %v, want %s", tt.body, got, err, tt.want)
			}
		})
	}
}

func TestLimitOutput(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{name: "none", body: `{"n":1}`, want: `{"n":1}`},
		{name: "below", body: `{"max_tokens":99}`, want: `{"max_tokens":99}`},
		{name: "above", body: `{"max_tokens": 64000 }`, want: `{"max_tokens": 100 }`},
		{name: "both", body: `{"max_completion_tokens":101,"max_tokens":7}`, want: `{"max_completion_tokens":100,"max_tokens":7}`},
		{name: "no number", body: `{"max_tokens":"many"}`, want: `{"max_tokens":"many"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := mustParse(t, tt.body)
			got, err := Splice(v.Raw, v.LimitOutput(100))
			if err != nil || string(got) != tt.want {
				t.Errorf("LimitOutput(%s) = %s, %v, want %s", tt.body, got, err, tt.want)
			}
		})
	}
}

func TestSetText(t *testing.T) {
	const body = `{"messages":[{"role":"system","content": "a\u0062" },{"role":"user","content":[]}]}`
	v := mustParse(t, body)
	e, ok := v.SetText(0, "x\"\n")
	got, err := Splice(v.Raw, []Edit{e})
	if want := `{"messages":[{"role":"system","content": "x\"\n" },{"role":"user","content":[]}]}`; !ok || err != nil || string(got) != want {
		t.Errorf("SetText = %s, %v, %v, want %s", got, ok, err, want)
	}
	if _, ok := v.SetText(1, "x"); ok {
		t.Error("SetText of parts, want it refused")
	}
}

func TestDropThinking(t *testing.T) {
	const text, sealed = `{"type":"text","text":"x"}`, `{"type":"thinking","thinking":"y","signature":"z"}`
	tests := []struct{ name, content, want string }{
		{name: "first", content: `[` + sealed + `, ` + text + `]`, want: `[` + text + `]`},
		{name: "last", content: `[` + text + ` , {"type":"redacted_thinking","data":"q"} ]`, want: `[` + text + ` ]`},
		{name: "around", content: `[` + sealed + `,` + text + `,` + sealed + `,` + text + `]`, want: `[` + text + `,` + text + `]`},
		{name: "nothing else", content: `[` + sealed + `]`, want: `[` + sealed + `]`},
		{name: "none", content: `[` + text + `]`, want: `[` + text + `]`},
		{name: "text", content: `"thinking"`, want: `"thinking"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := func(content string) string {
				return `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":` + content + `}]}`
			}
			v := mustParse(t, body(tt.content))
			got, err := Splice(v.Raw, v.DropThinking())
			if err != nil || string(got) != body(tt.want) {
				t.Errorf("DropThinking = %s, %v, want %s", got, err, body(tt.want))
			}
		})
	}
}
