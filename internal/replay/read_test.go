package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// byWord scores "hard" heavy and all else light.
type byWord struct{}

func (byWord) Score(text string) scoring.Score {
	if strings.Contains(text, "hard") {
		return scoring.Score{Tier: scoring.Heavy}
	}
	return scoring.Score{Tier: scoring.Light}
}

func read(t *testing.T, lines string) []Step {
	t.Helper()
	bytes := 0
	steps, err := Read(strings.NewReader(lines), byWord{}, func(n int) { bytes += n })
	if err != nil {
		t.Fatal(err)
	}
	if bytes != len(lines) {
		t.Errorf("told of %d bytes of %d", bytes, len(lines))
	}
	return steps
}

func TestReadBodies(t *testing.T) {
	steps := read(t, `{"ts":"2026-11-30T10:00:01Z","session":"a","agent":"bot","body":{"model":"auto","tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"system","content":"S"},{"role":"user","content":"hard"}]},"usage":{"prompt_tokens":2006,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":1920}}}
{"ts":1764496800.5,"session":"a","model":"m","body":{"model":"big","max_tokens":1,"messages":[{"role":"user","content":"yes"}]},"usage":{"input_tokens":5,"output_tokens":1}}

`)
	if len(steps) != 2 || steps[0].At.After(steps[1].At) {
		t.Fatalf("%+v, want two steps in order of time", steps)
	}
	first, second := steps[1], steps[0]
	if !second.Request.Terse || !second.Request.SideCall || second.Request.Model != "big" || second.Model != "m" || second.At.UnixMilli() != 1764496800500 {
		t.Errorf("the second line is %+v", second)
	}
	want := ledger.Usage{Input: 2006, Cached: 1920, Output: 10}
	if diff := cmp.Diff(want, first.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	r := first.Request
	if r.Session != "a" || r.Agent != "bot" || r.Model != "auto" || r.Score.Tier != scoring.Heavy || r.Humans != 1 || r.Turn == "" ||
		r.Frame == 0 || r.Frame == second.Request.Frame || r.Needs != (chat.Needs{Tools: true}) || r.InputTokens == 0 || r.ProcessType != "channel" {
		t.Errorf("the first line's request is %+v", r)
	}
}

// A harness's message after a tool result is of the turn before it.
func TestReadReminder(t *testing.T) {
	const line = `{"ts":1,"session":"a","body":{"messages":[{"role":"user","content":"hard"}%s]},"usage":{"prompt_tokens":1,"completion_tokens":1}}` + "\n"
	steps := read(t, fmt.Sprintf(line, "")+fmt.Sprintf(line, `,{"role":"tool","content":"ok"},{"role":"user","content":"<system-reminder>x</system-reminder>"}`))
	if first, second := steps[0].Request, steps[1].Request; first.Turn != second.Turn || second.Score.Tier != scoring.Heavy {
		t.Errorf("the reminder is another turn: %+v after %+v", second, first)
	}
}

// TestReadEntries reads what the ledger exports.
func TestReadEntries(t *testing.T) {
	at := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	cost := 0.5
	entry := func(n int, tier, reason string, known bool) ledger.Entry {
		return ledger.Entry{
			ID: fmt.Sprint(n), At: at.Add(time.Duration(n) * time.Second), Tenant: "t", Agent: "a", Session: "s", ProcessType: "channel",
			RequestedModel: "auto", RoutedModel: "large", Tier: tier, Reason: reason, Usage: ledger.Usage{Input: 100, Output: 5},
			UsageKnown: known, InjectedMemoryTokens: 30, Cost: &cost,
		}
	}
	background := entry(6, "", "", true)
	background.Background = "extractor"
	var lines strings.Builder
	enc := json.NewEncoder(&lines)
	for _, e := range []ledger.Entry{
		entry(1, "heavy", "score", true), entry(2, "heavy", "turn", true), entry(3, "heavy", "stay", true),
		entry(4, "light", "score", false), entry(5, "heavy", "terse", true), background,
	} {
		if err := enc.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	type seen struct {
		Turn  string
		Asked scoring.Tier
		Terse bool
	}
	var got []seen
	for _, s := range read(t, lines.String()) {
		got = append(got, seen{s.Request.Turn, s.Request.Score.Tier, s.Request.Terse})
		if s.Usage.Input != 70 || s.Model != "large" || s.Cost == nil || s.Request.Session == "s" {
			t.Errorf("step %+v, want the prompt without what we added, and a session that names its owner", s)
		}
	}
	want := []seen{{"1", scoring.Heavy, false}, {"1", scoring.Heavy, false}, {"2", scoring.Standard, false}, {"3", scoring.Heavy, true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, lines, want string }{
		{"no JSON", "{\n", "line 1: "},
		{"neither kind", "\n{}\n", "line 2: it has neither"},
		{"a broken body", `{"ts":1,"body":[],"usage":{}}`, "reading its body"},
		{"no usage", `{"ts":1,"body":{"messages":[]}}`, "its usage says nothing"},
		{"no time", `{"ts":true,"body":{},"usage":{"prompt_tokens":1}}`, "its ts"},
		{"a broken time", `{"ts":"yesterday","body":{},"usage":{"prompt_tokens":1}}`, "parsing time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(tt.lines), byWord{}, func(int) {})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestTraffic works out by hand what two turns cost each way.
func TestTraffic(t *testing.T) {
	w, err := newWorld(Books()[4], shipped()) // nothing is cached: 0.1, 1 and 5 USD of input
	if err != nil {
		t.Fatal(err)
	}
	cfg := w.cfg
	cfg.Profiles = map[string]routing.Profile{
		"synthetic": w.profile,
		"cheap":     {Light: "light", Standard: "light", Heavy: "light"},
	}
	step := func(n int, tier scoring.Tier, model string) Step {
		return Step{
			At: time.Unix(int64(n), 0), Usage: ledger.Usage{Input: 1_000_000}, Model: "heavy",
			Request: routing.Request{Session: "s", Turn: fmt.Sprint(n), Model: model, ProcessType: "channel", Score: scoring.Score{Tier: tier}},
		}
	}
	steps := []Step{step(1, scoring.Light, "auto"), step(2, scoring.Heavy, "auto"), step(3, scoring.Heavy, "standard")}
	calls := 0
	got, err := Traffic(cfg, steps, func() error { calls++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []Result{
		{Name: Baseline, Requests: 3, CostUSD: 1 + 1 + 1, OfUSD: 3, BelowTier: 2},
		{Name: Recorded, Requests: 3, CostUSD: 15, SavedUSD: -12, OfUSD: 3},
		{Name: Configured, Requests: 3, CostUSD: 0.1 + 5 + 1, SavedUSD: -3.1, OfUSD: 3, Up: 1, Down: 1, BelowTier: 1},
		{Name: "cheap", Requests: 3, CostUSD: 0.3, SavedUSD: 2.7, OfUSD: 3},
		{Name: "synthetic", Requests: 3, CostUSD: 0.1 + 5 + 5, SavedUSD: -7.1, OfUSD: 3, Up: 1},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(near)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	if calls != len(steps)*Plays(cfg) {
		t.Errorf("told of %d steps, want %d", calls, len(steps)*Plays(cfg))
	}
	stop := errors.New("stop")
	if _, err := Traffic(cfg, steps, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("err = %v, want %v", err, stop)
	}
}

// Whatever a line holds, it is read or refused.
func FuzzRead(f *testing.F) {
	f.Add(`{"ts":1,"session":"a","body":{"model":"auto","messages":[{"role":"user","content":"hard"}]},"usage":{"prompt_tokens":2,"completion_tokens":1}}`)
	f.Add(`{"id":"1","at":"2026-11-30T10:00:00Z","tier":"heavy","reason":"held","usage_known":true,"usage":{"input":5}}`)
	f.Add("{}\n\n[]")
	f.Fuzz(func(t *testing.T, lines string) {
		steps, err := Read(strings.NewReader(lines), byWord{}, func(int) {})
		if err != nil && steps != nil {
			t.Errorf("%d steps beside %v", len(steps), err)
		}
		w, worldErr := newWorld(Books()[0], shipped())
		if worldErr != nil {
			t.Fatal(worldErr)
		}
		if _, err := Traffic(w.cfg, steps, func() error { return nil }); err != nil {
			t.Errorf("replaying %q: %v", lines, err)
		}
	})
}
