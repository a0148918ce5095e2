package ledger

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// ModelInfo is what the price list knows of one model.
type ModelInfo struct {
	// Name is the name it is listed under, as LiteLLM spells it.
	Name string

	// Provider is who sends the bill: "openai", "openrouter", …
	Provider string

	Price Price

	// Context is the largest prompt in tokens, MaxOutput the longest answer;
	// 0 when unknown.
	Context, MaxOutput int

	// Supports holds some of: tools, vision, audio, file, json_schema,
	// reasoning. It must not be modified.
	Supports []string

	// Deprecated is the day (YYYY-MM-DD) on which the vendor means to switch it
	// off, as far as one is known.
	Deprecated string

	// Source is the list that this is from.
	Source Source
}

// Source says where prices are from.
type Source struct {
	Name    string `json:"source"`
	Version string `json:"version"`
	Date    string `json:"date"` // YYYY-MM-DD
}

// PriceList is a list of chat models with their prices. It doesn't change, so
// it is safe for concurrent use.
type PriceList struct {
	Source Source

	models map[string]ModelInfo
}

// builtIn is written by "understudy prices import -common"; see AGENTS.md.
//
//go:embed prices.json
var builtIn []byte

// BuiltIn returns the price list inside this program: chat models of OpenAI,
// Anthropic, Google, DeepSeek, Mistral, xAI and Groq, and the common ones at
// OpenRouter and DeepInfra. It is cut from LiteLLM's public price map (MIT;
// its notice is in the file). Call it once; each call reads the list anew.
func BuiltIn() (*PriceList, error) {
	list, err := ReadPriceList(builtIn)
	if err != nil {
		return nil, fmt.Errorf("reading the built-in price list: %w", err)
	}

	return list, nil
}

// Len is how many models are listed.
func (l *PriceList) Len() int { return len(l.models) }

// Over returns a list with the models of both, where l's go before base's.
func (l *PriceList) Over(base *PriceList) *PriceList {
	both := &PriceList{Source: l.Source, models: maps.Clone(base.models)}
	maps.Copy(both.models, l.models)

	return both
}

// dateSuffix is how a release is pinned: gpt-5-2025-08-07,
// claude-sonnet-4-5-20250929, claude-opus-4@20250514.
var dateSuffix = regexp.MustCompile(`[-@]20\d\d-?[01]\d-?[0-3]\d$`)

// Lookup finds a model by the name that a client or a config uses. The first
// of these that is listed counts:
//
//  1. the name itself;
//  2. the name without the provider's prefix, or with the vendor's own, when
//     the bill is the same either way: "openai/gpt-5",
//     "openrouter/anthropic/claude-opus-5", "gemini-2.5-pro";
//  3. both again without a date at the end: "gpt-5-2025-12-31".
//
// A prefix that may stand for someone else's server of open weights
// ("ollama/deepseek-r1") is not removed: better no price than a wrong one.
func (l *PriceList) Lookup(model string) (ModelInfo, bool) {
	for _, name := range []string{model, dateSuffix.ReplaceAllString(model, "")} {
		if info, ok := l.models[name]; ok {
			return info, true
		}
		if info, ok := l.withoutPrefix(name); ok {
			return info, true
		}
	}

	return ModelInfo{}, false
}

// withoutPrefix looks name up without its prefix, and accepts only a model
// that the prefix's own vendor bills.
func (l *PriceList) withoutPrefix(name string) (ModelInfo, bool) {
	name = strings.TrimPrefix(name, "litellm_proxy/")
	for _, p := range [...]struct{ prefix, provider, listed string }{
		{"", "", ""},
		{"", "gemini", "gemini/"},
		{"", "mistral", "mistral/"},
		{"", "xai", "xai/"},
		{"openai/", "openai", ""},
		{"openrouter/openai/", "openai", ""},
		{"azure/", "openai", ""},
		{"anthropic/", "anthropic", ""},
		{"openrouter/anthropic/", "anthropic", ""},
		{"vertex_ai/", "anthropic", ""},
		{"vertex_ai/", "gemini", "gemini/"},
		{"google/", "gemini", "gemini/"},
		{"openrouter/google/", "gemini", "gemini/"},
		{"mistralai/", "mistral", "mistral/"},
		{"x-ai/", "xai", "xai/"},
		{"openrouter/x-ai/", "xai", "xai/"},
	} {
		rest, ok := strings.CutPrefix(name, p.prefix)
		if !ok {
			continue
		}
		info, ok := l.models[p.listed+rest]
		if ok && (p.provider == "" || info.Provider == p.provider) {
			return info, true
		}
	}

	return ModelInfo{}, false
}
