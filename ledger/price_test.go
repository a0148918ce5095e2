package ledger

import (
	"math"
	"testing"
)

func ptr[T any](v T) *T { return &v }

func TestCost(t *testing.T) {
	gpt := &Price{Input: 2.5, Output: 10, CacheRead: ptr(1.25)}
	claude := &Price{Input: 3, Output: 15, CacheRead: ptr(0.3), CacheWrite: ptr(3.75)}
	long := &Price{Input: 3, Output: 15, LongAbove: 200_000, Long: &Price{Input: 6, Output: 22.5, CacheRead: ptr(0.6)}}
	tests := []struct {
		name   string
		price  *Price
		usage  Usage
		want   float64
		wantOK bool
	}{
		{"fresh and cached at their own rates", gpt, Usage{Input: 2006, Cached: 1920}, (86*2.5 + 1920*1.25) / 1e6, true},
		{"cached at the input price where no other is known", &Price{Input: 2.5}, Usage{Input: 2006, Cached: 1920}, 2006 * 2.5 / 1e6, true},
		{"cache writes", claude, Usage{Input: 1000, Cached: 600, CacheWrite: 300}, (100*3 + 600*0.3 + 300*3.75) / 1e6, true},
		{
			"cache writes for an hour", &Price{Input: 3, CacheWrite: ptr(3.75), CacheWriteHour: ptr(6.0)},
			Usage{Input: 1000, Cached: 600, CacheWrite: 300, CacheWriteHour: 200},
			(100*3 + 600*3 + 100*3.75 + 200*6) / 1e6, true,
		},
		{"an hour at the price of any write where no other is known", claude, Usage{Input: 1000, CacheWrite: 300, CacheWriteHour: 300}, (700*3 + 300*3.75) / 1e6, true},
		{"thought at its own rate", &Price{Output: 2, Reasoning: ptr(5.0)}, Usage{Input: 1, Output: 1186, Reasoning: 1024}, (162*2 + 1024*5) / 1e6, true},
		{"a prompt that is not long yet", long, Usage{Input: 200_000, Output: 1000}, (200_000*3 + 1000*15) / 1e6, true},
		{"all tokens of a long prompt", long, Usage{Input: 200_001, Cached: 1, Output: 1000}, (200_000*6 + 1*0.6 + 1000*22.5) / 1e6, true},
		{"reasoning is part of the output", gpt, Usage{Input: 75, Output: 1186, Reasoning: 1024}, (75*2.5 + 1186*10) / 1e6, true},
		{"a known price of zero", &Price{}, Usage{Input: 1000, Output: 1000}, 0, true},
		{"an unknown price", nil, Usage{Input: 1000, Output: 1000}, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := test.price.Cost(test.usage)
			if ok != test.wantOK || math.Abs(got-test.want) > 1e-12 {
				t.Errorf("Cost(%+v) = %v, %v, want %v, %v", test.usage, got, ok, test.want, test.wantOK)
			}
		})
	}
}

func TestBuiltIn(t *testing.T) {
	list, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	if list.Source.Name == "" || list.Source.Version == "" || list.Source.Date == "" {
		t.Errorf("the list doesn't say where it is from: %+v", list.Source)
	}
	abilities := map[string]bool{"tools": true, "vision": true, "audio": true, "file": true, "json_schema": true, "reasoning": true}
	for name, m := range list.models {
		if m.Price.Input <= 0 || m.Price.Output <= 0 {
			t.Errorf("%s is listed without a price: %+v", name, m.Price)
		}
		for _, p := range []*float64{m.Price.CacheRead, m.Price.CacheWrite} {
			if p != nil && *p <= 0 {
				t.Errorf("%s has a cache price of %v, want unknown", name, *p)
			}
		}
		if m.Price.Input > 200 || m.Price.Output > 1000 {
			t.Errorf("%s costs %+v: not per million tokens?", name, m.Price)
		}
		for _, ability := range m.Supports {
			if !abilities[ability] {
				t.Errorf("%s supports %q, which is no ability", name, ability)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	list, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, model, want string }{
		{"exact", "gpt-5-mini", "gpt-5-mini"},
		{"exact with a date, which may have its own price", "gpt-4o-2024-05-13", "gpt-4o-2024-05-13"},
		{"exact with a prefix", "openrouter/anthropic/claude-sonnet-4.6", "openrouter/anthropic/claude-sonnet-4.6"},
		{"vendor's prefix", "openai/gpt-5-mini", "gpt-5-mini"},
		{"reseller's and vendor's prefix", "openrouter/anthropic/claude-opus-4-8", "claude-opus-4-8"},
		{"LiteLLM's own prefix", "litellm_proxy/anthropic/claude-sonnet-4-6", "claude-sonnet-4-6"},
		{"bare name of a model listed with a prefix", "gemini-2.5-pro", "gemini/gemini-2.5-pro"},
		{"another prefix than the listed one", "google/gemini-2.5-pro", "gemini/gemini-2.5-pro"},
		{"unknown date", "gpt-5-mini-2031-01-31", "gpt-5-mini"},
		{"unknown date without dashes, and a prefix", "anthropic/claude-sonnet-4-6-20310131", "claude-sonnet-4-6"},
		{"unknown date after an at", "vertex_ai/claude-sonnet-4-6@20310131", "claude-sonnet-4-6"},
		{"someone's own server", "ollama/deepseek-r1", ""},
		{"a prefix that isn't this model's vendor", "openai/claude-sonnet-4-6", ""},
		{"a version that is no date", "gpt-5-mini-9999", ""},
		{"unknown", "no-such-model", ""},
		{"empty", "", ""},
		{"prefix alone", "openai/", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := list.Lookup(test.model)
			if got.Name != test.want || ok != (test.want != "") {
				t.Errorf("Lookup(%q) = %q, %v, want %q", test.model, got.Name, ok, test.want)
			}
		})
	}
}

func TestLookupAnswer(t *testing.T) {
	list, err := ReadPriceList([]byte(`{"models": {"m": {"provider": "openai",
		"input": 1, "output": 2, "cache_read": 0.1, "context": 8000, "max_output": 500, "supports": ["tools"]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, ok := list.Lookup("openai/m")
	if !ok || got.Price.Input != 1 || got.Price.Output != 2 || *got.Price.CacheRead != 0.1 || got.Price.CacheWrite != nil ||
		got.Context != 8000 || got.MaxOutput != 500 || len(got.Supports) != 1 {
		t.Errorf("Lookup = %+v, %v", got, ok)
	}
}

func BenchmarkLookup(b *testing.B) {
	list, err := BuiltIn()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		list.Lookup("vertex_ai/claude-sonnet-4-6@20310131")
	}
}
