package routing

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
)

func TestCatalogueCompletion(t *testing.T) {
	prices, err := ledger.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	listed, ok := prices.Lookup("gpt-5-mini")
	if !ok || listed.Context == 0 || listed.MaxOutput == 0 || len(listed.Supports) == 0 {
		t.Fatalf("the price list says too little of gpt-5-mini: %+v", listed)
	}
	abilities := append(slices.Clone(listed.Supports), "n", "logprobs") // the list knows nothing of the last two
	claude, ok := prices.Lookup("claude-haiku-4-5")
	if !ok {
		t.Fatal("the price list does not know claude-haiku-4-5")
	}
	own := &ledger.Price{Input: 7, Output: 8}
	tests := []struct {
		name  string
		model Model
		want  Model
	}{
		{
			name:  "all open",
			model: Model{Name: "gpt-5-mini"},
			want: Model{
				Name: "gpt-5-mini", ID: "gpt-5-mini", Price: &listed.Price, Context: listed.Context,
				MaxOutput: listed.MaxOutput, Supports: abilities,
			},
		},
		{
			name:  "looked up by id, not by name",
			model: Model{Name: "mine", ID: "openai/gpt-5-mini"},
			want: Model{
				Name: "mine", ID: "openai/gpt-5-mini", Price: &listed.Price, Context: listed.Context,
				MaxOutput: listed.MaxOutput, Supports: abilities,
			},
		},
		{
			name:  "Anthropic's give one choice and no logprobs",
			model: Model{Name: "claude-haiku-4-5"},
			want: Model{
				Name: "claude-haiku-4-5", ID: "claude-haiku-4-5", Price: &claude.Price, Context: claude.Context,
				MaxOutput: claude.MaxOutput, Supports: claude.Supports,
			},
		},
		{
			name:  "what is given stays",
			model: Model{Name: "gpt-5-mini", Price: own, Context: 10, MaxOutput: 5, Supports: []string{"audio"}},
			want:  Model{Name: "gpt-5-mini", ID: "gpt-5-mini", Price: own, Context: 10, MaxOutput: 5, Supports: []string{"audio"}},
		},
		{
			name:  "no abilities is not unknown abilities",
			model: Model{Name: "gpt-5-mini", Price: own, Context: 10, MaxOutput: 5, Supports: []string{}},
			want:  Model{Name: "gpt-5-mini", ID: "gpt-5-mini", Price: own, Context: 10, MaxOutput: 5, Supports: []string{}},
		},
		{
			name:  "not listed",
			model: Model{Name: "home-made", Upstream: "local"},
			want:  Model{Name: "home-made", ID: "home-made", Upstream: "local"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := NewCatalogue([]Model{tt.model}, prices)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]*Model{&tt.want}, c.All()); diff != "" {
				t.Errorf("All() (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCatalogueFind(t *testing.T) {
	c := newTestCatalogue(t,
		Model{Name: "one", ID: "vendor/one"},
		Model{Name: "two", ID: "one"}, // its id is another one's name
		Model{Name: "three"},
		Model{Name: "four", ID: "vendor/one"}, // an id for the second time
	)
	tests := []struct{ name, find, want string }{
		{"name", "two", "two"},
		{"id", "vendor/one", "one"},
		{"a name wins over an id", "one", "one"},
		{"without an id", "three", "three"},
		{"unknown", "vendor/three", ""},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, ok := c.Find(tt.find)
			if got := nameOf(m); got != tt.want || ok != (tt.want != "") {
				t.Errorf("Find(%q) = %q, %v, want %q", tt.find, got, ok, tt.want)
			}
		})
	}
	var order []string
	for _, m := range c.All() {
		order = append(order, m.Name)
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "four"}, order); diff != "" {
		t.Errorf("All() (-want +got):\n%s", diff)
	}
}

func TestCatalogueDuplicates(t *testing.T) {
	_, err := NewCatalogue([]Model{{Name: "a"}, {Name: "b"}, {Name: "a"}, {Name: "b"}}, &ledger.PriceList{})
	want := "model \"a\" is listed twice\nmodel \"b\" is listed twice"
	if err == nil || err.Error() != want {
		t.Errorf("NewCatalogue() = %v, want %s", err, want)
	}
}

func TestModelLacks(t *testing.T) {
	every := chat.Needs{Tools: true, Vision: true, Audio: true, File: true, JSONSchema: true, Reasoning: true, Choices: true, Logprobs: true}
	tests := []struct {
		name  string
		model Model
		req   Request
		want  string
	}{
		{name: "nothing known, nothing asked"},
		{name: "nothing known, all asked", req: Request{Needs: every, InputTokens: 1e9, MaxOutput: 1e9}},
		{name: "can all", model: Model{Supports: []string{"tools", "vision", "audio", "file", "json_schema", "reasoning", "n", "logprobs"}}, req: Request{Needs: every}},
		{name: "can nothing, nothing asked", model: Model{Supports: []string{}}},
		{name: "tools", model: Model{Supports: []string{}}, req: Request{Needs: chat.Needs{Tools: true}}, want: "no tools"},
		{name: "vision", model: Model{Supports: []string{"tools"}}, req: Request{Needs: vision}, want: "no vision"},
		{name: "audio", model: Model{Supports: []string{"tools"}}, req: Request{Needs: chat.Needs{Audio: true}}, want: "no audio"},
		{name: "file", model: Model{Supports: []string{"tools"}}, req: Request{Needs: chat.Needs{File: true}}, want: "no file"},
		{name: "schema", model: Model{Supports: []string{"tools"}}, req: Request{Needs: chat.Needs{JSONSchema: true}}, want: "no json_schema"},
		{name: "reasoning", model: Model{Supports: []string{"tools"}}, req: Request{Needs: chat.Needs{Reasoning: true}}, want: "no reasoning"},
		{name: "choices", model: Model{Supports: []string{"tools"}}, req: Request{Needs: chat.Needs{Choices: true}}, want: "no n"},
		{name: "logprobs", model: Model{Supports: []string{"n"}}, req: Request{Needs: chat.Needs{Logprobs: true}}, want: "no logprobs"},
		{name: "output at the limit", model: Model{MaxOutput: 500}, req: Request{MaxOutput: 500}},
		{name: "output over the limit, which is cut", model: Model{MaxOutput: 500}, req: Request{MaxOutput: 501}},
		{name: "room for what is left of the output", model: Model{Context: 1099, MaxOutput: 100}, req: Request{InputTokens: 900, MaxOutput: 64_000}, want: "window 1099 < 1100"},
		{name: "window just wide enough", model: Model{Context: 1100}, req: Request{InputTokens: 900, MaxOutput: 100}},
		{name: "window without margin", model: Model{Context: 1099}, req: Request{InputTokens: 900, MaxOutput: 100}, want: "window 1099 < 1100"},
		{name: "output is part of the window", model: Model{Context: 1000, MaxOutput: 1000}, req: Request{MaxOutput: 1000}, want: "window 1000 < 1100"},
		{name: "half the window for an unknown output", model: Model{Context: 1000}, req: Request{InputTokens: 409, MaxOutput: 64_000}},
		{name: "and no less", model: Model{Context: 1000}, req: Request{InputTokens: 410, MaxOutput: 64_000}, want: "window 1000 < 1001"},
		{
			name: "absurd input", model: Model{Context: 1000}, req: Request{InputTokens: math.MaxInt, MaxOutput: math.MaxInt},
			want: "window 1000 < 10145709240540254208",
		},
		{name: "absurd output limit", model: Model{Context: 1000}, req: Request{InputTokens: 1, MaxOutput: math.MaxInt}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.model.lacks(&tt.req); got != tt.want {
				t.Errorf("lacks(%+v) = %q, want %q", tt.req, got, tt.want)
			}
		})
	}
}
