// Command prices cuts LiteLLM's public price map down to the chat models of
// the main providers and writes the list that package ledger embeds:
//
//	pip download --no-deps litellm==1.99.4
//	unzip -p litellm-*.whl litellm/model_prices_and_context_window_backup.json > map.json
//	go run ./tools/prices -version 1.99.4 -date 2026-09-25 map.json > ledger/prices.json
//
// The same map gives the same bytes. It fetches nothing, and it invents
// nothing: a price of zero is how the map says "unknown", so it is left out,
// and so is a model that has no input or output price.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
)

func main() {
	version := flag.String("version", "", "version of the litellm package that `map.json` is from")
	date := flag.String("date", "", "date of that package, `YYYY-MM-DD`")
	flag.Parse()
	if *version == "" || *date == "" || flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(os.Stdout, flag.Arg(0), *version, *date); err != nil {
		fmt.Fprintln(os.Stderr, "prices: error:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, path, version, date string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	models, err := cut(data)
	if err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	list, err := render(models, version, date)
	if err != nil {
		return err
	}
	_, err = w.Write(list)

	return err
}

// source is what is read of one model of LiteLLM's map. Costs are USD a token.
type source struct {
	Provider   string  `json:"litellm_provider"`
	Mode       string  `json:"mode"`
	Input      float64 `json:"input_cost_per_token"`
	Output     float64 `json:"output_cost_per_token"`
	CacheRead  float64 `json:"cache_read_input_token_cost"`
	CacheWrite float64 `json:"cache_creation_input_token_cost"`
	MaxTokens  float64 `json:"max_tokens"` // Some are written 2000000.0.
	MaxInput   float64 `json:"max_input_tokens"`
	MaxOutput  float64 `json:"max_output_tokens"`
	Tools      bool    `json:"supports_function_calling"`
	Vision     bool    `json:"supports_vision"`
	Audio      bool    `json:"supports_audio_input"`
	File       bool    `json:"supports_pdf_input"`
	JSONSchema bool    `json:"supports_response_schema"`
	Reasoning  bool    `json:"supports_reasoning"`
}

// model is one line of the list. Prices are USD per million tokens; an absent
// number is unknown.
type model struct {
	Provider   string   `json:"provider"`
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  float64  `json:"cache_read,omitempty"`
	CacheWrite float64  `json:"cache_write,omitempty"`
	Context    int      `json:"context,omitempty"`
	MaxOutput  int      `json:"max_output,omitempty"`
	Supports   []string `json:"supports,omitempty"`
}

var (
	// wanted matches "provider name" of the models to keep. Hosts of many
	// vendors are kept for the vendors that routing is commonly set up with.
	wanted = regexp.MustCompile(`^(?:(?:openai|anthropic|gemini|deepseek|mistral|xai|groq) ` +
		`|openrouter openrouter/(?:anthropic|openai|google|deepseek|mistralai|meta-llama|qwen|x-ai)/` +
		`|deepinfra deepinfra/(?:google|Qwen|meta-llama)/)`)

	// unwanted matches models whose bill is not text tokens alone, and those
	// that do not chat.
	unwanted = regexp.MustCompile(`^ft:|audio|-live-|-tts|search|robotics|computer-use|translate|lyria|omni|(?i:guard)|-cyber|daybreak`)
)

// cut returns the models of the list by name.
func cut(data []byte) (map[string]model, error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, err
	}
	models := make(map[string]model)
	for name, raw := range entries {
		var kind struct {
			Provider string `json:"litellm_provider"`
			Mode     string `json:"mode"`
		}
		if err := json.Unmarshal(raw, &kind); err != nil {
			return nil, fmt.Errorf("model %q: %w", name, err)
		}
		if kind.Mode != "chat" || !wanted.MatchString(kind.Provider+" "+name) || unwanted.MatchString(name) {
			continue
		}
		var s source
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("model %q: %w", name, err)
		}
		if s.Input > 0 && s.Output > 0 {
			models[name] = s.model()
		}
	}

	return models, nil
}

func (s source) model() model {
	m := model{
		Provider:   s.Provider,
		Input:      perMillion(s.Input),
		Output:     perMillion(s.Output),
		CacheRead:  perMillion(s.CacheRead),
		CacheWrite: perMillion(s.CacheWrite),
		Context:    int(s.MaxInput),
		MaxOutput:  int(s.MaxOutput),
	}
	if m.Context == 0 {
		m.Context = int(s.MaxTokens)
	}
	for _, ability := range []struct {
		name string
		has  bool
	}{
		{"tools", s.Tools},
		{"vision", s.Vision},
		{"audio", s.Audio},
		{"file", s.File},
		{"json_schema", s.JSONSchema},
		{"reasoning", s.Reasoning},
	} {
		if ability.has {
			m.Supports = append(m.Supports, ability.name)
		}
	}

	return m
}

// perMillion turns a price per token into one per million tokens, and drops
// the noise of binary fractions: 2.8e-08 is 0.028, not 0.028000000000000004.
func perMillion(perToken float64) float64 {
	text := strconv.FormatFloat(perToken*1e6, 'g', 12, 64)
	price, _ := strconv.ParseFloat(text, 64) // It was just formatted.

	return price
}

// render writes one model a line, sorted by name, so that a newer map is
// a diff that can be read.
func render(models map[string]model, version, date string) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "{\n\"source\": %q,\n\"version\": %q,\n\"date\": %q,\n\"licence\": %q,\n\"models\": {\n",
		"model_prices_and_context_window_backup.json of the PyPI package litellm", version, date, licence)
	for i, name := range slices.Sorted(maps.Keys(models)) {
		line, err := json.Marshal(models[name])
		if err != nil {
			return nil, fmt.Errorf("writing %q: %w", name, err)
		}
		if i > 0 {
			out.WriteString(",\n")
		}
		fmt.Fprintf(&out, "%q: %s", name, line)
	}
	out.WriteString("\n}}\n")

	return out.Bytes(), nil
}
