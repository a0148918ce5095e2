package routing

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/scoring"
)

// next decides about a request and lets its model fail, again and again; it
// returns the models in order.
func next(t *testing.T, r *Router, req Request, f Failure) []string {
	t.Helper()
	d, err := r.Decide(req)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	if d.Model != nil {
		names = append(names, d.Model.Name)
	}
	for d.Model != nil && r.Next(&req, &d, f) {
		names = append(names, d.Model.Name)
		if d.Reason != reasonFallback {
			t.Errorf("reason = %q, want %q", d.Reason, reasonFallback)
		}
	}
	return names
}

func TestNext(t *testing.T) {
	vision := func(r Request) Request { r.Needs.Vision = true; return r }
	tests := []struct {
		name      string
		fallbacks map[string][]string
		req       Request
		failure   Failure
		want      []string
	}{
		{name: "the profile, stronger first", req: request("auto", scoring.Light), failure: Overloaded, want: []string{"small", "mid", "large"}},
		{name: "then weaker", req: request("auto", scoring.Heavy), failure: Overloaded, want: []string{"large", "mid", "small"}},
		{name: "the client's own before them", req: request("coder", scoring.Light), failure: RateLimited, want: []string{"small", "coder", "mid", "large"}},
		{name: "a named model has none", req: request("small", scoring.Heavy), failure: RateLimited, want: []string{"small"}},
		{name: "unless configured", fallbacks: map[string][]string{"small": {"coder"}}, req: request("small", scoring.Heavy), failure: RateLimited, want: []string{"small", "coder"}},
		{name: "configured ones only", fallbacks: map[string][]string{"small": {"coder", "large"}}, req: request("auto", scoring.Light), failure: Unreachable, want: []string{"small", "coder", "large"}},
		{name: "capable ones only", req: vision(request("auto", scoring.Heavy)), failure: TimedOut, want: []string{"large"}},
		{name: "overflow moves once, to a larger window", req: request("auto", scoring.Light), failure: Overflow, want: []string{"small", "mid"}},
		{name: "overflow of the largest", req: request("auto", scoring.Heavy), failure: Overflow, want: []string{"large"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, func(c *Config) { c.Fallbacks = tt.fallbacks })
			if diff := cmp.Diff(tt.want, next(t, r, tt.req, tt.failure)); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCooldown holds how long a failed model is passed over, and that it is
// used all the same when nothing else is left.
func TestCooldown(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	tests := []struct {
		name    string
		failure Failure
		after   time.Duration // what the upstream asks for
		want    time.Duration
	}{
		{name: "rate limit", failure: RateLimited, want: time.Minute},
		{name: "rate limit with a wish", failure: RateLimited, after: 7 * time.Second, want: 7 * time.Second},
		{name: "an absurd wish", failure: RateLimited, after: 24 * time.Hour, want: 10 * time.Minute},
		{name: "overload", failure: Overloaded, want: 15 * time.Second},
		{name: "time-out", failure: TimedOut, want: 15 * time.Second},
		{name: "no connection", failure: Unreachable, want: 15 * time.Second},
		{name: "refusal", failure: Refused, want: time.Minute},
		{name: "overflow", failure: Overflow, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := now
			r := newTestRouter(t, func(c *Config) { c.Clock = func() time.Time { return at } })
			small, _ := r.cfg.Catalogue.Find("small")
			model := func() string {
				req := request("auto", scoring.Light)
				req.Session = at.String()
				d, err := r.Decide(req)
				if err != nil {
					t.Fatal(err)
				}
				return d.Model.Name
			}
			r.Report(&Request{}, small, tt.failure, tt.after)
			if tt.want > 0 {
				at = now.Add(tt.want - 1)
				if got := model(); got != "mid" {
					t.Errorf("just before the end of the cooldown: %s, want mid", got)
				}
			}
			at = now.Add(tt.want)
			if got := model(); got != "small" {
				t.Errorf("after the cooldown: %s, want small", got)
			}
		})
	}
	t.Run("a success ends it", func(t *testing.T) {
		h := newHealth(func() time.Time { return now })
		h.report(served{"", "m"}, Overloaded, 0)
		h.report(served{"", "m"}, Healthy, 0)
		if h.avoid(served{"", "m"}) != "" {
			t.Error("still cooling")
		}
	})
	t.Run("another account", func(t *testing.T) {
		r := newTestRouter(t, func(c *Config) { c.Clock = func() time.Time { return now } })
		small, _ := r.cfg.Catalogue.Find("small")
		r.Report(&Request{Account: "a"}, small, RateLimited, 0)
		for account, want := range map[string]string{"a": "mid", "b": "small", "": "small"} {
			req := request("auto", scoring.Light)
			req.Account, req.Session = account, account
			if d, err := r.Decide(req); err != nil || d.Model.Name != want {
				t.Errorf("account %q gets %v, %v, want %s", account, d.Model, err, want)
			}
		}
	})
	t.Run("bounded", func(t *testing.T) {
		h := newHealth(func() time.Time { return now })
		for i := range 2*maxCooling + 1 {
			h.report(served{fmt.Sprint(i), "m"}, Overloaded, 0)
		}
		if n := len(h.until); n > maxCooling {
			t.Errorf("%d cooldowns are kept, want at most %d", n, maxCooling)
		}
	})
	t.Run("nothing else left", func(t *testing.T) {
		r := newTestRouter(t, func(c *Config) { c.Clock = func() time.Time { return now } })
		for _, m := range r.Models("") {
			r.Report(&Request{}, m, Overloaded, 0)
		}
		if d, err := r.Decide(request("auto", scoring.Light)); err != nil || d.Model.Name != "small" {
			t.Errorf("Decide = %v, %v, want small", d.Model, err)
		}
	})
}

func TestReasoning(t *testing.T) {
	tests := []struct {
		id   string
		want bool
	}{
		{"gpt-5.6-luna", true},
		{"openai/gpt-5", true},
		{"o3-mini", true},
		{"O4-mini", true},
		{"gpt-4o", false},
		{"gpt-50", false},
		{"openrouter/o1x/llama", false},
		{"", false},
	}
	for _, tt := range tests {
		if got := Reasoning(tt.id); got != tt.want {
			t.Errorf("Reasoning(%q) = %v, want %v", tt.id, got, tt.want)
		}
	}
}

func TestRefusesThinking(t *testing.T) {
	for id, want := range map[string]bool{"anthropic/claude-opus-4-7": false, "openai/gpt-5": true, "openrouter/google/Gemma-4": true, "house-model": false, "": false} {
		if got := RefusesThinking(id); got != want {
			t.Errorf("RefusesThinking(%q) = %v, want %v", id, got, want)
		}
	}
}
