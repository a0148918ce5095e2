package chat

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t testing.TB, body string) *View {
	t.Helper()
	v, err := Parse([]byte(body))
	if err != nil {
		t.Fatalf("Parse(%.200q): %v", body, err)
	}
	return v
}

// seen is what the public side of a View says about one message.
type seen struct {
	Role      Role
	Kind      Kind
	Text      string
	Human     bool
	ToolCalls bool
}

func seenIn(v *View) []seen {
	var all []seen
	for i, m := range v.Messages {
		all = append(all, seen{m.Role, m.Kind, v.Text(i), v.Human(i), m.ToolCalls})
	}
	return all
}

func TestMessages(t *testing.T) {
	tests := []struct {
		name     string
		messages string
		want     []seen
	}{
		{
			"string", `[{"role":"user","content":"hello"}]`,
			[]seen{{RoleUser, KindString, "hello", true, false}},
		},
		{
			"one text part", `[{"role":"user","content":[{"type":"text","text":"hello"}]}]`,
			[]seen{{RoleUser, KindParts, "hello", true, false}},
		},
		{
			"text parts are joined", `[{"role":"user","content":[{"type":"text","text":"a"},{"text":"b","type":"text"}]}]`,
			[]seen{{RoleUser, KindParts, "a\nb", true, false}},
		},
		{
			"text and image", `[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:,x"}}]}]`,
			[]seen{{RoleUser, KindParts, "what?", true, false}},
		},
		{
			"image alone", `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x"}}]}]`,
			[]seen{{RoleUser, KindParts, "", true, false}},
		},
		{
			"empty string", `[{"role":"user","content":""}]`,
			[]seen{{RoleUser, KindString, "", true, false}},
		},
		{
			"empty parts", `[{"role":"user","content":[]}]`,
			[]seen{{RoleUser, KindParts, "", false, false}},
		},
		{
			"null content", `[{"role":"user","content":null}]`,
			[]seen{{RoleUser, KindNull, "", false, false}},
		},
		{
			"absent content", `[{"role":"user"}]`,
			[]seen{{RoleUser, KindAbsent, "", false, false}},
		},
		{
			"content of undefined shapes", `[{"role":"user","content":7},{"role":"user","content":{"text":"x"}},{"role":"user","content":true}]`,
			[]seen{{RoleUser, KindOther, "", false, false}, {RoleUser, KindOther, "", false, false}, {RoleUser, KindOther, "", false, false}},
		},
		{
			"parts of undefined shapes", `[{"role":"user","content":["a",1,null,{"type":5,"text":7}]}]`,
			[]seen{{RoleUser, KindParts, "", true, false}},
		},
		{
			"elements that are not messages", `["hi",3,null,[],{}]`,
			[]seen{{}, {}, {}, {}, {}},
		},
		{
			"tool loop", `[{"role":"user","content":"do"},{"role":"assistant","content":null,"tool_calls":[{"id":"c"}]},{"role":"tool","tool_call_id":"c","content":"out"}]`,
			[]seen{{RoleUser, KindString, "do", true, false}, {RoleAssistant, KindNull, "", false, true}, {RoleTool, KindString, "out", false, false}},
		},
		{
			"no tool calls", `[{"role":"assistant","content":"a","tool_calls":null}]`,
			[]seen{{RoleAssistant, KindString, "a", false, false}},
		},
		{
			"old function call", `[{"role":"assistant","content":null,"function_call":{"name":"f"}},{"role":"function","name":"f","content":"1"}]`,
			[]seen{{RoleAssistant, KindNull, "", false, true}, {RoleTool, KindString, "1", false, false}},
		},
		{
			"tool results under the user's role", `[{"role":"user","content":[{"type":"tool_result","content":"x"}]},{"role":"user","content":[{"type":"tool_result","content":"x"},{"type":"text","text":"and?"}]}]`,
			[]seen{{RoleUser, KindParts, "", false, false}, {RoleUser, KindParts, "and?", true, false}},
		},
		{
			"thinking with a signature", `[{"role":"assistant","reasoning_content":"r","content":[{"type":"thinking","thinking":"t","signature":"s=="},{"type":"text","text":"a"}]}]`,
			[]seen{{RoleAssistant, KindParts, "a", false, false}},
		},
		{
			"null and empty assistant content differ", `[{"role":"assistant","content":null},{"role":"assistant","content":""}]`,
			[]seen{{RoleAssistant, KindNull, "", false, false}, {RoleAssistant, KindString, "", false, false}},
		},
		{
			"cached parts", `[{"role":"system","content":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}]`,
			[]seen{{RoleSystem, KindParts, "s", false, false}},
		},
		{
			"role after content", `[{"content":"x","name":"n","role":"developer"}]`,
			[]seen{{RoleDeveloper, KindString, "x", false, false}},
		},
		{
			"unknown, missing and odd roles", `[{"role":"critic","content":"x"},{"content":"x"},{"role":null,"content":"x"},{"role":["user"],"content":"x"}]`,
			[]seen{{RoleOther, KindString, "x", false, false}, {RoleOther, KindString, "x", false, false}, {RoleOther, KindString, "x", false, false}, {RoleOther, KindString, "x", false, false}},
		},
		{
			"keys and roles in escapes", `[{"r\u006fle":"us\u0065r","\u0063ontent":[{"typ\u0065":"t\u0065xt","\u0074ext":"x"}]}]`,
			[]seen{{RoleUser, KindParts, "x", true, false}},
		},
		{
			"escapes in text", `[{"role":"user","content":"\u0041\/\"\\\n\t\ud83d\ude00é\u0000"}]`,
			[]seen{{RoleUser, KindString, "A/\"\\\n\t😀é\x00", true, false}},
		},
		{
			"lone surrogates", `[{"role":"user","content":"a\ud800"},{"role":"user","content":"\udc00b"}]`,
			[]seen{{RoleUser, KindString, "a\uFFFD", true, false}, {RoleUser, KindString, "\uFFFDb", true, false}},
		},
		{
			"invalid UTF-8", "[{\"role\":\"user\",\"content\":\"a\xff\xfeb\"},{\"role\":\"user\",\"content\":\"\\n\xc3\"}]",
			[]seen{{RoleUser, KindString, "a\uFFFDb", true, false}, {RoleUser, KindString, "\n\uFFFD", true, false}},
		},
		{
			"raw control bytes", "[{\"role\":\"user\",\"content\":\"a\x00\nb\"}]",
			[]seen{{RoleUser, KindString, "a\x00\nb", true, false}},
		},
		{
			"brackets and quotes inside strings", `[{"role":"user","content":"]}\"}],[{\\"},{"role":"user","content":"\\\\\\\""}]`,
			[]seen{{RoleUser, KindString, `]}"}],[{\`, true, false}, {RoleUser, KindString, `\\\"`, true, false}},
		},
		{
			"white space", " \t[\r\n{ \"role\" :\t\"user\" ,\n \"content\" : [ { \"type\" : \"text\" , \"text\" : \"x\" } ] } ] ",
			[]seen{{RoleUser, KindParts, "x", true, false}},
		},
		{"none", `[]`, nil},
		{"not an array", `{"role":"user"}`, nil},
		{"null", `null`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := mustParse(t, `{"messages":`+tt.messages+`}`)
			if diff := cmp.Diff(tt.want, seenIn(v)); diff != "" {
				t.Errorf("messages of %s (-want +got):\n%s", tt.messages, diff)
			}
		})
	}
}

func TestSpans(t *testing.T) {
	body := `{"messages": [ {"role":"user", "content" : "a\"" } ,[1], {"content":[ 1 ]}] }`
	v := mustParse(t, body)
	var got [][2]string
	for _, m := range v.Messages {
		got = append(got, [2]string{body[m.Span.Start:m.Span.End], body[m.Content.Start:m.Content.End]})
	}
	want := [][2]string{
		{`{"role":"user", "content" : "a\"" }`, `"a\""`},
		{`[1]`, ``},
		{`{"content":[ 1 ]}`, `[ 1 ]`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestHumansAndLeading(t *testing.T) {
	const system, developer, user, tool = `{"role":"system","content":"s"}`, `{"role":"developer","content":"d"}`,
		`{"role":"user","content":"u"}`, `{"role":"tool","content":"t"}`
	tests := []struct {
		name    string
		list    []string
		humans  []int
		leading int
	}{
		{"none", nil, nil, -1},
		{"system first", []string{system, user}, []int{1}, 0},
		{"developer first", []string{developer, user, tool, user}, []int{1, 3}, 0},
		{"no system", []string{user, tool}, []int{0}, -1},
		{"late system", []string{user, user, user, user, user, system}, []int{0, 1, 2, 3, 4}, -1},
		{"no user", []string{system, tool}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := mustParse(t, `{"messages":[`+strings.Join(tt.list, ",")+`]}`)
			if diff := cmp.Diff(tt.humans, v.Humans()); diff != "" {
				t.Errorf("Humans() (-want +got):\n%s", diff)
			}
			if got := v.Leading(); got != tt.leading {
				t.Errorf("Leading() = %d, want %d", got, tt.leading)
			}
		})
	}
}

// What a program wrote last, in the human's name, is not what the human said
// last.
func TestSaid(t *testing.T) {
	words := func(text string) string { return strings.TrimPrefix(text, "program") }
	tests := []struct {
		name   string
		list   string
		humans []int
		want   string
	}{
		{"none", ``, nil, ""},
		{"the newest", `{"role":"user","content":"a"},{"role":"user","content":"b"}`, []int{0, 1}, "b"},
		{"a program's at the end", `{"role":"user","content":"a"},{"role":"user","content":"program"},{"role":"user","content":"program"}`, []int{0}, "a"},
		{"a program's between", `{"role":"user","content":"program"},{"role":"user","content":"b"}`, []int{0, 1}, "b"},
		{"a program's alone", `{"role":"user","content":"program"}`, []int{0}, ""},
		{"an image alone", `{"role":"user","content":"a"},{"role":"user","content":[{"type":"image_url"}]}`, []int{0, 1}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			humans, got := mustParse(t, `{"messages":[`+tt.list+`]}`).Said(words)
			if diff := cmp.Diff(tt.humans, humans); diff != "" || got != tt.want {
				t.Errorf("Said() = %v, %q, want %v, %q", humans, got, tt.humans, tt.want)
			}
		})
	}
}

// facts is what a View says about a request as a whole.
type facts struct {
	Model, User, Hint    string
	Stream, Usage, Fixed bool
	MaxOutput            int
	Tools                string
	Needs                Needs
	Messages             int
	Ambiguous            bool
}

func TestFields(t *testing.T) {
	tests := []struct {
		name string
		body string
		want facts
	}{
		{"nothing", `{}`, facts{}},
		{
			"the usual", `{"model":"gpt","messages":[{}],"stream":true,"stream_options":{"x":1,"include_usage":true},"user":"u","max_tokens":9}`,
			facts{Model: "gpt", Messages: 1, Stream: true, Usage: true, User: "u", MaxOutput: 9},
		},
		{"input instead of messages", `{"model":"gpt","input":[{"role":"user","content":"x"}]}`, facts{Model: "gpt"}},
		{
			"fields of unexpected types", `{"model":7,"messages":"x","stream":"true","stream_options":[],"user":{},"metadata":"m","tools":{},"tool_choice":1,"response_format":"json_object","max_tokens":"9","prompt_cache_key":null}`,
			facts{User: "{}"}, // somebody, though not by a name
		},
		{"escaped key and value", `{"mod\u0065l":"g\u0070t\/4","m\u0065ssages":[{}]}`, facts{Model: "gpt/4", Messages: 1}},
		{"other case is another key", `{"Model":"x","MESSAGES":[{}]}`, facts{}},
		{"nested keys are not ours", `{"x":{"model":"m","messages":[{}],"stream":true},"y":[{"user":"u"}]}`, facts{}},

		{"user beats safety_identifier", `{"safety_identifier":"s","user":"u"}`, facts{User: "u"}},
		{"safety_identifier", `{"user":"","safety_identifier":"s"}`, facts{User: "s"}},
		{"cache key beats metadata", `{"metadata":{"user_id":"u","session_id":"s"},"prompt_cache_key":"k"}`, facts{Hint: "k"}},
		{"metadata session beats user", `{"metadata":{"user_id":"u","session_id":"s","x":{"session_id":"no"}}}`, facts{Hint: "s"}},
		{"metadata user", `{"metadata":{"user_id":"u"}}`, facts{Hint: "u"}},

		{"max_completion_tokens beats max_tokens", `{"max_completion_tokens":5,"max_tokens":9}`, facts{MaxOutput: 5}},
		{"in either order", `{"max_tokens":9,"max_completion_tokens":5}`, facts{MaxOutput: 5}},
		{"null max_completion_tokens", `{"max_tokens":9,"max_completion_tokens":null}`, facts{MaxOutput: 9}},
		{"output limits that are none", `{"max_tokens":-4,"max_completion_tokens":123456789012345678901234567890}`, facts{}},

		{
			"tools", `{"tools":[{"type":"function","function":{"name":"b","parameters":{"name":"no"}}},{"name":"a","input_schema":{}},{"type":"web_search"}],"tool_choice":"auto"}`,
			facts{Tools: "b\na\n", Needs: Needs{Tools: true}},
		},
		{"no tools", `{"tools":[],"tool_choice":"none"}`, facts{}},
		{"tools that are none", `{"tools":[null,5]}`, facts{Tools: "\n", Needs: Needs{Tools: true}}},
		{"old functions", `{"functions":[{"name":"f"}]}`, facts{Tools: "f", Needs: Needs{Tools: true}}},
		{
			"required tool", `{"tools":[{"function":{"name":"f"}}],"tool_choice":"required"}`,
			facts{Tools: "f", Needs: Needs{Tools: true}, Fixed: true},
		},
		{"named tool", `{"tool_choice":{"type":"function","function":{"name":"f"}}}`, facts{Fixed: true}},
		{
			"json_schema", `{"response_format":{"json_schema":{"schema":{"type":"object"}},"type":"json_schema"}}`,
			facts{Fixed: true, Needs: Needs{JSONSchema: true}},
		},
		{"json_object", `{"response_format":{"type":"json_object"}}`, facts{Fixed: true}},
		{"text", `{"response_format":{"type":"text"}}`, facts{}},
		{"reasoning", `{"reasoning_effort":"low"}`, facts{Needs: Needs{Reasoning: true}}},
		{"no reasoning", `{"reasoning_effort":"none"}`, facts{}},
		{"null reasoning", `{"reasoning_effort":null}`, facts{}},
		{
			"image in an old message", `{"messages":[{"role":"user","content":[{"type":"image_url"}]},{"role":"user","content":"x"}]}`,
			facts{Messages: 2, Needs: Needs{Vision: true}},
		},
		{"audio", `{"messages":[{"content":[{"input_audio":{"data":"x"},"type":"input_audio"}]}]}`, facts{Messages: 1, Needs: Needs{Audio: true}}},
		{"file", `{"messages":[{"content":[{"type":"file","file":{}}]}]}`, facts{Messages: 1, Needs: Needs{File: true}}},

		{"two models", `{"model":"a","model":"b"}`, facts{Model: "b", Ambiguous: true}},
		{"two models, one escaped", `{"model":"a","mod\u0065l":"b"}`, facts{Model: "b", Ambiguous: true}},
		{"two messages", `{"messages":[{}],"messages":[{}]}`, facts{Messages: 2, Ambiguous: true}},
		{"null and messages", `{"messages":null,"messages":[{}]}`, facts{Messages: 1, Ambiguous: true}},
		{"two streams", `{"stream":true,"stream":false}`, facts{Ambiguous: true}},
		{"two stream_options", `{"stream_options":{},"stream_options":null}`, facts{Ambiguous: true}},
		{"two include_usage", `{"stream_options":{"include_usage":true,"include_usage":false}}`, facts{Ambiguous: true}},
		{"two contents", `{"messages":[{"content":"a","content":["b"]}]}`, facts{Messages: 1, Ambiguous: true}},
		{"two roles", `{"messages":[{"role":"user","role":"system"}]}`, facts{Messages: 1, Ambiguous: true}},
		{"two of what we never edit", `{"user":"a","user":"b","seed":1,"seed":2,"x":{"model":1,"model":2}}`, facts{User: "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := mustParse(t, tt.body)
			got := facts{
				v.Model(), v.User(), v.SessionHint(), v.Stream, v.IncludeUsage, v.FormatFixed,
				v.MaxOutput, v.ToolNames, v.Needs, len(v.Messages), v.Ambiguous(),
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("view of %s (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestTextBytes(t *testing.T) {
	v := mustParse(t, `{"messages":[{"content":"abc"},{"content":[{"type":"text","text":"de"},{"type":"image_url","image_url":{"url":"data:,xxxxxxxxx"}}]},{"content":null}],"tools":[{"name":"long_name"}]}`)
	if want := len(`"abc"`) + len(`"de"`) + len(`{"name":"long_name"}`); v.TextBytes != want {
		t.Errorf("TextBytes = %d, want %d", v.TextBytes, want)
	}
}

func TestParseErrors(t *testing.T) {
	deep := func(open, shut string, n int) string {
		return `{"x":` + strings.Repeat(open, n) + strings.Repeat(shut, n) + `}`
	}
	tests := []struct {
		name string
		body string
		want SyntaxError
	}{
		{"empty", ``, SyntaxError{0, `'{'`}},
		{"blank", " \n", SyntaxError{2, `'{'`}},
		{"array", `[{}]`, SyntaxError{0, `'{'`}},
		{"string", `"{}"`, SyntaxError{0, `'{'`}},
		{"byte order mark", "\xef\xbb\xbf{}", SyntaxError{0, `'{'`}},
		{"NUL bytes", "\x00\x00", SyntaxError{0, `'{'`}},
		{"NUL inside", "{\"a\":\x001}", SyntaxError{5, `a value`}},
		{"NUL after", "{}\x00", SyntaxError{2, `nothing after the object`}},
		{"two objects", `{} {}`, SyntaxError{3, `nothing after the object`}},
		{"no end", `{`, SyntaxError{1, `a string`}},
		{"no end after a field", `{"a":1`, SyntaxError{6, `',' or '}'`}},
		{"no end after a comma", `{"a":1,`, SyntaxError{7, `a string`}},
		{"no end of a string", `{"a":"b\"`, SyntaxError{9, `'"' to end the string`}},
		{"wrong end", `{"a":[1}`, SyntaxError{7, `',' or ']'`}},
		{"no colon", `{"a" 1}`, SyntaxError{5, `':'`}},
		{"no value", `{"a":}`, SyntaxError{5, `a value`}},
		{"bare key", `{a:1}`, SyntaxError{1, `a string`}},
		{"single quotes", `{'a':1}`, SyntaxError{1, `a string`}},
		{"bare word", `{"a":yes}`, SyntaxError{5, `a value`}},
		{"NaN", `{"a":NaN}`, SyntaxError{5, `a value`}},
		{"trailing comma in an object", `{"a":1,}`, SyntaxError{7, `a value after ','`}},
		{"trailing comma in messages", `{"messages":[{}, ]}`, SyntaxError{17, `a value after ','`}},
		{"leading comma", `{"a":[,1]}`, SyntaxError{6, `a value`}},
		{"no comma", `{"a":[1 2]}`, SyntaxError{8, `',' or ']'`}},
		{"comment", `{"a":1 // one` + "\n}", SyntaxError{7, `',' or '}'`}},
		{"half a message", `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}`, SyntaxError{65, `',' or ']'`}},
		{"too many arrays", deep("[", "]", 10_000), SyntaxError{5 + maxDepth - 1, `at most 1000 levels of nesting`}},
		{"too many objects", deep(`{"k":`, "1}", 10_000), SyntaxError{5 + 5*(maxDepth-1), `at most 1000 levels of nesting`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Parse([]byte(tt.body))
			got, ok := errors.AsType[*SyntaxError](err)
			if !ok || v != nil {
				t.Fatalf("Parse(%.60q) = %v, %v, want a *SyntaxError alone", tt.body, v, err)
			}
			if *got != tt.want {
				t.Errorf("Parse(%.60q): %+v, want %+v", tt.body, *got, tt.want)
			}
		})
	}
}

func TestParseDeepAndWide(t *testing.T) {
	n := maxDepth - 1 // the body itself is one level
	mustParse(t, `{"x":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`)
	mustParse(t, `{"x":[`+strings.Repeat(`{"y":[]},`, 2*maxDepth)+`1]}`)
}

// TestParseTruncated cuts a body at every byte: none of the pieces is JSON.
func TestParseTruncated(t *testing.T) {
	body := realisticBody(3 << 10)
	for n := range len(body) {
		_, err := Parse(body[:n])
		s, ok := errors.AsType[*SyntaxError](err)
		if !ok || s.Offset > n {
			t.Fatalf("Parse of the first %d bytes: %v, want a *SyntaxError within them", n, err)
		}
	}
}

func TestParseKeepsBody(t *testing.T) {
	body := realisticBody(3 << 10)
	before := bytes.Clone(body)
	v := mustParse(t, string(body))
	for i := range v.Messages {
		v.Text(i)
	}
	if !bytes.Equal(v.Raw, before) {
		t.Error("parsing changed the body")
	}
}
