package ledger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// LiteLLM's public price map is a JSON object from model names to what is known
// of each: model_prices_and_context_window.json of its repository, and of its
// package on PyPI.

// liteLLM is what is read of one model of the map. Costs are USD a token.
type liteLLM struct {
	Provider   string  `json:"litellm_provider"`
	Deprecated string  `json:"deprecation_date"`
	MaxTokens  float64 `json:"max_tokens"` // Some are written 2000000.0.
	MaxInput   float64 `json:"max_input_tokens"`
	MaxOutput  float64 `json:"max_output_tokens"`
	Tools      bool    `json:"supports_function_calling"`
	Vision     bool    `json:"supports_vision"`
	Audio      bool    `json:"supports_audio_input"`
	File       bool    `json:"supports_pdf_input"`
	JSONSchema bool    `json:"supports_response_schema"`
	Reasoning  bool    `json:"supports_reasoning"`

	costs map[string]float64 // Every number with cost in its name.
}

var (
	// unpriceable matches models whose bill is not text tokens alone, and
	// those that do not chat.
	unpriceable = regexp.MustCompile(`^ft:|audio|-live-|-tts|search|robotics|computer-use|translate|lyria|omni|(?i:guard)|-cyber|daybreak`)

	// common matches "provider name" of the models that are built in. Hosts of
	// many vendors are kept for the vendors that routing is commonly set up with.
	common = regexp.MustCompile(`^(?:(?:openai|anthropic|gemini|deepseek|mistral|xai|groq) ` +
		`|openrouter openrouter/(?:anthropic|openai|google|deepseek|mistralai|meta-llama|qwen|x-ai)/` +
		`|deepinfra deepinfra/(?:google|Qwen|meta-llama)/)`)
)

// FromLiteLLM cuts LiteLLM's public price map down to the chat models whose
// bill is text tokens. source, version and date (YYYY-MM-DD) say what it is.
// commonOnly keeps the main vendors' models alone, as the built-in list does.
//
// It invents nothing: a price of 0 is how the map says "unknown", so it is left
// out, and so is a model without a price for input or for output.
func FromLiteLLM(data []byte, source, version, date string, commonOnly bool) (*PriceList, error) {
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(data, &entries); err != nil {
		return nil, fmt.Errorf("reading LiteLLM's price map: %w", err)
	}
	list := &PriceList{models: make(map[string]ModelInfo)}
	from := Source{Name: source, Version: version, Date: date}
	for name, raw := range entries {
		var kind struct {
			Provider string `json:"litellm_provider"`
			Mode     string `json:"mode"`
		}
		if err := json.Unmarshal(raw, &kind); err != nil {
			return nil, fmt.Errorf("reading model %q of LiteLLM's price map: %w", name, err)
		}
		if kind.Mode != "chat" || unpriceable.MatchString(name) || commonOnly && !common.MatchString(kind.Provider+" "+name) {
			continue
		}
		m, err := readLiteLLM(raw)
		if err != nil {
			return nil, fmt.Errorf("reading model %q of LiteLLM's price map: %w", name, err)
		}
		if info := m.info(name, from); info.Price.Input > 0 && info.Price.Output > 0 {
			list.models[name] = info
		}
	}
	if len(list.models) == 0 {
		return nil, fmt.Errorf("reading LiteLLM's price map: no chat model with a price among %d entries", len(entries))
	}
	list.Source = from

	return list, nil
}

func readLiteLLM(raw json.RawMessage) (*liteLLM, error) {
	m := &liteLLM{costs: make(map[string]float64)}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for name, v := range fields {
		if n, ok := v.(float64); ok && strings.Contains(name, "cost") && n > 0 {
			m.costs[name] = n
		}
	}

	return m, nil
}

func (m *liteLLM) info(name string, from Source) ModelInfo {
	info := ModelInfo{
		Name: name, Provider: m.Provider, Price: m.price(""), Context: int(m.MaxInput), MaxOutput: int(m.MaxOutput),
		Deprecated: m.Deprecated, Source: from,
	}
	if info.Context == 0 {
		info.Context = int(m.MaxTokens)
	}
	if above := m.longAbove(); above > 0 {
		long := m.price(fmt.Sprintf("_above_%dk_tokens", above))
		long.inherit(&info.Price)
		info.Price.Long, info.Price.LongAbove = &long, int64(above)*1000
	}
	for _, ability := range []struct {
		name string
		has  bool
	}{
		{"tools", m.Tools},
		{"vision", m.Vision},
		{"audio", m.Audio},
		{"file", m.File},
		{"json_schema", m.JSONSchema},
		{"reasoning", m.Reasoning},
	} {
		if ability.has {
			info.Supports = append(info.Supports, ability.name)
		}
	}

	return info
}

// price reads the prices whose names end in suffix.
func (m *liteLLM) price(suffix string) Price {
	optional := func(name string) *float64 {
		if usd := perMillion(m.costs[name+suffix]); usd > 0 {
			return &usd
		}
		return nil
	}
	p := Price{
		Input:          perMillion(m.costs["input_cost_per_token"+suffix]),
		Output:         perMillion(m.costs["output_cost_per_token"+suffix]),
		CacheRead:      cmp.Or(optional("cache_read_input_token_cost"), optional("input_cost_per_token_cache_hit")), // The latter is DeepSeek's.
		CacheWrite:     optional("cache_creation_input_token_cost"),
		CacheWriteHour: optional("cache_creation_input_token_cost_above_1hr"),
		Reasoning:      optional("output_cost_per_reasoning_token"),
	}
	if p.Reasoning != nil && *p.Reasoning == p.Output {
		p.Reasoning = nil
	}

	return p
}

// inherit takes from base what p leaves out: it stays what it was.
func (p *Price) inherit(base *Price) {
	if p.Output == 0 {
		p.Output = base.Output
	}
	p.CacheRead = cmp.Or(p.CacheRead, base.CacheRead)
	p.CacheWrite = cmp.Or(p.CacheWrite, base.CacheWrite)
	p.CacheWriteHour = cmp.Or(p.CacheWriteHour, base.CacheWriteHour)
	p.Reasoning = cmp.Or(p.Reasoning, base.Reasoning)
}

var longInput = regexp.MustCompile(`^input_cost_per_token_above_(\d+)k_tokens$`)

// longAbove is from how many thousand tokens of prompt on the long price holds,
// 0 where there is none. No model has two.
func (m *liteLLM) longAbove() int {
	for name := range m.costs {
		if found := longInput.FindStringSubmatch(name); found != nil {
			if n, err := strconv.Atoi(found[1]); err == nil {
				return n
			}
		}
	}

	return 0
}

// perMillion turns a price per token into one per million tokens, and drops
// the noise of binary fractions: 2.8e-08 is 0.028, not 0.028000000000000004.
func perMillion(perToken float64) float64 {
	text := strconv.FormatFloat(perToken*1e6, 'g', 12, 64)
	price, _ := strconv.ParseFloat(text, 64) // It was just formatted.

	return price
}
