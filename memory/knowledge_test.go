package memory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// knows is knowledge as a table shows it: each memory with its type, totals
// where not all are there, and what is odd.
func knows(tb testing.TB, s *Store, scope Scope) (out []string) {
	tb.Helper()
	k, err := s.Knowledge(tb.Context(), scope)
	if err != nil {
		tb.Fatal(err)
	}
	for _, known := range k.Known {
		for _, item := range known.Items {
			out = append(out, string(known.Type)+": "+item.Content)
		}
		if known.Total != len(known.Items) {
			out = append(out, fmt.Sprint(known.Type, " total: ", known.Total))
		}
	}
	for _, o := range k.Opposed {
		out = append(out, "opposed: "+o.Content+" / "+o.Other.Content)
	}
	if len(k.Unknown) > 0 {
		out = append(out, "unknown: "+strings.Join(k.Unknown, ", "))
	}

	return out
}

func TestKnowledge(t *testing.T) {
	item := func(typ Type, content string, days int) NewItem {
		return NewItem{Type: typ, Content: content, CreatedAt: noon.AddDate(0, 0, -days)}
	}
	about := func(content string, days int) NewItem {
		return NewItem{Type: Fact, Content: content, Subject: "event bus", Attribute: "choice", CreatedAt: noon.AddDate(0, 0, -days)}
	}
	tests := []struct {
		name            string
		workspace, user []NewItem
		want            []string
	}{
		{name: "nothing"},
		{
			name: "by type, the newest first; no event, no to-do, nobody's identity",
			workspace: []NewItem{
				item(Observation, "It rains.", 1), item(Fact, "The store is SQLite.", 20), item(Fact, "The queue is full.", 3),
				item(Decision, "We use Go.", 25), item(Goal, "Ship by May.", 50), item(Event, "The office moves.", 2), item(Todo, "Call them.", 2),
			},
			want: []string{
				"goal: Ship by May.", "decision: We use Go.", "fact: The queue is full.", "fact: The store is SQLite.",
				"observation: It rains.",
			},
		},
		{
			name:      "what was said twice goes first",
			workspace: []NewItem{item(Fact, "The store is SQLite.", 20), item(Fact, "The queue is full.", 3), item(Fact, "The store is SQLite.", 2)},
			want:      []string{"fact: The store is SQLite.", "fact: The queue is full."},
		},
		{
			name:      "the user's own and the workspace's, where they differ",
			workspace: []NewItem{about("The event bus is Redis.", 9)},
			user:      []NewItem{about("The event bus is going to be NATS.", 3)},
			want: []string{
				"fact: The event bus is going to be NATS.", "fact: The event bus is Redis.",
				"opposed: The event bus is going to be NATS. / The event bus is Redis.",
			},
		},
		{
			name:      "a value that was replaced is not known any more",
			workspace: []NewItem{about("The event bus is Redis.", 9), about("The event bus is NATS.", 3)},
			want:      []string{"fact: The event bus is NATS."},
		},
		{
			name: "the opposite of what was liked",
			user: []NewItem{item(Preference, "I like tea.", 9), item(Preference, "I hate tea.", 3)},
			want: []string{"preference: I hate tea.", "opposed: I hate tea. / I like tea."},
		},
		{
			name:      "a goal names what nothing is known of",
			workspace: []NewItem{item(Goal, "Move the bus to Zephyr before Kestrel ships.", 9), item(Fact, "The team builds Kestrel with Rust.", 3)},
			want: []string{
				"goal: Move the bus to Zephyr before Kestrel ships.", "fact: The team builds Kestrel with Rust.", "unknown: Zephyr",
			},
		},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openStore(t, nil)
			agent := fmt.Sprint("agent", i)
			addAll(t, s, scopeIn(t, agent, ""), tt.workspace...)
			addAll(t, s, scopeIn(t, agent, "ana"), tt.user...)
			if d := cmp.Diff(tt.want, knows(t, s, scopeIn(t, agent, "ana"))); d != "" {
				t.Error(d)
			}
		})
	}
}

// A page of knowledge is bounded, says how much there is, and is read anew
// after each change.
func TestKnowledgeIsBoundedAndCurrent(t *testing.T) {
	s := openStore(t, nil)
	scope := scopeOf(t, "")
	var items []NewItem
	for i := range maxKnown + 7 {
		items = append(items, NewItem{Type: Fact, Content: fmt.Sprintf("Server %d stands in rack %d.", i, i*7)})
	}
	addAll(t, s, scope, items...)
	got := knows(t, s, scope)
	if want := fmt.Sprint("fact total: ", maxKnown+7); len(got) != maxKnown+1 || got[maxKnown] != want {
		t.Errorf("of %d facts %d lines are told, the last %q; want %q", len(items), len(got), got[len(got)-1], want)
	}
	out := add(t, s, scope, NewItem{Type: Goal, Content: "Empty the racks."})
	if got := knows(t, s, scope); got[0] != "goal: Empty the racks." {
		t.Errorf("a new goal isn't told first, but %q", got[0])
	}
	if _, err := s.Forget(t.Context(), scope, out.ID); err != nil {
		t.Fatal(err)
	}
	if got := knows(t, s, scope); got[0] == "goal: Empty the racks." {
		t.Error("what was forgotten is still told")
	}
}

func BenchmarkKnowledge(b *testing.B) {
	s := openStore(b, nil)
	scope := scopeOf(b, "ana")
	var items []NewItem
	for i := range 50_000 {
		typ := []Type{Fact, Decision, Goal, Preference, Observation}[i%5]
		items = append(items, NewItem{Type: typ, Content: fmt.Sprintf("Thing number %d of Team%d", i, i%100)})
	}
	addAll(b, s, scope, items...)
	addAll(b, s, scopeOf(b, ""), items[:1000]...)
	b.Run("kept", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Knowledge(b.Context(), scope); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.known.apply([]change{{scope: scope}})
			if _, err := s.Knowledge(b.Context(), scope); err != nil {
				b.Fatal(err)
			}
		}
	})
}
