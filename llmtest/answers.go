package llmtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/tidwall/gjson"
)

type object map[string]any

func (u *Upstream) list(w http.ResponseWriter, _ *http.Request) {
	data := []object{}
	for _, m := range u.models {
		data = append(data, object{"id": m, "object": "model", "created": 0, "owned_by": "llmtest"})
	}
	reply(w, object{"object": "list", "data": data})
}

func (u *Upstream) embed(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // from memory
	data, used := []object{}, 0
	for i, input := range gjson.GetBytes(body, "input").Array() { // one string is an array of one
		data = append(data, object{"object": "embedding", "index": i, "embedding": vector(input.String())})
		used += tokens(input.String())
	}
	reply(w, object{
		"object": "list", "model": gjson.GetBytes(body, "model").String(), "data": data,
		"usage": object{"prompt_tokens": used, "total_tokens": used},
	})
}

// vector is the same for the same text, and means nothing.
func vector(text string) []float64 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, text)
	v := make([]float64, 8)
	for i := range v {
		v[i] = float64(h.Sum32()>>(4*i)&15)/8 - 1
	}
	return v
}

// chat answers one request, streamed or not.
func (u *Upstream) chat(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // from memory
	if !gjson.ValidBytes(body) {
		fail(w, 400, "the body is not JSON")
		return
	}
	req := gjson.ParseBytes(body)
	model := req.Get("model").String()
	if !slices.Contains(u.models, model) {
		fail(w, 404, fmt.Sprintf("The model %q does not exist.", model))
		return
	}
	prompt, question := read(req)
	if question == "" {
		fail(w, 400, "messages holds no user message")
		return
	}
	answer := compose(model, prompt, question)
	cached := u.cache.use(model, prompt)
	usage := object{
		"prompt_tokens": tokens(prompt), "completion_tokens": tokens(answer), "total_tokens": tokens(prompt) + tokens(answer),
		"prompt_tokens_details": object{"cached_tokens": cached},
	}
	if req.Get("stream").Bool() {
		u.stream(w, r, model, answer, usage, req.Get("stream_options.include_usage").Bool())
		return
	}
	reply(w, object{
		"id": "chatcmpl-simulated", "object": "chat.completion", "created": time.Now().Unix(), "model": model, "usage": usage,
		"choices": []object{{"index": 0, "finish_reason": "stop", "message": object{"role": "assistant", "content": answer}}},
	})
}

func (u *Upstream) stream(w http.ResponseWriter, r *http.Request, model, answer string, usage object, withUsage bool) {
	u.mu.Lock()
	pause := u.pause
	u.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	send := func(choices []object, usage object) bool {
		chunk := object{"id": "chatcmpl-simulated", "object": "chat.completion.chunk", "created": time.Now().Unix(), "model": model, "choices": choices}
		if usage != nil {
			chunk["usage"] = usage
		}
		b, err := json.Marshal(chunk)
		if err == nil {
			_, err = fmt.Fprintf(w, "data: %s\n\n", b)
		}
		return err == nil && flush.Flush() == nil
	}
	for word := range strings.SplitAfterSeq(answer, " ") {
		if !send([]object{{"index": 0, "delta": object{"content": word}}}, nil) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-time.After(pause):
		}
	}
	send([]object{{"index": 0, "delta": object{}, "finish_reason": "stop"}}, nil)
	if withUsage {
		send([]object{}, usage)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// read joins the prompt's text and finds the newest question.
func read(req gjson.Result) (prompt, question string) {
	var all strings.Builder
	for _, m := range req.Get("messages").Array() {
		text := textOf(m.Get("content"))
		fmt.Fprintf(&all, "%s: %s\n", m.Get("role").String(), text)
		if m.Get("role").String() == "user" {
			question = text
		}
	}
	return all.String(), question
}

func textOf(content gjson.Result) string {
	if !content.IsArray() {
		return content.String()
	}
	var texts []string
	for _, part := range content.Array() {
		texts = append(texts, part.Get("text").String())
	}
	return strings.Join(texts, "\n")
}

// compose writes an answer: what the prompt's notes say that shares words with
// the question, and some filler, longer for a larger model.
func compose(model, prompt, question string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[simulated answer of %s]", model)
	asked := contentWords(question)
	for line := range strings.Lines(prompt) {
		label, note, ok := strings.Cut(strings.TrimSpace(line), "] ")
		if ok && strings.HasPrefix(label, "- [") && slices.ContainsFunc(contentWords(note), func(w string) bool { return slices.Contains(asked, w) }) {
			fmt.Fprintf(&b, " I was told: %s.", strings.TrimSuffix(note, "."))
		}
	}
	b.WriteString(strings.Repeat(" And so it would go on.", 2+tokens(question)/8))
	return b.String()
}

// contentWords are the lower-case words of five letters or more.
func contentWords(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.DeleteFunc(words, func(w string) bool { return len(w) < 5 })
}

func tokens(text string) int { return (len(text) + 3) / 4 }

func reply(w http.ResponseWriter, v object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that left is no fault
}

func fail(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(object{"error": object{"message": message, "type": "invalid_request_error", "code": nil, "param": nil}})
}
