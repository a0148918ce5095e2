package ledger

import (
	_ "embed"
	"encoding/json"
	"fmt"
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
}

// PriceList is a list of chat models with their prices. It doesn't change, so
// it is safe for concurrent use.
type PriceList struct {
	// Source, Version and Date (YYYY-MM-DD) say where the prices are from.
	Source, Version, Date string

	models map[string]ModelInfo
}

// builtIn is written by tools/prices.
//
//go:embed prices.json
var builtIn []byte

// BuiltIn returns the price list inside this program: chat models of OpenAI,
// Anthropic, Google, DeepSeek, Mistral, xAI and Groq, and the common ones at
// OpenRouter and DeepInfra. It is cut from LiteLLM's public price map (MIT;
// its notice is in the file). Call it once; each call reads the list anew.
func BuiltIn() (*PriceList, error) {
	list, err := parsePriceList(builtIn)
	if err != nil {
		return nil, fmt.Errorf("reading the built-in price list: %w", err)
	}

	return list, nil
}

func parsePriceList(data []byte) (*PriceList, error) {
	var file struct {
		Source, Version, Date string
		Models                map[string]struct {
			Provider   string   `json:"provider"`
			Input      float64  `json:"input"`
			Output     float64  `json:"output"`
			CacheRead  *float64 `json:"cache_read"`
			CacheWrite *float64 `json:"cache_write"`
			Context    int      `json:"context"`
			MaxOutput  int      `json:"max_output"`
			Supports   []string `json:"supports"`
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}

	list := &PriceList{
		Source:  file.Source,
		Version: file.Version,
		Date:    file.Date,
		models:  make(map[string]ModelInfo, len(file.Models)),
	}
	for name, m := range file.Models {
		list.models[name] = ModelInfo{
			Name:      name,
			Provider:  m.Provider,
			Price:     Price{Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite},
			Context:   m.Context,
			MaxOutput: m.MaxOutput,
			Supports:  m.Supports,
		}
	}

	return list, nil
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
