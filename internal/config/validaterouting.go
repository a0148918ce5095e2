package config

import (
	"fmt"
	"slices"
	"strings"
)

// modelNames returns the set of model names.
func (c *Config) modelNames() map[string]bool {
	known := make(map[string]bool, len(c.Models))
	for _, m := range c.Models {
		known[m.Name] = true
	}
	return known
}

// fits reports whether profile is defined and all its models are there.
func (c *Config) fits(profile string) bool {
	p, ok := c.Routing.Profiles[profile]
	known := c.modelNames()
	return ok && known[p.Light] && known[p.Standard] && known[p.Heavy]
}

func (c *Config) checkModels(k *checker) {
	if c.Routing.Enabled && len(c.Models) == 0 {
		k.add("models", "routing needs at least one: add it, or set routing.enabled to false")
	}
	seen := map[string]int{}
	for i, m := range c.Models {
		key := fmt.Sprintf("models.%d", i)
		first, repeated := seen[m.Name]
		switch {
		case m.Name == "":
			k.add(key+".name", "is missing")
		case repeated:
			k.add(key+".name", "%q is already the name of models.%d", clip(m.Name), first)
		default:
			seen[m.Name] = i
			k.modelName(key+".name", m.Name)
		}
		c.checkModel(k, key, m)
	}
}

// modelName wants a plain name that is not one of the virtual models.
func (k *checker) modelName(key, name string) {
	k.plainName(key, name)
	if name == "auto" || strings.HasPrefix(name, "auto:") {
		k.add(key, "%q is taken: auto and auto:<profile> let routing choose", clip(name))
	}
}

func (c *Config) checkModel(k *checker, key string, m Model) {
	if _, ok := c.Upstreams[m.Upstream]; !ok {
		k.add(key+".upstream", "no upstream %q%s", clip(m.Upstream), hint(m.Upstream, names(c.Upstreams)))
	}
	if m.Tier != "" {
		k.oneOf(key+".tier", m.Tier, "small", "mid", "frontier")
	}
	k.atLeast(key+".context", m.Context, 0)
	k.atLeast(key+".max_output", m.MaxOutput, 0)
	for i, ability := range m.Supports {
		k.oneOf(fmt.Sprintf("%s.supports.%d", key, i), ability,
			"tools", "vision", "audio", "file", "json_schema", "reasoning", "n", "logprobs")
	}
	k.price(key+".price.input", m.Price.Input)
	k.price(key+".price.output", m.Price.Output)
	k.price(key+".price.cache_read", m.Price.CacheRead)
	k.price(key+".price.cache_write", m.Price.CacheWrite)
	k.price(key+".price.cache_write_1h", m.Price.CacheWriteHour)
	k.price(key+".price.reasoning", m.Price.Reasoning)
	checkLongPrice(k, key+".price.long", m.Price.Long)
}

// checkModelChoice wants model to be in models.
func (c *Config) checkModelChoice(k *checker, key, model string) {
	if model == "" {
		k.add(key, "is missing: name one of models")
		return
	}
	if c.modelNames()[model] {
		return
	}
	var known []string
	for _, m := range c.Models {
		known = append(known, m.Name)
	}
	k.add(key, "no model %q in models%s", clip(model), hint(model, known))
}

func (c *Config) checkProfiles(k *checker) {
	for _, name := range names(c.Routing.Profiles) {
		p, key := c.Routing.Profiles[name], "routing.profiles."+name
		k.name(key, name)
		c.checkModelChoice(k, key+".light", p.Light)
		c.checkModelChoice(k, key+".standard", p.Standard)
		c.checkModelChoice(k, key+".heavy", p.Heavy)
	}
	if c.Routing.Enabled && len(c.Models) > 0 {
		c.checkProfile(k, "routing.profile", c.Routing.Profile)
	}
}

// checkProfile wants a profile that is defined.
func (c *Config) checkProfile(k *checker, key, profile string) {
	if _, ok := c.Routing.Profiles[profile]; ok {
		return
	}
	if known := names(c.Routing.Profiles); len(known) > 0 {
		k.add(key, "no profile %q%s", clip(profile), hint(profile, known))
		return
	}
	k.add(key, "no profile %q: define routing.profiles.%s with a light, a standard and a heavy model of yours "+
		"(the default profiles went with the default models)", clip(profile), clip(profile))
}

// checkModelChoices checks what takes a model directly.
func (c *Config) checkModelChoices(k *checker) {
	r := &c.Routing
	k.oneOf("routing.explicit_models", r.ExplicitModels, "cheaper", "route", "respect")
	for _, process := range names(r.ProcessTypes) {
		key := "routing.process_types." + process
		if !slices.Contains(processTypes(), process) {
			k.add(key, "unknown process type%s", hint(process, processTypes()))
			continue
		}
		c.checkModelChoice(k, key, r.ProcessTypes[process])
	}
	if c.fits(r.Profile) {
		for _, process := range processTypes() {
			if _, ok := r.ProcessTypes[process]; !ok {
				k.add("routing.process_types", "%s is missing", process)
			}
		}
	}
	for _, task := range names(r.TaskOverrides) {
		key := "routing.task_overrides." + task
		k.plainName(key, task)
		c.checkModelChoice(k, key, r.TaskOverrides[task])
	}
	for _, model := range names(r.Fallbacks) {
		key := "routing.fallbacks." + model
		c.checkModelChoice(k, key, model)
		for i, other := range r.Fallbacks[model] {
			c.checkModelChoice(k, fmt.Sprintf("%s.%d", key, i), other)
		}
	}
	k.positive("routing.session.idle", r.Session.Idle)
	k.positive("routing.session.cache_ttl", r.Session.CacheTTL)
	k.atLeast("routing.session.horizon", r.Session.Horizon, 1)
	k.atLeast("routing.session.down_after", r.Session.DownAfter, 1)
	within(k, "routing.session.min_gain_usd", r.Session.MinGainUSD, 0, maxGain)
	k.atLeast("routing.session.max_sessions", r.Session.MaxSessions, 1)
}

// maxGain is more than any horizon of a conversation costs, in USD.
const maxGain = 1000

func (c *Config) checkPromptRouting(k *checker) {
	p, key := &c.Routing.PromptRouting, "routing.prompt_routing"
	for i, process := range p.ProcessTypes {
		k.oneOf(fmt.Sprintf("%s.process_types.%d", key, i), process, processTypes()...)
	}
	k.oneOf(key+".scorer", p.Scorer, "learned", "keyword")
	b := p.Boundaries
	within(k, key+".boundaries.light_standard", b.LightStandard, -1, 1)
	within(k, key+".boundaries.standard_heavy", b.StandardHeavy, -1, 1)
	if b.LightStandard >= b.StandardHeavy {
		k.add(key+".boundaries", "light_standard (%v) must be below standard_heavy (%v)", b.LightStandard, b.StandardHeavy)
	}
	dimensions := names(Default().Routing.PromptRouting.Weights)
	for _, d := range names(p.Weights) {
		k.dimension(key+".weights."+d, d, dimensions)
		within(k, key+".weights."+d, p.Weights[d], 0, 1)
	}
	for _, d := range names(p.Keywords) {
		at := key + ".keywords." + d
		k.dimension(at, d, slices.DeleteFunc(slices.Clone(dimensions), func(d string) bool { return d == "token_count" }))
		k.words(at+".add", p.Keywords[d].Add)
		k.words(at+".remove", p.Keywords[d].Remove)
	}
	within(k, key+".min_confidence", p.MinConfidence, 0, 0.99)
}

func (k *checker) dimension(key, name string, known []string) {
	if !slices.Contains(known, name) {
		k.add(key, "unknown dimension%s", hint(name, known))
	}
}

func (k *checker) words(key string, words []string) {
	for i, word := range words {
		if strings.TrimSpace(word) == "" {
			k.add(fmt.Sprintf("%s.%d", key, i), "an empty keyword matches nothing")
		}
	}
}

func checkLongPrice(k *checker, key string, p LongPrice) {
	k.price(key+".input", p.Input)
	k.price(key+".output", p.Output)
	k.price(key+".cache_read", p.CacheRead)
	k.price(key+".cache_write", p.CacheWrite)
	k.price(key+".cache_write_1h", p.CacheWriteHour)
	any := p.Above != nil || p.Input != nil || p.Output != nil || p.CacheRead != nil || p.CacheWrite != nil || p.CacheWriteHour != nil
	if any && (p.Above == nil || !(*p.Above >= 1 && *p.Above <= 1e9) || p.Input == nil || p.Output == nil) {
		k.add(key, "needs above (a number of prompt tokens from 1 up), input and output")
	}
}
