package config

import (
	"math"
	"strings"
	"testing"
	"time"
)

// Configurations that no file can express, since a program may build one too. The rules that files can break are in
// testdata/bad.
func TestValidateBuiltConfig(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name string
		edit func(*Config)
		want string
	}{
		{name: "the default", edit: func(*Config) {}, want: ""},
		{name: "no upstreams", edit: func(c *Config) { c.Upstreams = nil }, want: "upstreams: at least one is needed"},
		{name: "no process types", edit: func(c *Config) { c.Routing.ProcessTypes = nil }, want: "routing.process_types: cortex is missing"},
		{name: "NaN share", edit: func(c *Config) { c.Assemble.HoldOut = nan }, want: "assemble.hold_out: must be between 0 and 1, is NaN"},
		{
			name: "NaN price", edit: func(c *Config) { c.Models[0].Price.CacheRead = &nan },
			want: "models.0.price.cache_read: must be 0 or more (USD per million tokens), is NaN",
		},
		{
			name: "endless price", edit: func(c *Config) { c.Models[0].Price.CacheWrite = &inf },
			want: "models.0.price.cache_write: must be 0 or more (USD per million tokens), is +Inf",
		},
		{
			name: "empty agent id", edit: func(c *Config) { c.Agents[""] = Agent{} },
			want: `agents.: name "" must not be empty or hold white space`,
		},
		{
			name: "empty profile name", edit: func(c *Config) { c.Routing.Profiles[""] = c.Routing.Profiles["eco"] },
			want: "routing.profiles.: an empty name is not allowed",
		},
		{
			name: "disabled routing needs no profile",
			edit: func(c *Config) {
				c.Routing = Routing{ExplicitModels: "route", PromptRouting: c.Routing.PromptRouting, Session: c.Routing.Session}
			},
			want: "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Default()
			tt.edit(&c)
			err := c.Validate()
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("Validate = %v, want nil", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("Validate = %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestValidateReportsEverything(t *testing.T) {
	err := new(Config).Validate()
	if err == nil {
		t.Fatal("the zero Config is valid")
	}
	for _, key := range []string{"auth.mode", "listen", "data_dir", "log.level", "upstreams", "limits.body_bytes", "memory.queue", "shutdown.grace"} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("Validate says nothing about %s:\n%v", key, err)
		}
	}
}

func TestNearest(t *testing.T) {
	tests := []struct {
		name  string
		word  string
		known []string
		want  string
	}{
		{name: "the same", word: "routing", known: []string{"log", "routing"}, want: "routing"},
		{name: "one letter more", word: "rooting", known: []string{"log", "routing"}, want: "routing"},
		{name: "swapped letters", word: "teir", known: []string{"name", "tier"}, want: "tier"},
		{name: "the nearest of two", word: "lights", known: []string{"heights", "light"}, want: "light"},
		{name: "start of a longer one", word: "api_key", known: []string{"base_url", "api_key_env"}, want: "api_key_env"},
		{name: "nothing alike", word: "colour", known: []string{"level", "format"}, want: ""},
		{name: "too short to tell", word: "x", known: []string{"id", "name"}, want: ""},
		{name: "empty", word: "", known: []string{"name"}, want: ""},
		{name: "endless", word: strings.Repeat("a", 1<<20), known: []string{"name"}, want: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := nearest(tt.word, tt.known); got != tt.want {
				t.Errorf("nearest(%.20q, %q) = %q, want %q", tt.word, tt.known, got, tt.want)
			}
		})
	}
}

func TestFormatDuration(t *testing.T) {
	tests := []struct {
		name string
		d    time.Duration
		want string
	}{
		{name: "hours", d: 2160 * time.Hour, want: "2160h"},
		{name: "minutes", d: 30 * time.Minute, want: "30m"},
		{name: "hours and minutes", d: 90 * time.Minute, want: "1h30m"},
		{name: "hours and seconds", d: time.Hour + 10*time.Second, want: "1h0m10s"},
		{name: "ten minutes", d: 10 * time.Minute, want: "10m"},
		{name: "milliseconds", d: 25 * time.Millisecond, want: "25ms"},
		{name: "zero", d: 0, want: "0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := formatDuration(tt.d); got != tt.want {
				t.Errorf("formatDuration(%v) = %q, want %q", tt.d, got, tt.want)
			}
		})
	}
}
