package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// workload makes the requests of a cell: sessions of some turns each, every
// turn with all that was said before. Read-only, so workers share it.
type workload struct {
	name    string // in session ids
	model   string
	pages   []page
	turns   int
	stream  bool
	headers string // complete lines
}

// page is what surrounds a session's turns in a request body.
type page struct{ before, after []byte }

// poolSize bounds the distinct pages of a workload.
const poolSize = 20

func newWorkload(name, model string, size int, headers string, stream bool) *workload {
	w := &workload{name: name, model: model, turns: 4, stream: stream, headers: headers}
	if size <= 1000 {
		w.turns = 2 // more would not fit
	}
	pool := min(poolSize, max(1, 2<<20/size))
	for i := range pool {
		r := rand.New(rand.NewPCG(uint64(i), uint64(size)))
		switch {
		case size <= 1000:
			w.pages = append(w.pages, w.page([]message{{Role: "system", Content: "You are a helpful engineer."}}, nil))
		case size <= 100_000:
			w.pages = append(w.pages, w.page(talk(r, size), nil))
		default:
			w.pages = append(w.pages, w.page(work(r, size), functions(r)))
		}
	}
	return w
}

type message struct {
	Role       string     `json:"role"`
	Content    any        `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string            `json:"id"`
	Type     string            `json:"type"`
	Function map[string]string `json:"function"`
}

// talk is a long chat.
func talk(r *rand.Rand, size int) []message {
	all := []message{{Role: "system", Content: prose(r, size/15)}}
	for n, i := size/15, 0; n < size*19/20; i++ {
		m := message{Role: []string{"user", "assistant"}[i%2], Content: prose(r, 200+600*(i%2))}
		n += len(m.Content.(string)) + 40
		all = append(all, m)
	}
	return closed(all)
}

// work is what a coding agent sends: a long system prompt, and many files read.
func work(r *rand.Rand, size int) []message {
	all := []message{{Role: "system", Content: prose(r, 12_000)}, {Role: "user", Content: prose(r, 400)}}
	for n, i := 12_400, 0; n < size*85/100; i++ {
		id := "call_" + strconv.Itoa(i)
		args := fmt.Sprintf(`{"path":"internal/%s/handle%d.go"}`, pick(r, projects), i)
		all = append(all,
			message{Role: "assistant", ToolCalls: []toolCall{{ID: id, Type: "function", Function: map[string]string{"name": "read_file", "arguments": args}}}},
			message{Role: "tool", Content: source(r, 4000), ToolCallID: id})
		n += 4900
	}
	return closed(all)
}

// closed ends a history with an answer, so that a person's turn comes next.
func closed(all []message) []message {
	if all[len(all)-1].Role != "assistant" || all[len(all)-1].Content == nil {
		all = append(all, message{Role: "assistant", Content: "Done."})
	}
	return all
}

// functions are the tools of an agent, about a kilobyte each.
func functions(r *rand.Rand) []map[string]any {
	var all []map[string]any
	for i := range 20 {
		all = append(all, map[string]any{"type": "function", "function": map[string]any{
			"name": "tool_" + strconv.Itoa(i), "description": prose(r, 700),
			"parameters": map[string]any{"type": "object", "properties": map[string]any{
				"path":  map[string]string{"type": "string", "description": prose(r, 100)},
				"limit": map[string]string{"type": "integer"},
			}, "required": []string{"path"}},
		}})
	}
	return all
}

// page renders a history. Numbers and strings of these types always encode.
func (w *workload) page(history []message, tools any) page {
	messages, _ := json.Marshal(history)
	p := page{before: fmt.Appendf(nil, `{"model":%q,"messages":%s`, w.model, messages[:len(messages)-1]), after: []byte("]")}
	if tools != nil {
		t, _ := json.Marshal(tools)
		p.after = fmt.Appendf(p.after, `,"tools":%s`, t)
	}
	p.after = append(p.after, `,"temperature":0.2`...)
	if w.stream {
		p.after = append(p.after, `,"stream":true`...)
	}
	p.after = append(p.after, '}')
	return p
}

// writer makes one worker's requests, one after the other, in a buffer that it
// keeps.
type writer struct {
	w           *workload
	worker      int
	sent        int // by next
	turns, text []byte
}

// next is the next message.
func (b *writer) next() []byte {
	b.sent++
	return b.message(b.sent - 1)
}

// message is the worker's n-th message: the headers but those of the target,
// and the body. It is valid until the next call.
func (b *writer) message(n int) []byte {
	nth, turn := n/b.w.turns, n%b.w.turns
	session := uint64(b.worker)<<32 | uint64(nth)
	scope := (nth + b.worker) % scopes
	p := b.w.pages[(nth+b.worker)%len(b.w.pages)]
	b.turns = b.turns[:0]
	for i := range turn {
		b.turns = fmt.Appendf(b.turns, `,{"role":"user","content":"%s"},{"role":"assistant","content":"Done."}`, question(session, uint64(i)))
	}
	b.turns = fmt.Appendf(b.turns, `,{"role":"user","content":"%s"}`, question(session, uint64(turn)))
	size := len(p.before) + len(b.turns) + len(p.after)
	b.text = fmt.Appendf(b.text[:0], "Content-Type: application/json\r\nX-Agent-Id: %s\r\nX-User-Id: %s\r\nX-Session-Id: %s-%d-%d\r\n%sContent-Length: %d\r\n\r\n",
		agentName(scope), userName(scope), b.w.name, b.worker, nth, b.w.headers, size)
	b.text = append(append(append(b.text, p.before...), b.turns...), p.after...)
	return b.text
}
