package routing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{
			"profile's models",
			func(c *Config) { c.Profiles["broken"] = Profile{Light: "small", Standard: "nope", Heavy: ""} },
			"profile \"broken\" names unknown model \"nope\"\nprofile \"broken\" names unknown model \"\"",
		},
		{
			"process type's model",
			func(c *Config) { c.ProcessTypes["worker"] = "nope" },
			`process type "worker" names unknown model "nope"`,
		},
		{
			"task override's model",
			func(c *Config) { c.TaskOverrides["coding"] = "nope" },
			`task override "coding" names unknown model "nope"`,
		},
		{"default profile", func(c *Config) { c.Profile = "nope" }, `unknown default profile "nope"`},
		{"agent's profile", func(c *Config) { c.AgentProfiles["bot"] = "nope" }, `agent "bot" names unknown profile "nope"`},
		{"policy", func(c *Config) { c.Explicit = "nope" }, `unknown policy "nope" for named models`},
		{"no policy", func(c *Config) { c.Explicit = "" }, `unknown policy "" for named models`},
		{
			"everything, in a fixed order",
			func(c *Config) {
				c.Profiles = map[string]Profile{"b": {Light: "1", Standard: "mid", Heavy: "mid"}, "a": {Light: "2", Standard: "mid", Heavy: "mid"}}
				c.ProcessTypes = map[string]string{"y": "3", "x": "4"}
				c.TaskOverrides = map[string]string{"v": "5", "u": "6"}
				c.AgentProfiles = map[string]string{"q": "7", "p": "8"}
				c.Explicit = "9"
			},
			`profile "a" names unknown model "2"
profile "b" names unknown model "1"
process type "x" names unknown model "4"
process type "y" names unknown model "3"
task override "u" names unknown model "6"
task override "v" names unknown model "5"
unknown default profile "balanced"
agent "p" names unknown profile "8"
agent "q" names unknown profile "7"
unknown policy "9" for named models`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := testConfig(t)
			tt.change(&cfg)
			r, err := New(cfg)
			if err == nil {
				t.Fatalf("New() = %v, want an error", r)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("New() (-want +got):\n%s", diff)
			}
		})
	}
}

// Models may be configured by their upstream's id.
func TestNewTakesIDs(t *testing.T) {
	r := newTestRouter(t, func(c *Config) {
		c.Profiles["ids"] = Profile{Light: "test/small-1", Standard: "test/mid-1", Heavy: "test/large-1"}
		c.ProcessTypes["worker"] = "test/coder-1"
		c.Profile = "ids"
	})
	if got := decide(t, r, request("auto", 1)).Model.Name; got != "large" {
		t.Errorf("the heavy model is %q, want large", got)
	}
	if m, err := r.Default("worker"); nameOf(m) != "coder" || err != nil {
		t.Errorf("Default(worker) = %q, %v, want coder", nameOf(m), err)
	}
}

func TestRouterProfiles(t *testing.T) {
	r := newTestRouter(t, nil)
	if diff := cmp.Diff([]string{"balanced", "eco", "premium", "strange"}, r.Profiles()); diff != "" {
		t.Errorf("Profiles() (-want +got):\n%s", diff)
	}
}

func TestRouterModels(t *testing.T) {
	tests := []struct {
		name, profile string
		want          []string
	}{
		{"default", "", []string{"small", "mid", "large"}},
		{"named", "premium", []string{"mid", "large"}},
		{"unknown", "nope", nil},
	}
	r := newTestRouter(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range r.Models(tt.profile) {
				got = append(got, m.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Models(%q) (-want +got):\n%s", tt.profile, diff)
			}
		})
	}
}

func TestRouterDefault(t *testing.T) {
	tests := []struct{ name, process, want, wantErr string }{
		{"known", "worker", "small", ""},
		{"unknown", "nope", "", `process type "nope" has no model`},
		{"none", "", "", `process type "" has no model`},
	}
	r := newTestRouter(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := r.Default(tt.process)
			gotErr := ""
			if err != nil {
				gotErr = err.Error()
			}
			if got := nameOf(m); got != tt.want || gotErr != tt.wantErr {
				t.Errorf("Default(%q) = %q, %q, want %q, %q", tt.process, got, gotErr, tt.want, tt.wantErr)
			}
		})
	}
}

func TestVirtual(t *testing.T) {
	tests := []struct {
		name, model, want string
		wantOK            bool
	}{
		{"auto", "auto", "", true},
		{"with a profile", "auto:eco", "eco", true},
		{"with an empty profile", "auto:", "", true},
		{"a profile with a colon", "auto:a:b", "a:b", true},
		{"a real model", "gpt-5-mini", "", false},
		{"only begins like it", "autobot", "", false},
		{"capitals", "AUTO", "", false},
		{"none", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Virtual(tt.model)
			if got != tt.want || ok != tt.wantOK {
				t.Errorf("Virtual(%q) = %q, %v, want %q, %v", tt.model, got, ok, tt.want, tt.wantOK)
			}
		})
	}
}
