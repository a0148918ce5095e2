package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzParse holds the promises of this package against encoding/json: a valid
// object is read, an edit changes the bytes that it names and no others, and
// whoever reads the result sees the edit.
func FuzzParse(f *testing.F) {
	for _, body := range []string{
		`{}`,
		` { "x" : [ 1 , -2.5E+3 , true , null , "\"\\" ] } `,
		`{"stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}],"model":"m"}`,
		`{"messages":[{"content":[{"text":"a","type":"text"}],"role":"developer"},{"role":"user","content":[]}],"stream":true,"stream_options":null}`,
		`{"stream_options":{"include_usage":false},"stream":true,"messages":[{"role":"user","content":""}]}`,
		`{"mod\u0065l":"a","messages":[{"r\u006fle":"syst\u0065m","content":null}],"stream":true,"stream_options":{}}`,
		`{"model":"a","model":"b","messages":[7,{"role":"user","content":"\ud800\u0041"}]}`,
		`{"x":[[[[[[[[[[]]]]]]]]]],"tools":[{"function":{"name":"f"}}],"tool_choice":{"a":1}}`,
		`{"temperature":1}`, `{"top_p":1,"temperature":1,"max_tokens":9}`, `{"max_tokens":9,"messages":[{"role":"user","content":"u"}],"temperature":1}`,
		`{"messages":[{"role":"user","content":[{"type":"thinking"},{"type":"text","text":"a"},{"type":"redacted_thinking"}]}],"top_p":1}`,
		`{"a":1,}`, `{"a`, `[]`, "{\"a\":\"\x00\xff\"}",
	} {
		f.Add([]byte(body), "gpt-\"4\"", "# Memory\n- x", "ctx\\", uint8(127))
	}
	f.Fuzz(func(t *testing.T, body []byte, model, block, prefix string, which uint8) {
		v, err := Parse(body)
		if err != nil {
			checkRefusal(t, body, err)
			return
		}
		p := plan{v: v, model: model, block: block, prefix: prefix}
		p.choose(which)
		out, err := Splice(body, p.edits)
		if err != nil {
			t.Fatalf("Splice(%q, %+v): %v", body, p.edits, err)
		}
		if want := applyOneByOne(body, p.edits); !bytes.Equal(out, want) {
			t.Fatalf("Splice(%q, %+v) = %q, want %q", body, p.edits, out, want)
		}
		if !json.Valid(body) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("edits made %q invalid: %q", body, out)
		}
		if !v.Ambiguous() {
			p.readBack(t, out)
		}
	})
}

func checkRefusal(t *testing.T, body []byte, err error) {
	t.Helper()
	s, ok := errors.AsType[*SyntaxError](err)
	if !ok || s.Offset < 0 || s.Offset > len(body) {
		t.Errorf("Parse(%q): %v, want a *SyntaxError inside it", body, err)
	}
	object := bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{"))
	if object && json.Valid(body) && nesting(body) <= maxDepth {
		t.Errorf("Parse(%q): %v, but it is a JSON object", body, err)
	}
}

// nesting is how deep the brackets of a valid JSON text go.
func nesting(body []byte) (deepest int) {
	depth := 0
	for d := json.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		deepest = max(deepest, depth)
	}
}

// applyOneByOne is Splice by cutting and joining, last edit first.
func applyOneByOne(raw []byte, edits []Edit) []byte {
	edits = slices.SortedStableFunc(slices.Values(edits), func(a, b Edit) int { return a.At.Start - b.At.Start })
	out := raw
	for _, e := range slices.Backward(edits) {
		out = slices.Concat(out[:e.At.Start], e.New, out[e.At.End:])
	}
	return out
}

// plan is a choice of edits to one body.
type plan struct {
	v                               *View
	model, block, prefix            string
	setModel, ask, system, prefixed bool
	user                            int // the message that gets the prefix
	edits                           []Edit
}

// choose makes the edits that the bits of which name.
func (p *plan) choose(which uint8) {
	add := func(e Edit, ok bool) bool {
		if ok {
			p.edits = append(p.edits, e)
		}
		return ok
	}
	p.setModel = which&1 != 0 && add(p.v.SetModel(p.model), true)
	if which&2 != 0 {
		p.ask = add(p.v.AskUsage())
	}
	if which&4 != 0 {
		p.system = add(p.v.AppendSystem(p.block))
	}
	if humans := p.v.Humans(); which&8 != 0 && len(humans) > 0 {
		p.user = humans[len(humans)-1]
		p.prefixed = add(p.v.PrefixUser(p.user, p.prefix))
	}
	if which&16 != 0 {
		p.edits = append(p.edits, p.v.ForReasoning()...)
	}
	if which&32 != 0 {
		p.edits = append(p.edits, p.v.DropThinking()...)
	}
	if which&64 != 0 {
		p.edits = append(p.edits, p.v.LimitOutput(5)...)
	}
}

// readBack checks that a reader of the edited body sees each edit and, in all
// messages that had none, what the original said. It reads fields with
// encoding/json, of which the last counts when a key repeats.
func (p *plan) readBack(t *testing.T, out []byte) {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(out, &fields); err != nil {
		t.Fatalf("decoding %q: %v", out, err)
	}
	if p.setModel {
		var name string
		if err := json.Unmarshal(fields["model"], &name); err != nil || name != valid(p.model) {
			t.Errorf("model of %q is %q (%v), want %q", out, name, err, valid(p.model))
		}
	}
	if p.ask {
		var options map[string]json.RawMessage
		if err := json.Unmarshal(fields["stream_options"], &options); err != nil || string(options["include_usage"]) != "true" {
			t.Errorf("%q does not ask for usage (%v)", out, err)
		}
	}
	v, err := Parse(out)
	if err != nil {
		t.Fatalf("Parse(%q): %v", out, err)
	}
	p.readMessages(t, v)
}

func (p *plan) readMessages(t *testing.T, v *View) {
	t.Helper()
	before, after := seenIn(p.v), seenIn(v)
	if p.system {
		if !strings.HasSuffix(after[0].Text, valid(p.block)) || v.Leading() != 0 {
			t.Errorf("%q does not lead with a system text ending in %q", v.Raw, p.block)
		}
		if p.v.Leading() < 0 {
			after = after[1:]
		} else {
			before[0], after[0] = seen{}, seen{}
		}
	}
	if p.prefixed {
		text, parts := after[p.user].Text, p.v.Messages[p.user].Kind == KindParts
		if !strings.Contains(text, valid(p.prefix)) || !parts && !strings.HasPrefix(text, valid(p.prefix)) {
			t.Errorf("message %d of %q does not start with %q", p.user, v.Raw, p.prefix)
		}
		before[p.user], after[p.user] = seen{}, seen{}
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("edits changed other messages of %q (-before +after):\n%s", v.Raw, diff)
	}
}

// valid is s with each invalid byte as U+FFFD.
func valid(s string) string { return string([]rune(s)) }
