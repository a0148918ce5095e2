package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const sample = `{
  "sample_spec": {"litellm_provider": "one of …", "mode": "one of …", "max_input_tokens": "a sentence"},
  "gpt-x": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 2.8e-08, "output_cost_per_token": 4.2e-07,
    "cache_read_input_token_cost": 2.8e-09, "cache_creation_input_token_cost": 0.0, "max_tokens": 9.0, "max_output_tokens": 8,
    "supports_vision": true, "supports_function_calling": true, "supports_pdf_input": true, "supports_reasoning": false},
  "gpt-x-audio": {"litellm_provider": "openai", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
  "embed-x": {"litellm_provider": "openai", "mode": "embedding", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
  "gemini/free": {"litellm_provider": "gemini", "mode": "chat", "input_cost_per_token": 0, "output_cost_per_token": 0},
  "other/x": {"litellm_provider": "other", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 1e-06},
  "openrouter/qwen/q": {"litellm_provider": "openrouter", "mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "max_input_tokens": 7}
}`

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map.json")
	if err := os.WriteFile(path, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run(&out, path, "1.2.3", "2026-01-02"); err != nil {
		t.Fatal(err)
	}
	head, models, _ := strings.Cut(out.String(), "\"models\": {\n")
	want := `"gpt-x": {"provider":"openai","input":0.028,"output":0.42,"cache_read":0.0028,"context":9,"max_output":8,"supports":["tools","vision","file"]},
"openrouter/qwen/q": {"provider":"openrouter","input":1,"output":2,"context":7}
}}
`
	if models != want {
		t.Errorf("models:\n%s\nwant:\n%s", models, want)
	}
	for _, part := range []string{`"version": "1.2.3"`, `"date": "2026-01-02"`, `MIT License\n\nCopyright (c) 2023 Berri AI`} {
		if !strings.Contains(head, part) {
			t.Errorf("the head lacks %s:\n%s", part, head)
		}
	}
}

func TestRunErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map.json")
	if err := os.WriteFile(path, []byte(`{"x": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{path, path + ".missing"} {
		if err := run(new(strings.Builder), path, "1", "2"); err == nil {
			t.Errorf("run(%q) succeeded", path)
		}
	}
}
