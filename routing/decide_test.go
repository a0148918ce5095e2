package routing

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/scoring"
)

const (
	light    = scoring.Light
	standard = scoring.Standard
	heavy    = scoring.Heavy
)

// outcome is the part of a decision that most tests look at.
type outcome struct {
	Model, Baseline string // "" none
	Tier            scoring.Tier
	Reason          string
}

func outcomeOf(d Decision) outcome {
	return outcome{nameOf(d.Model), nameOf(d.Baseline), d.Tier, d.Reason}
}

func TestDecidePrecedence(t *testing.T) {
	forced := func(tier scoring.Tier) func(*Request) {
		return func(r *Request) { r.Forced, r.ForcedTier = true, tier }
	}
	profile := func(name string) func(*Request) { return func(r *Request) { r.Profile = name } }
	process := func(name string) func(*Request) { return func(r *Request) { r.ProcessType = name } }
	task := func(r *Request) { r.TaskType = "coding" }
	tests := []struct {
		name     string
		explicit Explicit // "": cheaper
		model    string
		tier     scoring.Tier
		change   []func(*Request)
		want     outcome
	}{
		// The tier, and what asks for it.
		{name: "light", model: "auto", tier: light, want: outcome{"small", "mid", light, "score"}},
		{name: "standard", model: "auto", tier: standard, want: outcome{"mid", "mid", standard, "score"}},
		{name: "heavy", model: "auto", tier: heavy, want: outcome{"large", "mid", heavy, "score"}},
		{name: "no model named", model: "", tier: light, want: outcome{"small", "mid", light, "score"}},
		{
			name: "abstained", model: "auto", tier: standard,
			change: []func(*Request){func(r *Request) { r.Score.Abstained = true }},
			want:   outcome{"mid", "mid", standard, "abstained"},
		},
		{
			name: "forced up", model: "auto", tier: light,
			change: []func(*Request){forced(heavy)},
			want:   outcome{"large", "mid", heavy, "forced"},
		},
		{
			name: "forced down", model: "auto", tier: heavy,
			change: []func(*Request){forced(light)},
			want:   outcome{"small", "mid", light, "forced"},
		},
		{
			name: "profile", model: "auto", tier: heavy,
			change: []func(*Request){profile("eco")},
			want:   outcome{"mid", "mid", heavy, "score"},
		},

		// Task type over forced tier over process type.
		{name: "task", model: "auto", tier: light, change: []func(*Request){task}, want: outcome{"coder", "mid", light, "task"}},
		{
			name: "task and forced tier", model: "auto", tier: light,
			change: []func(*Request){task, forced(heavy)},
			want:   outcome{"coder", "mid", heavy, "task"},
		},
		{
			name: "task and process", model: "auto", tier: light,
			change: []func(*Request){task, process("worker")},
			want:   outcome{"coder", "small", light, "task"},
		},
		{
			name: "unknown task", model: "auto", tier: heavy,
			change: []func(*Request){func(r *Request) { r.TaskType = "cooking" }},
			want:   outcome{"large", "mid", heavy, "score"},
		},
		{
			name: "process", model: "auto", tier: heavy,
			change: []func(*Request){process("worker")},
			want:   outcome{"small", "small", heavy, "process"},
		},
		{
			name: "process, forced tier", model: "auto", tier: light,
			change: []func(*Request){process("worker"), forced(heavy)},
			want:   outcome{"large", "small", heavy, "forced"},
		},
		{
			name: "process that is scored", model: "auto", tier: heavy,
			change: []func(*Request){process("branch")},
			want:   outcome{"large", "mid", heavy, "score"},
		},
		{
			name: "process without a model", model: "auto", tier: heavy,
			change: []func(*Request){process("cortex")},
			want:   outcome{"large", "", heavy, "score"},
		},

		// A named model, policy cheaper.
		{name: "named, the tier's is cheaper", model: "large", tier: light, want: outcome{"small", "large", light, "score"}},
		{name: "named, the tier's is dearer", model: "small", tier: heavy, want: outcome{"small", "small", heavy, "named"}},
		{name: "named, the tier's is the same", model: "large", tier: heavy, want: outcome{"large", "large", heavy, "score"}},
		{name: "named by its id", model: "test/large-1", tier: light, want: outcome{"small", "large", light, "score"}},
		{name: "named by its id, kept", model: "test/small-1", tier: heavy, want: outcome{"small", "small", heavy, "named"}},
		{name: "named, its price unknown", model: "unpriced", tier: light, want: outcome{"unpriced", "unpriced", light, "named"}},
		{
			name: "named, the tier's price unknown", model: "large", tier: standard,
			change: []func(*Request){func(r *Request) { r.Agent = "odd" }},
			want:   outcome{"large", "large", standard, "named"},
		},
		{name: "named, unknown", model: "gpt-x", tier: light, want: outcome{"", "", light, "named"}},
		{
			name: "named, the task's is cheaper", model: "large", tier: light,
			change: []func(*Request){task},
			want:   outcome{"coder", "large", light, "task"},
		},
		{
			name: "named, the task's is dearer", model: "mid", tier: light,
			change: []func(*Request){task},
			want:   outcome{"mid", "mid", light, "named"},
		},
		{
			name: "named, the process's is cheaper", model: "large", tier: heavy,
			change: []func(*Request){process("worker")},
			want:   outcome{"small", "large", heavy, "process"},
		},
		{
			name: "named, lifted by a forced tier", model: "small", tier: light,
			change: []func(*Request){forced(heavy)},
			want:   outcome{"large", "small", heavy, "forced"},
		},
		{
			name: "named, lifted by a profile", model: "small", tier: heavy,
			change: []func(*Request){profile("balanced")},
			want:   outcome{"large", "small", heavy, "score"},
		},
		{
			name: "named, not lifted by the agent's profile", model: "small", tier: heavy,
			change: []func(*Request){func(r *Request) { r.Agent = "thrifty" }},
			want:   outcome{"small", "small", heavy, "named"},
		},
		{
			name: "unknown, lifted by a forced tier", model: "gpt-x", tier: light,
			change: []func(*Request){forced(heavy)},
			want:   outcome{"large", "", heavy, "forced"},
		},
		{
			name: "unpriced, lifted by a profile", model: "unpriced", tier: light,
			change: []func(*Request){profile("eco")},
			want:   outcome{"small", "unpriced", light, "score"},
		},

		// A named model, the other policies.
		{name: "respect", explicit: ExplicitRespect, model: "large", tier: light, want: outcome{"large", "large", light, "named"}},
		{name: "respect, unknown", explicit: ExplicitRespect, model: "gpt-x", tier: light, want: outcome{"", "", light, "named"}},
		{
			name: "respect, whatever else is asked", explicit: ExplicitRespect, model: "large", tier: light,
			change: []func(*Request){forced(light), profile("eco"), task, process("worker")},
			want:   outcome{"large", "large", light, "named"},
		},
		{name: "respect, auto", explicit: ExplicitRespect, model: "auto", tier: light, want: outcome{"small", "mid", light, "score"}},
		{name: "respect, auto with a profile", explicit: ExplicitRespect, model: "auto:premium", tier: light, want: outcome{"mid", "mid", light, "score"}},
		{name: "respect, no model named", explicit: ExplicitRespect, model: "", tier: light, want: outcome{"small", "mid", light, "score"}},
		{name: "route, dearer", explicit: ExplicitRoute, model: "small", tier: heavy, want: outcome{"large", "small", heavy, "score"}},
		{name: "route, unpriced", explicit: ExplicitRoute, model: "unpriced", tier: light, want: outcome{"small", "unpriced", light, "score"}},
		{name: "route, unknown", explicit: ExplicitRoute, model: "gpt-x", tier: light, want: outcome{"small", "", light, "score"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, func(c *Config) {
				c.AgentProfiles["odd"] = "strange"
				if tt.explicit != "" {
					c.Explicit = tt.explicit
				}
			})
			req := request(tt.model, tt.tier)
			for _, change := range tt.change {
				change(&req)
			}
			d := decide(t, r, req)
			if diff := cmp.Diff(tt.want, outcomeOf(d)); diff != "" {
				t.Errorf("Decide() (-want +got):\n%s", diff)
			}
			if d.Requested != tt.model {
				t.Errorf("Requested = %q, want %q", d.Requested, tt.model)
			}
		})
	}
}

// What is cheaper depends on the request: an answer is taken to be short.
func TestDecideCheaperByRequest(t *testing.T) {
	r := newTestRouter(t, func(c *Config) {
		models := testModels()
		models[1].Price = &ledger.Price{Input: 4, Output: 4} // mid: dear to read, cheap to write
		models[3].Price = &ledger.Price{Input: 1, Output: 20}
		c.Catalogue = newTestCatalogue(t, models...)
	})
	tests := []struct {
		name          string
		input, output int
		want          string
	}{
		{"little to read", 100, 0, "mid"},
		{"much to read", 20_000, 0, "coder"},
		{"the client's limit is no estimate", 20_000, 7_000, "coder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := request("coder", standard)
			req.Session, req.InputTokens, req.MaxOutput = tt.name, tt.input, tt.output
			if got := nameOf(decide(t, r, req).Model); got != tt.want {
				t.Errorf("Decide() takes %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecideProfile(t *testing.T) {
	tests := []struct{ name, model, agent, header, want string }{
		{"default", "auto", "default", "", "balanced"},
		{"agent over default", "auto", "thrifty", "", "eco"},
		{"agent without one", "auto", "plain", "", "balanced"},
		{"model over agent", "auto:premium", "thrifty", "", "premium"},
		{"model without one", "auto:", "thrifty", "", "eco"},
		{"header over model", "auto:premium", "thrifty", "strange", "strange"},
		{"header over an unknown one in the model", "auto:nope", "thrifty", "eco", "eco"},
		{"header over agent", "auto", "thrifty", "premium", "premium"},
		{"of a named model too", "large", "thrifty", "", "eco"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := request(tt.model, light)
			req.Agent, req.Profile = tt.agent, tt.header
			if got := decide(t, newTestRouter(t, nil), req).Profile; got != tt.want {
				t.Errorf("Profile = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecideUnknownProfile(t *testing.T) {
	const known = "Known profiles: balanced, eco, premium, strange."
	tests := []struct {
		name, model, header string
		want                chat.Error
	}{
		{
			"header", "auto", "turbo",
			chat.Error{Status: 400, Code: "invalid_header", Param: "X-Routing-Profile", Message: `Unknown routing profile "turbo". ` + known},
		},
		{
			"header over the model's", "auto:eco", "turbo",
			chat.Error{Status: 400, Code: "invalid_header", Param: "X-Routing-Profile", Message: `Unknown routing profile "turbo". ` + known},
		},
		{
			"header, a named model", "gpt-x", "turbo",
			chat.Error{Status: 400, Code: "invalid_header", Param: "X-Routing-Profile", Message: `Unknown routing profile "turbo". ` + known},
		},
		{
			"model", "auto:turbo", "",
			chat.Error{Status: 400, Code: "invalid_model", Param: "model", Message: `Unknown routing profile "turbo". ` + known},
		},
		{
			"both, the same", "auto:turbo", "turbo",
			chat.Error{Status: 400, Code: "invalid_header", Param: "X-Routing-Profile", Message: `Unknown routing profile "turbo". ` + known},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, nil)
			req := request(tt.model, light)
			req.Profile = tt.header
			d, err := r.Decide(req)
			e, ok := errors.AsType[*chat.Error](err)
			if !ok {
				t.Fatalf("Decide() = %+v, %v, want a *chat.Error", d, err)
			}
			if diff := cmp.Diff(tt.want, *e); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if n := r.Sessions(); n != 0 {
				t.Errorf("a refused request left %d sessions", n)
			}
		})
	}
}

// TestTurnKeepsItsModel holds that a growing tool loop does not change the
// model, although the balance of costs does.
func TestTurnKeepsItsModel(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"the same turn", func(*Request) {}, "mid"},
		{"another turn", func(q *Request) { q.Turn = "2" }, "coder"},
		{"another model named", func(q *Request) { q.Model = "small" }, "small"},
		{"another profile asked for", func(q *Request) { q.Profile = "premium" }, "large"},
		{"a tool brought a picture, which mid can't see", func(q *Request) { q.Needs.Vision = true }, "coder"},
		{"a task override", func(q *Request) { q.TaskType, q.Profile = "coding", "balanced" }, "coder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, func(c *Config) {
				models := testModels()
				models[1].Price = &ledger.Price{Input: 4, Output: 4} // mid: dear to read, cheap to write
				models[3].Price = &ledger.Price{Input: 1, Output: 20}
				c.Catalogue = newTestCatalogue(t, models...)
			})
			req := request("coder", standard)
			req.InputTokens = 100
			if got := nameOf(decide(t, r, req).Model); got != "mid" {
				t.Fatalf("the turn begins with %q, want mid", got)
			}
			req.InputTokens = 20_000
			tt.change(&req)
			d := decide(t, r, req)
			if got := nameOf(d.Model); got != tt.want || got == "mid" && d.Reason != reasonTurn {
				t.Errorf("Decide() takes %q because of %q, want %q", got, d.Reason, tt.want)
			}
		})
	}
}

// TestOpensAfresh holds that a conversation which begins like another one does
// not take over its tier.
func TestOpensAfresh(t *testing.T) {
	r := newTestRouter(t, nil)
	hello, design := request("auto", scoring.Light), request("auto", scoring.Heavy)
	hello.Opens, design.Turn = true, "2"
	for i, step := range []struct {
		req  Request
		want scoring.Tier
	}{{hello, scoring.Light}, {design, scoring.Heavy}, {hello, scoring.Light}} {
		if got := decide(t, r, step.req).Tier; got != step.want {
			t.Errorf("request %d gets %v, want %v", i+1, got, step.want)
		}
	}
}
