package proxy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
)

// remember puts memories of a user, "" the workspace, into the stack's store.
// Each is "type: content".
func (s *stack) remember(user string, memories ...string) {
	s.t.Helper()
	scope, err := memory.NewScope("default", "default", user)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range memories {
		typ, content, _ := strings.Cut(m, ": ")
		if _, err := s.memory.Add(s.t.Context(), scope, memory.NewItem{Type: memory.Type(typ), Content: content}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// sectionOf cuts one section out of a text that went upstream, "" if it isn't
// there.
func sectionOf(text, heading string) string {
	_, rest, found := strings.Cut(text, "\n"+heading+"\n")
	if !found {
		return ""
	}
	end := len(rest)
	for _, stop := range []string{"\n\n# ", "\n</understudy-context>"} {
		if i := strings.Index(rest, stop); i >= 0 {
			end = min(end, i)
		}
	}
	return strings.TrimSpace(rest[:end])
}

// system is the system prompt of the newest request upstream.
func (s *stack) system() string {
	return gjson.GetBytes(s.upstream.Last().Body, "messages.0.content").String()
}

// manyFacts are more memories than a prompt has room for.
func manyFacts() (out []string) {
	for i := range 50 {
		out = append(out, fmt.Sprintf("fact: Rack %02d holds the servers of region %02d.", i, i))
	}
	return out
}

// Who names a channel or a mode is told what is known, by type; who doesn't,
// and who asks for nothing, is not.
func TestKnowledgeContext(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		want    bool
	}{
		{"a channel", []string{"X-Channel-Id: eng"}, true},
		{"a mode", []string{"X-Context-Mode: ambient"}, true},
		{"a worker that asks", []string{"X-Process-Type: worker", "X-Context-Mode: ambient"}, true},
		{"a worker", []string{"X-Process-Type: worker"}, false},
		{"a worker in a channel", []string{"X-Process-Type: worker", "X-Channel-Id: eng"}, false},
		{"a plain user", nil, false},
		{"no context", []string{"X-Channel-Id: eng", "X-Context-Mode: none"}, false},
		{"no memory", []string{"X-Channel-Id: eng", "X-Memory: off"}, false},
	}
	s := newStack(t, func(c *proxy.Config) { c.Knowledge = 500 })
	s.remember("", append(manyFacts(), "decision: We use NATS.", "goal: Ship by May.", "observation: The build is slow on Mondays.")...)
	s.remember("bob", "decision: Bob moves to Bern.")
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := s.in(t)
			s.post(talk("auto", "What is a monad?"), append(slices.Clone(tt.headers), fmt.Sprint("X-Session-Id: ", i))...)
			got := sectionOf(s.system(), "# Knowledge Context")
			if !tt.want {
				if got != "" {
					t.Errorf("it is told\n%s", got)
				}
				return
			}
			for _, want := range []string{"## Facts\n- [fact, ", "## Observations\n- [observation, ", " shown)"} {
				if !strings.Contains(got, want) {
					t.Errorf("the section lacks %q:\n%s", want, got)
				}
			}
			if strings.Contains(s.system(), "Bern") {
				t.Errorf("it is told what is bob's:\n%s", s.system())
			}
			if n := strings.Count(s.system(), "Rack 49 "); n != 1 { // the newest fact is in State, too
				t.Errorf("a fact is there %d times:\n%s", n, s.system())
			}
		})
	}
}

// The section keeps to its budget, takes some of each type, gives the same
// bytes for the same knowledge, and stays as it is while the conversation lasts.
func TestKnowledgeContextIsBoundedAndFrozen(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Knowledge = 80 })
	s.remember("", append(manyFacts(), "decision: We use NATS.", "goal: Ship by May.", "observation: The build is slow on Mondays.")...)
	ask := func(session string, said ...string) string {
		s.post(talk("auto", said...), "X-Channel-Id: eng", "X-Session-Id: "+session)
		return s.system()
	}
	first := ask("one", "What is a monad?")
	section := sectionOf(first, "# Knowledge Context")
	if words := len(strings.Fields(section)); words > 80+40 { // headings, types and dates come on top
		t.Errorf("the section has %d words:\n%s", words, section)
	}
	if !strings.Contains(section, "build is slow") {
		t.Errorf("the facts left no room for the observation:\n%s", section)
	}
	if diff := cmp.Diff(first, ask("two", "What is a monad?")); diff != "" {
		t.Errorf("equal knowledge gives other bytes (-one +two):\n%s", diff)
	}
	s.remember("", "decision: We use Kafka after all.")
	if diff := cmp.Diff(first, ask("one", "What is a monad?", "A monoid.", "And a functor?")); diff != "" {
		t.Errorf("the block changed inside the epoch:\n%s", diff)
	}
	if got := ask("three", "What is a monad?"); !strings.Contains(got, "Kafka") {
		t.Errorf("a new conversation isn't told what is new:\n%s", got)
	}
}

// What contradicts and what nothing is known of is named.
func TestKnowledgeContextNamesWhatIsOdd(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) { c.Knowledge = 500 })
	s.remember("ana", "preference: I like tea.", "preference: I hate tea.", "goal: Move the event bus to Zephyr.")
	s.post(talk("auto", "What is a monad?"), "X-Channel-Id: eng", "X-User-Id: ana")
	got := sectionOf(s.system(), "# Knowledge Context")
	for _, want := range []string{"## Contradictions and gaps\n- [contradiction, ", "I hate tea.", "I like tea.", "- [gap] ", "Zephyr"} {
		if !strings.Contains(got, want) {
			t.Errorf("the section lacks %q:\n%s", want, got)
		}
	}
}

// Memory that can't say what it knows costs the prompt that section alone.
func TestKnowledgeFailsOpen(t *testing.T) {
	s := newStack(t, func(c *proxy.Config) {
		c.Knowledge = 500
		c.Memory = ignorant{c.Memory}
	})
	s.remember("", "decision: We use NATS.")
	s.post(talk("auto", "What is a monad?"), "X-Channel-Id: eng")
	if got := s.system(); !strings.Contains(got, "# State\n- [decision") || strings.Contains(got, "Knowledge") {
		t.Errorf("the prompt is\n%s", got)
	}
	if got := s.failOpen("ambient", "knowledge"); got != 1 {
		t.Errorf("%v failures are counted, want 1", got)
	}
}

// ignorant is a memory that doesn't know what it knows.
type ignorant struct{ proxy.Memory }

func (ignorant) Knowledge(context.Context, memory.Scope) (memory.Knowledge, error) {
	return memory.Knowledge{}, errors.New("no idea")
}
