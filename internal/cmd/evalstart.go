package cmd

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/understudy-ai/understudy/eval"
	"github.com/understudy-ai/understudy/internal/config"
)

// evalStarter starts the proxies of an evaluation: as base configures them,
// but on loopback, in folders of their own, and with what the condition says.
func evalStarter(base config.Config, o IO) eval.Starter {
	return func(ctx context.Context, s eval.Setup) (eval.Instance, error) {
		cfg := evalModels(base, s.Models, s.Prices)
		cfg.Listen, cfg.DataDir, cfg.Auth = "127.0.0.1:0", s.DataDir, config.Auth{Mode: "none"}
		cfg.Log.Level = "error"
		cfg.OTel = config.OTel{}               // these are not the traces of base's callers
		cfg.Routing.ExplicitModels = "respect" // a condition names its model
		cfg.Routing.Fallbacks = nil            // and no other answers for it
		cfg.Limits.SmartBudget = 10 * time.Second
		cfg.Agents = map[string]config.Agent{eval.Agent: {IdentityDir: s.IdentityDir}}
		cfg.Memory.Enabled, cfg.Assemble.Enabled = false, false
		if c := s.Condition; c != nil {
			cfg.Memory.Enabled, cfg.Assemble.Enabled = c.Assembler, c.Assembler
			cfg.Assemble.HoldOut = 0 // whatever base tries out
			if !c.Scaffold {
				cfg.Assemble.HoldOut = 1
			}
			for i := range cfg.Models {
				if cfg.Models[i].Name == c.Model && c.Tier != "" {
					cfg.Models[i].Tier = c.Tier
				}
			}
		}
		a, err := startApp(ctx, cfg, o, newLogger(cfg.Log, o.Err))
		if err != nil {
			return nil, err
		}
		return evalInstance{a}, nil
	}
}

// evalModels is base with the models that an evaluation names, where base has
// none of that name.
func evalModels(base config.Config, models map[string]eval.Condition, prices map[string]eval.Price) config.Config {
	cfg := base
	cfg.Models = slices.Clone(base.Models)
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if slices.ContainsFunc(cfg.Models, func(m config.Model) bool { return m.Name == name }) {
			continue
		}
		m := config.Model{Name: name, ID: name, Upstream: "default", Tier: models[name].Tier}
		if p, ok := prices[name]; ok {
			m.Price.Input, m.Price.Output = &p.Input, &p.Output
		}
		cfg.Models = append(cfg.Models, m)
	}
	return cfg
}

// evalInstance is an app as the harness sees it.
type evalInstance struct{ *app }

func (i evalInstance) URL() string  { return i.url() }
func (i evalInstance) Close() error { return i.close() }
