package routing

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
)

// Model is one model that routing may choose. Read-only once in a Catalogue.
type Model struct {
	Name      string // what clients, profiles and metrics call it
	ID        string // what its upstream calls it
	Upstream  string
	Tier      assemble.ModelTier
	Context   int           // window in tokens, 0 unknown
	MaxOutput int           // tokens, 0 unknown
	Supports  []string      // abilities; nil unknown, then none is held against it
	Price     *ledger.Price // nil unknown
}

// Catalogue is the set of models of one configuration.
type Catalogue struct {
	models []*Model
	byName map[string]*Model
	prices *ledger.PriceList
}

// NewCatalogue completes the models from the price list where the
// configuration left something open: price, window, output limit, abilities.
func NewCatalogue(models []Model, prices *ledger.PriceList) (*Catalogue, error) {
	c := &Catalogue{byName: make(map[string]*Model), prices: prices}
	var errs []error
	for _, m := range models {
		if m.ID == "" {
			m.ID = m.Name
		}
		if _, dup := c.byName[m.Name]; dup {
			errs = append(errs, fmt.Errorf("model %q is listed twice", m.Name))
		}
		if info, ok := prices.Lookup(m.ID); ok {
			complete(&m, info)
		}
		c.models = append(c.models, &m)
		c.byName[m.Name] = &m
	}
	for _, m := range c.models { // an upstream's own id is as good as our name
		if _, taken := c.byName[m.ID]; !taken {
			c.byName[m.ID] = m
		}
	}
	return c, errors.Join(errs...)
}

// complete fills what a model leaves open. The price list knows nothing of n
// and logprobs: they are held against Anthropic's models alone, which are known
// to give neither.
func complete(m *Model, info ledger.ModelInfo) {
	if m.Price == nil {
		m.Price = &info.Price
	}
	if m.Context == 0 {
		m.Context = info.Context
	}
	if m.MaxOutput == 0 {
		m.MaxOutput = info.MaxOutput
	}
	if m.Supports == nil {
		m.Supports = info.Supports
		if m.Supports != nil && info.Provider != "anthropic" {
			m.Supports = append(slices.Clip(m.Supports), "n", "logprobs")
		}
	}
}

// Find returns the model with this name or upstream id.
func (c *Catalogue) Find(name string) (*Model, bool) {
	m, ok := c.byName[name]
	return m, ok
}

// Billed returns what a model costs whoever names it: the catalogue's model, or
// for another name what the price list knows, which is never routed to.
func (c *Catalogue) Billed(name string) (*Model, bool) {
	if m, ok := c.byName[name]; ok {
		return m, true
	}
	info, ok := c.prices.Lookup(name)
	if !ok {
		return nil, false
	}
	return &Model{Name: name, ID: name, Tier: assemble.TierForModel(name), Price: &info.Price, Context: info.Context, MaxOutput: info.MaxOutput}, true
}

// All returns the models in the order of the configuration.
func (c *Catalogue) All() []*Model { return c.models }

// windowMargin keeps a tenth of the window free: the token count before the
// answer is an estimate.
const windowMargin = 1.1

// lacks says why the model cannot serve a request, "" when it can.
func (m *Model) lacks(r *Request) string {
	if m.Supports != nil {
		for _, need := range Needed(r.Needs) {
			if !slices.Contains(m.Supports, need) {
				return "no " + need
			}
		}
	}
	want := windowMargin * (float64(r.InputTokens) + float64(m.reserve(r)))
	if m.Context > 0 && want > float64(m.Context) {
		return fmt.Sprintf("window %d < %.0f", m.Context, want)
	}
	return ""
}

// reserve is how many output tokens a request needs room for. A client's limit
// beyond the model's is no obstacle: it is an upper bound, often 64,000 with
// "hi", and [Model.OutputLimit] says what it is cut to. Where the model's own
// is unknown, half the window is enough.
func (m *Model) reserve(r *Request) int {
	n := r.MaxOutput
	if m.MaxOutput > 0 {
		n = min(n, m.MaxOutput)
	} else if m.Context > 0 {
		n = min(n, m.Context/2)
	}
	return n
}

// OutputLimit is the largest output limit that the model takes with a prompt
// of so many tokens, 0 when unknown.
func (m *Model) OutputLimit(inputTokens int) int {
	limit := m.MaxOutput
	if room := int(float64(m.Context)/windowMargin) - inputTokens; m.Context > 0 && (limit == 0 || room < limit) {
		limit = max(1, room)
	}
	return limit
}

// Needed lists the abilities asked for, by their names in the configuration.
func Needed(n chat.Needs) []string {
	out := []string{}
	for _, a := range []struct {
		asked bool
		name  string
	}{
		{n.Tools, "tools"},
		{n.Vision, "vision"},
		{n.Audio, "audio"},
		{n.File, "file"},
		{n.JSONSchema, "json_schema"},
		{n.Reasoning, "reasoning"},
		{n.Choices, "n"},
		{n.Logprobs, "logprobs"},
	} {
		if a.asked {
			out = append(out, a.name)
		}
	}
	return out
}

// typicalOutput is the answer that is assumed where a conversation has had none
// yet, in tokens: clients send max_tokens 64000 with "hi".
const typicalOutput = 500

// estimate is what a request would cost on the model, in USD; ok is false when
// the price is unknown. An answer of typicalOutput tokens is assumed.
func (m *Model) estimate(r *Request) (usd float64, ok bool) {
	if m.Price == nil {
		return 0, false
	}
	return m.Price.Cost(ledger.Usage{Input: int64(r.InputTokens), Output: typicalOutput})
}

// RefusesThinking reports whether a model is known to be of a family that has no
// use for the thinking parts that Anthropic's models sign.
func RefusesThinking(id string) bool {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	for _, family := range []string{"gpt", "o1", "o3", "o4", "gemini", "gemma", "llama", "qwen", "mistral", "deepseek", "grok"} {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return false
}

// Reasoning reports whether a model is of OpenAI's reasoning families, which
// take max_completion_tokens and refuse sampling parameters. A provider's path
// before the name makes no difference.
func Reasoning(id string) bool {
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	for _, family := range []string{"gpt-5", "o1", "o3", "o4"} {
		if rest, ok := strings.CutPrefix(name, family); ok && (rest == "" || strings.ContainsRune("-.:", rune(rest[0]))) {
			return true
		}
	}
	return false
}
