package routing

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/scoring"
)

func TestDecideFilters(t *testing.T) {
	schema := chat.Needs{JSONSchema: true}
	tests := []struct {
		name           string
		model          string // "": auto
		tier           scoring.Tier
		change         func(*Request)
		want           outcome
		wantCandidates []Candidate
	}{
		{
			name: "the wanted one can", tier: light, change: func(r *Request) { r.Needs.Tools = true },
			want: outcome{"small", "mid", light, "score"}, wantCandidates: []Candidate{{"small", ""}},
		},
		{
			name: "next tier up", tier: light, change: func(r *Request) { r.Needs = schema },
			want:           outcome{"mid", "mid", light, "capability"},
			wantCandidates: []Candidate{{"small", "no json_schema"}, {"mid", ""}},
		},
		{
			name: "two tiers up", tier: light, change: func(r *Request) { r.Needs = vision },
			want:           outcome{"large", "mid", light, "capability"},
			wantCandidates: []Candidate{{"small", "no vision"}, {"mid", "no vision"}, {"large", ""}},
		},
		{
			name: "window", tier: light, change: func(r *Request) { r.InputTokens = 20_000 },
			want:           outcome{"mid", "mid", light, "capability"},
			wantCandidates: []Candidate{{"small", "window 8000 < 22000"}, {"mid", ""}},
		},
		{
			name: "an output limit beyond the model's is no obstacle", tier: standard, change: func(r *Request) { r.MaxOutput = 64_000 },
			want:           outcome{"mid", "mid", standard, "score"},
			wantCandidates: []Candidate{{"mid", ""}},
		},
		{
			name: "down when nothing is above", tier: heavy,
			change:         func(r *Request) { r.Profile, r.Needs = "strange", chat.Needs{JSONSchema: true} },
			want:           outcome{"unpriced", "mid", heavy, "capability"},
			wantCandidates: []Candidate{{"small", "no json_schema"}, {"unpriced", ""}},
		},
		{
			name: "up before down", tier: standard, change: func(r *Request) { r.Profile, r.InputTokens = "reversed", 10_000 },
			want:           outcome{"mid", "mid", standard, "capability"},
			wantCandidates: []Candidate{{"small", "window 8000 < 11000"}, {"mid", ""}},
		},
		{
			name: "a model is tried once", tier: light, change: func(r *Request) { r.Profile, r.Needs = "eco", schema },
			want:           outcome{"mid", "mid", light, "capability"},
			wantCandidates: []Candidate{{"small", "no json_schema"}, {"mid", ""}},
		},
		{
			name: "task, then the tier's and up", tier: standard, change: func(r *Request) { r.TaskType, r.Needs = "seeing", vision },
			want:           outcome{"large", "mid", standard, "capability"},
			wantCandidates: []Candidate{{"small", "no vision"}, {"mid", "no vision"}, {"large", ""}},
		},
		{
			name: "process, then the tier's and up", tier: light, change: func(r *Request) { r.ProcessType, r.Needs = "worker", schema },
			want:           outcome{"mid", "small", light, "capability"},
			wantCandidates: []Candidate{{"small", "no json_schema"}, {"mid", ""}},
		},
		{
			name: "forced tier, too", tier: heavy,
			change:         func(r *Request) { r.Forced, r.ForcedTier, r.Needs = true, light, schema },
			want:           outcome{"mid", "mid", light, "capability"},
			wantCandidates: []Candidate{{"small", "no json_schema"}, {"mid", ""}},
		},
		{
			name: "named, the capable one is dearer", model: "mid", tier: light, change: func(r *Request) { r.Needs = vision },
			want:           outcome{"mid", "mid", light, "named"},
			wantCandidates: []Candidate{{"small", "no vision"}, {"mid", "no vision"}, {"large", "not cheaper than the named model"}, {"mid", ""}},
		},
		{
			name: "named, none can", model: "large", tier: light, change: func(r *Request) { r.Needs.Audio = true },
			want:           outcome{"large", "large", light, "named"},
			wantCandidates: []Candidate{{"small", "no audio"}, {"mid", "no audio"}, {"large", "no audio"}},
		},
		{
			name: "named but unknown, lifted, none can", model: "gpt-x", tier: light,
			change:         func(r *Request) { r.Profile, r.Needs.Audio = "eco", true },
			want:           outcome{"", "", light, "named"},
			wantCandidates: []Candidate{{"small", "no audio"}, {"mid", "no audio"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, func(c *Config) {
				c.Profiles["reversed"] = Profile{Light: "large", Standard: "small", Heavy: "mid"}
				c.TaskOverrides["seeing"] = "small"
			})
			req := request("auto", tt.tier)
			if tt.model != "" {
				req.Model = tt.model
			}
			tt.change(&req)
			d := decide(t, r, req)
			if diff := cmp.Diff(tt.want, outcomeOf(d)); diff != "" {
				t.Errorf("Decide() (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.wantCandidates, d.Candidates); diff != "" {
				t.Errorf("Candidates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideNoneCapable(t *testing.T) {
	tests := []struct {
		name   string
		model  string
		change func(*Request)
		want   string
	}{
		{
			"ability", "auto", func(r *Request) { r.Needs.Audio = true },
			`No model of routing profile "balanced" can serve this request: mid has no audio, large has no audio, small has no audio.`,
		},
		{
			"window and output", "", func(r *Request) { r.InputTokens, r.MaxOutput = 120_000, 10_000 },
			`No model of routing profile "balanced" can serve this request: ` +
				"mid has window 32000 < 140800, large has window 128000 < 143000, small has window 8000 < 134200.",
		},
		{
			"in the profile", "auto:eco", func(r *Request) { r.Needs = vision },
			`No model of routing profile "eco" can serve this request: small has no vision, mid has no vision.`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := request(tt.model, standard)
			tt.change(&req)
			d, err := newTestRouter(t, nil).Decide(req)
			e, ok := errors.AsType[*chat.Error](err)
			if !ok {
				t.Fatalf("Decide() = %+v, %v, want a *chat.Error", d, err)
			}
			want := chat.Error{Status: 400, Code: "no_capable_model", Param: "messages", Message: tt.want}
			if diff := cmp.Diff(want, *e); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if d.Model != nil {
				t.Errorf("Model = %q beside an error", d.Model.Name)
			}
		})
	}
}
