package routing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/scoring"
)

// Explicit says how far a model that the client named is protected.
type Explicit string

// The policies for named models.
const (
	// ExplicitCheaper lets only a model that is known to be cheaper take its
	// place; a tier or a profile that the request asks for lifts that.
	ExplicitCheaper Explicit = "cheaper"
	ExplicitRoute   Explicit = "route"   // the tier decides, whatever was named
	ExplicitRespect Explicit = "respect" // it is kept
)

// Profile maps each prompt tier to the name of a model.
type Profile struct{ Light, Standard, Heavy string }

// Model names the model of a tier.
func (p Profile) Model(t scoring.Tier) string {
	switch t {
	case scoring.Light:
		return p.Light
	case scoring.Heavy:
		return p.Heavy
	}
	return p.Standard
}

// order lists the models to try for a tier: its own, the stronger ones, then
// the weaker ones.
func (p Profile) order(t scoring.Tier) (names [numTiers]string) {
	n := 0
	for up := t; up <= scoring.Heavy; up++ {
		names[n] = p.Model(up)
		n++
	}
	for down := t - 1; down >= scoring.Light; down-- {
		names[n] = p.Model(down)
		n++
	}
	return names
}

// Config is what New needs. The maps must not be changed afterwards.
type Config struct {
	Catalogue     *Catalogue
	Explicit      Explicit
	Profile       string // the default profile
	Profiles      map[string]Profile
	AgentProfiles map[string]string   // agent → profile, "" none
	ProcessTypes  map[string]string   // process type → model
	TaskOverrides map[string]string   // task type → model
	PromptRouted  []string            // process types whose prompts are scored
	Fallbacks     map[string][]string // model → models to try when it fails, in order
	Session       SessionConfig
	Clock         func() time.Time
	ObserveSwitch func(direction, reason string) // may be nil
}

// Router decides. Safe for concurrent use.
type Router struct {
	cfg      Config
	sessions *sessions
	health   *health
}

// New checks that every model and profile that the configuration names exists.
// The error joins all that is wrong, in a fixed order.
func New(cfg Config) (*Router, error) {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	check := func(kind, name string, models ...string) {
		for _, model := range models {
			if _, ok := cfg.Catalogue.Find(model); !ok {
				wrong("%s %q names unknown model %q", kind, name, model)
			}
		}
	}
	for _, name := range sorted(cfg.Profiles) {
		p := cfg.Profiles[name]
		check("profile", name, p.Light, p.Standard, p.Heavy)
	}
	for _, name := range sorted(cfg.ProcessTypes) {
		check("process type", name, cfg.ProcessTypes[name])
	}
	for _, name := range sorted(cfg.TaskOverrides) {
		check("task override", name, cfg.TaskOverrides[name])
	}
	for _, name := range sorted(cfg.Fallbacks) {
		check("fallbacks", name, name)
		check("fallbacks", name, cfg.Fallbacks[name]...)
	}
	if _, ok := cfg.Profiles[cfg.Profile]; !ok {
		wrong("unknown default profile %q", cfg.Profile)
	}
	for _, agent := range sorted(cfg.AgentProfiles) {
		p := cfg.AgentProfiles[agent]
		if _, ok := cfg.Profiles[p]; p != "" && !ok {
			wrong("agent %q names unknown profile %q", agent, p)
		}
	}
	if !slices.Contains([]Explicit{ExplicitCheaper, ExplicitRoute, ExplicitRespect}, cfg.Explicit) {
		wrong("unknown policy %q for named models", cfg.Explicit)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &Router{cfg: cfg, sessions: newSessions(cfg.Session, cfg.Clock), health: newHealth(cfg.Clock)}, nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Profiles returns the names of all profiles, sorted.
func (r *Router) Profiles() []string { return sorted(r.cfg.Profiles) }

// Default is the model of a process type: what a request that asks us to
// choose gets when no choice can be made.
func (r *Router) Default(processType string) (*Model, error) {
	m, ok := r.cfg.Catalogue.Find(r.cfg.ProcessTypes[processType])
	if !ok {
		return nil, fmt.Errorf("process type %q has no model", processType)
	}
	return m, nil
}

// Models returns the models of a profile, the default one for "".
func (r *Router) Models(profile string) []*Model {
	if profile == "" {
		profile = r.cfg.Profile
	}
	p := r.cfg.Profiles[profile]
	var models []*Model
	for _, name := range []string{p.Light, p.Standard, p.Heavy} {
		if m, ok := r.cfg.Catalogue.Find(name); ok && !slices.Contains(models, m) {
			models = append(models, m)
		}
	}
	return models
}

// Sessions is how many conversations are remembered.
func (r *Router) Sessions() int { return r.sessions.len() }

// Virtual reports whether a model name asks us to choose: "auto", or
// "auto:PROFILE".
func Virtual(model string) (profile string, ok bool) {
	if model == "auto" {
		return "", true
	}
	profile, ok = strings.CutPrefix(model, "auto:")
	if !ok {
		profile = ""
	}
	return profile, ok
}
