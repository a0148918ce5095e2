package ledger

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const liteLLMMap = `{
  "sample_spec": {"litellm_provider": "one of …", "mode": "one of …", "max_input_tokens": "a sentence"},
  "gpt-x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.8e-08, "output_cost_per_token": 4.2e-07,
    "cache_read_input_token_cost": 2.8e-09, "cache_creation_input_token_cost": 0.0, "max_tokens": 9.0, "max_output_tokens": 8,
    "output_cost_per_reasoning_token": 4.2e-07, "deprecation_date": "2027-01-31",
    "supports_vision": true, "supports_function_calling": true, "supports_pdf_input": true, "supports_reasoning": false},
  "claude-x": {"litellm_provider": "anthropic", "mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05,
    "cache_creation_input_token_cost": 3.75e-06, "cache_creation_input_token_cost_above_1hr": 6e-06, "cache_read_input_token_cost": 3e-07,
    "input_cost_per_token_above_200k_tokens": 6e-06, "output_cost_per_token_above_200k_tokens": 2.25e-05,
    "cache_creation_input_token_cost_above_200k_tokens": 7.5e-06, "cache_creation_input_token_cost_above_1hr_above_200k_tokens": 1.2e-05,
    "input_cost_per_token_above_200k_tokens_priority": 1, "search_context_cost_per_query": {"search_context_size_low": 0.01}},
  "deepseek/x": {"litellm_provider": "deepseek", "mode": "chat", "input_cost_per_token": 1.4e-07, "input_cost_per_token_cache_hit": 1.4e-08, "output_cost_per_token": 2.8e-07},
  "thinker": {"litellm_provider": "dashscope", "mode": "chat", "input_cost_per_token": 4e-07, "output_cost_per_token": 1.2e-06, "output_cost_per_reasoning_token": 4e-06},
  "gpt-x-audio": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
  "embed-x": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
  "gemini/free": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
  "openrouter/qwen/q": {"litellm_provider": "openrouter", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "max_input_tokens": 7}
}`

func TestFromLiteLLM(t *testing.T) {
	const claude = `"claude-x": {"provider":"anthropic","input":3,"output":15,"cache_read":0.3,"cache_write":3.75,"cache_write_1h":6,` +
		`"long":{"above":200000,"input":6,"output":22.5,"cache_read":0.3,"cache_write":7.5,"cache_write_1h":12}}`
	const deepseek = `"deepseek/x": {"provider":"deepseek","input":0.14,"output":0.28,"cache_read":0.014}`
	const gpt = `"gpt-x": {"provider":"openai","input":0.028,"output":0.42,"cache_read":0.0028,"context":9,"max_output":8,"supports":["tools","vision","file"],"deprecated":"2027-01-31"}`
	const qwen = `"openrouter/qwen/q": {"provider":"openrouter","input":1,"output":2,"context":7}`
	const thinker = `"thinker": {"provider":"dashscope","input":0.4,"output":1.2,"reasoning":4}`
	tests := []struct {
		name   string
		common bool
		want   []string
	}{
		{"the main vendors'", true, []string{claude, deepseek, gpt, qwen}},
		{"all", false, []string{claude, deepseek, gpt, qwen, thinker}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, err := FromLiteLLM([]byte(liteLLMMap), "a map", "1.2.3", "2026-01-02", tt.common)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := list.Write(&out); err != nil {
				t.Fatal(err)
			}
			head, models, _ := strings.Cut(out.String(), "\"models\": {\n")
			if diff := cmp.Diff(strings.Join(tt.want, ",\n")+"\n}}\n", models); diff != "" {
				t.Errorf("models (-want +got):\n%s", diff)
			}
			for _, part := range []string{`"source": "a map"`, `"version": "1.2.3"`, `"date": "2026-01-02"`, `MIT License\n\nCopyright (c) 2023 Berri AI`} {
				if !strings.Contains(head, part) {
					t.Errorf("the head lacks %s:\n%s", part, head)
				}
			}
			again, err := ReadPriceList([]byte(out.String()))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(list, again, cmp.AllowUnexported(PriceList{})); diff != "" {
				t.Errorf("read again (-written +read):\n%s", diff)
			}
		})
	}
}

func TestFromLiteLLMErrors(t *testing.T) {
	for _, text := range []string{"", "[]", `{"x": 1}`, `{"x": {"mode": "chat", "input_cost_per_token": 1, "max_tokens": "many"}}`, `{}`} {
		if list, err := FromLiteLLM([]byte(text), "", "", "", false); err == nil {
			t.Errorf("FromLiteLLM(%q) = %d models, want an error", text, list.Len())
		}
	}
}

func TestOver(t *testing.T) {
	base := &PriceList{models: map[string]ModelInfo{"a": {Name: "a", Context: 1}, "b": {Name: "b"}}}
	both := (&PriceList{models: map[string]ModelInfo{"a": {Name: "a", Context: 2}, "c": {Name: "c"}}}).Over(base)
	if m, _ := both.Lookup("a"); both.Len() != 3 || m.Context != 2 || base.Len() != 2 {
		t.Errorf("%d models, a has a window of %d, the base %d models, want 3, 2 and still 2", both.Len(), m.Context, base.Len())
	}
}
