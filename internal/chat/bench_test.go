package chat

import (
	"fmt"
	"strings"
	"testing"
)

// realisticBody returns a request of about size bytes as a coding agent sends
// it: a long system prompt, tools with nested schemas, and a history of prose,
// code full of escapes, tool calls and their results.
func realisticBody(size int) []byte {
	const (
		prose = "The retry policy should treat a 429 apart from a 503, because the first one says when to come back — and we ought to listen. "
		code  = "func (s *Server) Close() error {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif s.closed {\n\t\treturn fmt.Errorf(\"server %q: %w\", s.name, ErrClosed)\n\t}\n\treturn nil\n}\n"
		args  = `{"path":"internal/server/close.go","edits":[{"old":"a\tb","new":"\"c\""}]}`
	)
	b := []byte(`{"model":"gpt-5","stream":true,"temperature":0.2,"user":"u-17","metadata":{"session_id":"0199"}`)
	if size > 1<<10 {
		b = append(b, `,"tools":[`...)
		for i := range min(size/3000, 30) {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"type":"function","function":{"name":"tool_%d","description":%s,"parameters":{"type":"object",`+
				`"properties":{"path":{"type":"string","description":"Where to look."},"limit":{"type":"integer","minimum":1},`+
				`"mode":{"enum":["fast","exact"]}},"required":["path"],"additionalProperties":false}}}`, i, AppendQuoted(nil, prose))
		}
		b = append(b, ']')
	}
	b = append(AppendQuoted(append(b, `,"messages":[{"role":"system","content":`...), strings.Repeat(prose, size/3000)), '}')
	for turn := 0; turn == 0 || len(b) < size-400; turn++ {
		b = append(AppendQuoted(append(b, `,{"role":"user","content":`...), prose), '}')
		if size <= 1<<10 {
			break
		}
		b = fmt.Appendf(b, `,{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"tool_1","arguments":%s}}]}`,
			turn, AppendQuoted(nil, args))
		b = fmt.Appendf(b, `,{"role":"tool","tool_call_id":"call_%d","content":%s}`, turn, AppendQuoted(nil, strings.Repeat(code, 16)))
		b = append(AppendQuoted(append(b, `,{"role":"assistant","content":[{"type":"text","text":`...), prose+code), "}]}"...)
	}
	return append(b, "]}"...)
}

var benchmarkSizes = []struct {
	name string
	size int
}{{"300B", 300}, {"30KB", 30_000}, {"400KB", 400_000}}

func BenchmarkParse(b *testing.B) {
	for _, s := range benchmarkSizes {
		b.Run(s.name, func(b *testing.B) {
			body := realisticBody(s.size)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplice(b *testing.B) {
	block := strings.Repeat("- Decision: Postgres over MySQL.\n", 60)
	for _, s := range benchmarkSizes {
		b.Run(s.name, func(b *testing.B) {
			v := mustParse(b, string(realisticBody(s.size)))
			humans := v.Humans()
			b.SetBytes(int64(len(v.Raw)))
			b.ReportAllocs()
			for b.Loop() {
				system, _ := v.AppendSystem(block)
				user, _ := v.PrefixUser(humans[len(humans)-1], "# Recalled memory\n- x")
				usage, _ := v.AskUsage()
				if _, err := Splice(v.Raw, []Edit{v.SetModel("small"), usage, system, user}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAnswerFrame(b *testing.B) {
	frame := []byte(`data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1764488100,"model":"gpt-5","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}],"usage":null}` + "\n\n")
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	var a Answer
	for b.Loop() {
		a.Frame(frame)
	}
}

func BenchmarkFrames(b *testing.B) {
	stream := []byte(strings.Repeat(`data: {"choices":[{"index":0,"delta":{"content":" word"}}]}`+"\n\n", 100))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	var f Frames
	for b.Loop() {
		for chunk := stream; len(chunk) > 0; chunk = chunk[min(1400, len(chunk)):] {
			f.Write(chunk[:min(1400, len(chunk))])
			for f.Next() != nil {
			}
		}
	}
}
