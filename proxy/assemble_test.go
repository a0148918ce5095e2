package proxy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// talk is a chat request of alternating human and assistant messages, the
// first and the last a human's.
func talk(model string, said ...string) string {
	roles := [...]string{"user", "assistant"}
	messages := []map[string]string{{"role": "system", "content": "Be brief."}}
	for i, text := range said {
		messages = append(messages, map[string]string{"role": roles[i%2], "content": text})
	}
	b, _ := json.Marshal(map[string]any{"model": model, "messages": messages}) // strings always marshal
	return string(b)
}

const compares = "Compare Redis and NATS for our event bus: which is better, and what are the trade-offs?"

// TestFallbackIsAssembledForItsTier fails a small model: the one in its place,
// of another tier, gets a prompt of its own, and with that one the conversation
// goes on. A prompt that was answered stays as it is.
func TestFallbackIsAssembledForItsTier(t *testing.T) {
	const forSmall, forMid = "List the trade-offs.", "Briefly state assumption, then recommendation."
	tests := []struct {
		name   string
		before []string // turns that the small model answers
		want   string   // before the newest turn
	}{
		{"the first turn", nil, forMid},
		{"a later turn", []string{"Compare Go and Rust for the gateway: pros and cons?", "Go."}, forMid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStack(t, nil)
			headers := []string{"X-Session-Id: s", "X-Tier: light"}
			if len(tt.before) > 0 {
				s.post(talk("auto", tt.before[0]), headers...)
			}
			s.upstream.Misbehave(failing(s.upstream, small, status(503)))
			s.post(talk("auto", append(tt.before, compares)...), headers...)
			sent := gjson.GetBytes(s.upstream.Last().Body, "messages").Array()
			if model := gjson.GetBytes(s.upstream.Last().Body, "model").String(); model != mid {
				t.Fatalf("asked %s, want %s", model, mid)
			}
			if got := sent[len(sent)-1].Get("content").String(); !strings.Contains(got, tt.want) || strings.Contains(got, forSmall) {
				t.Errorf("the newest turn is\n%s\nwant the scaffold %q", got, tt.want)
			}
			if len(tt.before) > 0 && !strings.Contains(sent[1].Get("content").String(), forSmall) {
				t.Errorf("the answered turn changed to\n%s", sent[1])
			}

			s.upstream.Misbehave(nil)
			s.post(talk("auto", append(tt.before, compares, "NATS.", "Thanks, and what of Kafka?")...), headers...)
			again := gjson.GetBytes(s.upstream.Last().Body, "messages").Array()[:len(sent)]
			if diff := cmp.Diff(texts(sent), texts(again)); diff != "" {
				t.Errorf("what was answered comes again otherwise (-before +now):\n%s", diff)
			}
		})
	}
}

func texts(messages []gjson.Result) (out []string) {
	for _, m := range messages {
		out = append(out, m.Raw)
	}
	return out
}

// TestFramesFromMemory states, changes and asks: the first turn of another
// conversation is told what is so, what changed and what is open, once each,
// however little its words have to do with it; an unknown user nothing of it.
func TestFramesFromMemory(t *testing.T) {
	s := newStack(t, nil)
	for _, text := range []string{
		"We decided to use PostgreSQL for the ledger service.", "I live in Bern.", "I live in Zurich now.", "My goal is to ship the ledger by May.",
		"I prefer answers as short bullet points.",
	} {
		s.post(ask("auto", text), "X-User-Id: ana", "X-Session-Id: one")
		if err := s.memory.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.post(talk("auto", "What is a monad?"), "X-User-Id: ana", "X-Session-Id: two")
	block := gjson.GetBytes(s.upstream.Last().Body, "messages.0.content").String()
	if n := strings.Count(block, "PostgreSQL"); n != 1 {
		t.Errorf("the decision is there %d times:\n%s", n, block)
	}
	for _, want := range []string{"# State\n- [decision", "# Recent changes\n- [identity", "I live in Bern. → I live in Zurich now.", "# Active work\n- [goal", "# Personal preferences\n- [preference"} {
		if !strings.Contains(block, want) {
			t.Errorf("the block lacks %q:\n%s", want, block)
		}
	}
	s.post(talk("auto", "What is a monad?"), "X-User-Id: bob", "X-Session-Id: two")
	if got := gjson.GetBytes(s.upstream.Last().Body, "messages.0.content").String(); got != "Be brief." {
		t.Errorf("bob is told\n%s", got)
	}
}
