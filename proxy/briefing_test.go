package proxy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/proxy"
)

// slowBriefer makes a briefing that takes longer than all smart steps may.
type slowBriefer struct {
	proxy.Ambient
	takes  time.Duration
	err    error
	panics bool
	asked  int
}

func (b *slowBriefer) Brief(context.Context, ambient.Scope, ambient.Moment) (string, error) {
	b.asked++
	<-time.After(b.takes)
	if b.panics {
		panic("no briefing today")
	}
	return ambient.BriefedByRules, b.err
}

// A briefing takes nothing of the time of the other steps, and its failures
// nothing of the prompt.
func TestBriefingIsNoStepOfTheBudget(t *testing.T) {
	tests := []struct {
		name   string
		edit   func(*slowBriefer)
		failed float64
	}{
		{"slow", func(b *slowBriefer) { b.takes = 600 * time.Millisecond }, 0},
		{"failing", func(b *slowBriefer) { b.err = errors.New("no") }, 1},
		{"panicking", func(b *slowBriefer) { b.panics = true }, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &slowBriefer{}
			tt.edit(b)
			s := newStack(t, func(c *proxy.Config) {
				withAmbient(t)(c)
				b.Ambient = c.Ambient
				c.Ambient = b
				c.Limits.SmartBudget = 500 * time.Millisecond
			})
			s.remember("", "decision: We use NATS.")
			a := s.post(talk("auto", "Continue the benchmark"), "X-Process-Type: worker", "X-Context-Mode: briefed", "X-Session-Id: w")
			if !strings.Contains(s.system(), "We use NATS.") || a.status != 200 {
				t.Errorf("status %d, and the prompt is\n%s", a.status, s.system())
			}
			if got := s.failOpen("ambient", "briefing"); got != tt.failed {
				t.Errorf("%v failures are counted, want %v", got, tt.failed)
			}
		})
	}
}

// Who is briefed: a worker that asks for it, with the request that it begins
// with.
func TestWhoIsBriefed(t *testing.T) {
	worker := []string{"X-Process-Type: worker", "X-Context-Mode: briefed", "X-Session-Id: w"}
	tests := []struct {
		name    string
		path    string
		body    string
		headers []string
		want    int
	}{
		{"a worker that begins", "/v1/chat/completions", talk("auto", "Continue."), worker, 1},
		{"a later turn", "/v1/chat/completions", talk("auto", "Continue.", "Done.", "And now?"), worker, 0},
		{"a step of a tool loop", "/v1/chat/completions", `{"model":"auto","messages":[{"role":"user","content":"Continue."},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"ok"}]}`, worker, 0},
		{"a worker that doesn't ask", "/v1/chat/completions", talk("auto", "Continue."), worker[:1], 0},
		{"ambient", "/v1/chat/completions", talk("auto", "Continue."), []string{worker[0], "X-Context-Mode: ambient"}, 0},
		{"without memory", "/v1/chat/completions", talk("auto", "Continue."), append([]string{"X-Memory: off"}, worker...), 0},
		{"bypassed", "/v1/chat/completions", talk(mid, "Continue."), append([]string{"X-Bypass: true"}, worker...), 0},
		{"only asked what would become of it", "/api/route", talk("auto", "Continue."), worker, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := &slowBriefer{}
			s := newStack(t, func(c *proxy.Config) {
				withAmbient(t)(c)
				b.Ambient = c.Ambient
				c.Ambient = b
			})
			if a := s.send("POST", tt.path, tt.body, tt.headers...); a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if b.asked != tt.want {
				t.Errorf("%d briefings were made, want %d", b.asked, tt.want)
			}
		})
	}
}

// What the conversation itself still says is no news to it; to another it is.
func TestWhatWasJustSaidIsNoNews(t *testing.T) {
	s := newStack(t, withAmbient(t))
	if a := s.send("POST", "/api/events", `[{"summary":"We decided to use NATS.","type":"decision","name":"Ana","channel":"eng"},{"summary":"CI is green","type":"outcome","channel":"eng"}]`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for session, want := range map[string]bool{"same": false, "other": true} {
		said := []string{"We decided to use NATS. And now?", "Now we wait.", "For what?"}
		if session == "other" {
			said[0] = "What are we up to?"
		}
		s.post(talk("auto", said...), "X-Channel-Id: eng", "X-Session-Id: "+session)
		body := string(s.upstream.Last().Body)
		if got := strings.Contains(body, "Ana: We decided to use NATS."); got != want || !strings.Contains(body, "CI is green") {
			t.Errorf("the %s conversation is told of the decision: %v, want %v\n%s", session, got, want, body)
		}
	}
}
