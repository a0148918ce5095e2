package cmd

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
	_ "time/tzdata" // names of zones, where the system has none: in the image

	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/secret"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/memory"
	"github.com/understudy-ai/understudy/proxy"
	"github.com/understudy-ai/understudy/routing"
	"github.com/understudy-ai/understudy/scoring"
)

// This file maps the configuration to the Config of each part.

func (a *app) proxyConfig(ctx context.Context, o IO) (proxy.Config, error) {
	cfg := a.cfg
	pc := proxy.Config{
		Logger: a.logger, Version: Version(), Upstreams: map[string]proxy.UpstreamConfig{}, Default: "default",
		Catalogue: a.catalogue, Ledger: a.ledger, Metrics: a.metrics, Traces: a.traces, Clock: a.clock,
		Limits: proxy.Limits{BodyBytes: cfg.Limits.BodyBytes, HeaderBytes: cfg.Limits.HeaderBytes, SmartBudget: cfg.Limits.SmartBudget},
	}
	pc.Capture = proxy.CaptureConfig{Enabled: cfg.Assemble.Capture.Enabled, TTL: cfg.Assemble.Capture.TTL, Bytes: cfg.Assemble.Capture.Bytes}
	for name, u := range cfg.Upstreams {
		key, err := u.APIKey(o.getenv)
		if err != nil {
			return pc, fmt.Errorf("upstream %q: %w", name, err)
		}
		pc.Upstreams[name] = proxy.UpstreamConfig{
			Name: name, BaseURL: u.BaseURL, Key: key, MaxConns: u.MaxConns,
			Connect: u.Timeouts.Connect, FirstByte: u.Timeouts.FirstByte, Idle: u.Timeouts.Idle,
		}
	}
	var err error
	if pc.Auth, err = authConfig(cfg.Auth, o); err != nil {
		return pc, err
	}
	scorer, err := scoring.New(scoringConfig(cfg.Routing.PromptRouting))
	if err != nil {
		return pc, fmt.Errorf("configuring the scorer: %w", err)
	}
	pc.Scorer = scorer
	if cfg.Routing.Enabled {
		if pc.Router, err = a.openRouter(ctx); err != nil {
			return pc, err
		}
	}
	if cfg.Assemble.Enabled {
		if pc.Assembly, err = a.openAssembly(ctx); err != nil {
			return pc, err
		}
	}
	if a.memory != nil {
		pc.Memory, pc.Memories = a.memory, a.memory
	}
	if a.ambient != nil {
		pc.People, pc.Knowledge = a.ambient, cfg.Ambient.KnowledgeWords
		pc.Ambient, pc.PrivateChannel = a.ambient, privateChannel(a.cfg.Ambient.PrivateChannels)
	}
	return pc, nil
}

func authConfig(c config.Auth, o IO) (proxy.Auth, error) {
	auth := proxy.Auth{Mode: proxy.AuthMode(c.Mode), AllowedHosts: c.AllowedHosts}
	if c.AdminKeyEnv != "" {
		auth.Admin = secret.Text(o.getenv(c.AdminKeyEnv))
	}
	for _, k := range c.Keys {
		sum, err := proxy.ParseKeyHash(k.SHA256)
		if err != nil {
			return auth, fmt.Errorf("auth.keys: %w", err)
		}
		auth.Keys = append(auth.Keys, proxy.Key{SHA256: sum, Caller: proxy.Caller{Tenant: k.Tenant, Agent: k.Agent, Profile: k.Profile}})
	}
	return auth, nil
}

func newCatalogue(cfg config.Config) (*routing.Catalogue, error) {
	prices, err := loadPrices(cfg.DataDir)
	if err != nil {
		return nil, err
	}
	var models []routing.Model
	for _, m := range cfg.Models {
		tier := assemble.TierForModel(m.ID)
		if m.Tier != "" {
			if tier, err = assemble.ParseModelTier(m.Tier); err != nil {
				return nil, fmt.Errorf("model %q: %w", m.Name, err)
			}
		}
		models = append(models, routing.Model{
			Name: m.Name, ID: m.ID, Upstream: m.Upstream, Tier: tier, Context: m.Context,
			MaxOutput: m.MaxOutput, Supports: m.Supports, Price: price(m.Price),
		})
	}
	return routing.NewCatalogue(models, prices)
}

// price is nil unless both input and output are given.
func price(p config.Price) *ledger.Price {
	if p.Input == nil || p.Output == nil {
		return nil
	}
	lp := &ledger.Price{
		Input: *p.Input, Output: *p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite,
		CacheWriteHour: p.CacheWriteHour, Reasoning: p.Reasoning,
	}
	if l := p.Long; l.Above != nil && l.Input != nil && l.Output != nil {
		lp.LongAbove = int64(*l.Above)
		lp.Long = &ledger.Price{
			Input: *l.Input, Output: *l.Output, CacheRead: l.CacheRead, CacheWrite: l.CacheWrite, CacheWriteHour: l.CacheWriteHour, Reasoning: p.Reasoning,
		}
	}
	return lp
}

func scoringConfig(p config.PromptRouting) scoring.Config {
	c := scoring.DefaultConfig()
	c.Kind, c.Weights, c.MinConfidence = scoring.Kind(p.Scorer), p.Weights, p.MinConfidence
	c.Boundaries = scoring.Boundaries{LightStandard: p.Boundaries.LightStandard, StandardHeavy: p.Boundaries.StandardHeavy}
	c.Keywords = make(map[string]scoring.KeywordEdit)
	for dimension, k := range p.Keywords {
		c.Keywords[dimension] = scoring.KeywordEdit{Add: k.Add, Remove: k.Remove}
	}
	return c
}

func agentLabels(cfg config.Config) []string {
	agents := append(slices.Collect(maps.Keys(cfg.Agents)), "default")
	for _, k := range cfg.Auth.Keys {
		if k.Agent != "" {
			agents = append(agents, k.Agent)
		}
	}
	return agents
}

func modelLabels(c *routing.Catalogue) []string {
	var names []string
	for _, m := range c.All() {
		names = append(names, m.Name)
	}
	return names
}

// zones returns where each agent's day begins. The configuration has been
// checked; a zone that is gone since is as good as UTC.
func zones(cfg config.Config) func(agent string) *time.Location {
	load := func(name string) *time.Location {
		zone, err := time.LoadLocation(name)
		if err != nil {
			return time.UTC
		}
		return zone
	}
	common, own := load(cfg.Memory.Timezone), map[string]*time.Location{}
	for id, agent := range cfg.Agents {
		if agent.Timezone != "" {
			own[id] = load(agent.Timezone)
		}
	}
	return func(agent string) *time.Location { return cmp.Or(own[agent], common) }
}

// embedder has the configured model make vectors, nil when there is none. It
// begins as soon as the store is open, and so waits for the server.
func (a *app) embedder() *memory.Embedder {
	cfg := a.cfg.Memory.Embedder
	if cfg.Model == "" {
		return nil
	}
	name := "default/" + cfg.Model
	if m, ok := a.catalogue.Find(cfg.Model); ok {
		name = m.Upstream + "/" + m.ID
	}
	return &memory.Embedder{
		Model: name, Dimensions: cfg.Dimensions, MinCosine: cfg.MinCosine,
		Embed: func(ctx context.Context, q memory.Question, texts []string) ([][]float32, error) {
			select {
			case <-a.serving:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			return a.server.Embed(ctx, proxy.Question{
				Purpose: "embedder", Tenant: q.Tenant, Agent: q.Agent, User: q.User, Model: cfg.Model,
			}, texts, cfg.Dimensions)
		},
	}
}

// extractor asks the model that looks for memories, nil when there is none. The
// server that it asks through is there before anything is learned.
func (a *app) extractor() memory.Model {
	model := a.cfg.Memory.Extractor.Model
	if model == "" {
		return nil
	}
	return func(ctx context.Context, q memory.Question) (string, error) {
		reply, err := a.server.Ask(ctx, proxy.Question{
			Purpose: "extractor", Tenant: q.Tenant, Agent: q.Agent, User: q.User, Model: model, Instructions: q.Instructions, Text: q.Text,
		})
		return reply.Text, err
	}
}
