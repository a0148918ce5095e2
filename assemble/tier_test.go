package assemble

import (
	"encoding/json"
	"testing"
)

func TestTierForModel(t *testing.T) {
	tests := []struct {
		model string
		want  ModelTier
	}{
		{"claude-opus-4-7", Frontier},
		{"claude-opus-4-6", Frontier},
		{"claude-sonnet-4-6", Mid},
		{"claude-haiku-4-5", Mid},
		{"gemma-4-31b", Small},
		{"gemma-4-26b-moe", Small},
		{"qwen3-30b-a3b", Small},
		{"qwen3-32b", Small},
		{"unknown-model-xyz", Mid},
		{"Claude-Opus-4-7", Frontier},

		// The provider's own prefixes.
		{"openrouter/google/gemma-4-31b-it", Small},
		{"openrouter/qwen/qwen3-30b-a3b", Small},
		{"openrouter/anthropic/claude-opus-4.6", Frontier},
		{"anthropic/claude-opus-4-7", Frontier},
		{"bedrock/us.anthropic.claude-opus-4-6-v1:0", Frontier},
		{"vertex_ai/claude-sonnet-4-6@20260101", Mid},
		{"hf.co/unsloth/gemma-4-26B-A4B-it-GGUF:Q4_K_M", Small},
		{"accounts/fireworks/models/qwen3-235b-a22b", Mid},
		{"meta.llama3-1-8b-instruct-v1:0", Small},

		// Families of many sizes.
		{"qwen3.5-27b", Small},
		{"qwen3-0.6b", Small},
		{"gemma3-270m-it", Small},
		{"llama-3.1-8b-instruct", Small},
		{"llama-3.3-70b-instruct", Mid},
		{"llama3.2:3b", Small},
		{"llama-3.1-405b", Mid},
		{"llama-4-scout-17b-16e-instruct", Mid},
		{"llama-4-maverick", Mid},

		{"a-claude-opus-lookalike", Mid},
		{"openrouter/", Mid},
		{"", Mid},
	}
	for _, tt := range tests {
		t.Run(tt.model, func(t *testing.T) {
			if got := TierForModel(tt.model); got != tt.want {
				t.Errorf("TierForModel(%q) = %v, want %v", tt.model, got, tt.want)
			}
		})
	}
}

func TestModelTierText(t *testing.T) {
	for _, tier := range []ModelTier{Small, Mid, Frontier} {
		if got, err := ParseModelTier(tier.String()); err != nil || got != tier {
			t.Errorf("ParseModelTier(%q) = %v, %v, want %v", tier, got, err, tier)
		}
	}
	for _, bad := range []string{"", "Small", "tier(7)"} {
		if got, err := ParseModelTier(bad); err == nil {
			t.Errorf("ParseModelTier(%q) = %v, want an error", bad, got)
		}
	}
	if got, _ := json.Marshal(map[string]ModelTier{"tier": Frontier}); string(got) != `{"tier":"frontier"}` {
		t.Errorf("marshalled tier = %s, want %s", got, `{"tier":"frontier"}`)
	}
	if got, want := ModelTier(7).String(), "tier(7)"; got != want {
		t.Errorf("ModelTier(7) = %q, want %q", got, want)
	}
}

func TestLimitsFor(t *testing.T) {
	tests := []struct {
		tier ModelTier
		want int
	}{{Small, 3}, {Mid, 6}, {Frontier, 10}, {ModelTier(7), 6}}
	for _, tt := range tests {
		got := LimitsFor(tt.tier)
		if got.Frames != tt.want || got.RecallLimit < got.Frames || got.Profile == "" {
			t.Errorf("LimitsFor(%v) = %+v, want %d frames, at least as many recalled, a profile", tt.tier, got, tt.want)
		}
	}
}
