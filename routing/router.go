package routing

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/scoring"
)

// Explicit says how far a model that the client named is protected.
type Explicit string

// The policies for named models.
const (
	ExplicitCheaper Explicit = "cheaper" // only a cheaper model may take its place
	ExplicitRoute   Explicit = "route"   // the tier decides, whatever was named
	ExplicitRespect Explicit = "respect" // it is kept
)

// Profile maps each prompt tier to the name of a model.
type Profile struct{ Light, Standard, Heavy string }

func (p Profile) model(t scoring.Tier) string {
	switch t {
	case scoring.Light:
		return p.Light
	case scoring.Heavy:
		return p.Heavy
	}
	return p.Standard
}

// Config is what New needs. The maps must not be changed afterwards.
type Config struct {
	Catalogue     *Catalogue
	Explicit      Explicit
	Profile       string // the default profile
	Profiles      map[string]Profile
	AgentProfiles map[string]string // agent → profile
	ProcessTypes  map[string]string // process type → model
	TaskOverrides map[string]string // task type → model
	PromptRouted  []string          // process types whose prompts are scored
	Session       SessionConfig
	Clock         func() time.Time
	ObserveSwitch func(direction, reason string) // may be nil
}

// Request is what a decision depends on.
type Request struct {
	Session     string // conversation, already namespaced by tenant and agent
	Turn        string // identifies the newest human message
	Agent       string
	Model       string // as the client named it
	Profile     string // asked for by the request, "" none
	ProcessType string
	TaskType    string
	Forced      bool         // ForcedTier holds
	ForcedTier  scoring.Tier // from the request
	Score       scoring.Score
	Terse       bool
	SideCall    bool // a probe or a title request: neither uses nor moves the session
	Needs       chat.Needs
	InputTokens int // estimated
	MaxOutput   int // as the client limited it, 0 none
}

// Candidate is a model that was considered.
type Candidate struct {
	Model string `json:"model"`
	Fell  string `json:"fell,omitempty"` // why it was not taken; "" for the choice
}

// Decision is the outcome for one request.
type Decision struct {
	Model      *Model       // the choice; nil: leave the client's model as it is
	Baseline   *Model       // what the client would otherwise have paid for; nil unknown
	Requested  string       // as the client named it
	Profile    string       // the profile in force
	Tier       scoring.Tier // after session rules
	Reason     string       // ASCII, from a bounded set
	Candidates []Candidate
}

// Router decides. Safe for concurrent use.
type Router struct {
	cfg      Config
	sessions *sessions
}

// New checks that everything named exists in the catalogue.
func New(cfg Config) (*Router, error) {
	var errs []error
	check := func(where, model string) {
		if _, ok := cfg.Catalogue.Find(model); !ok {
			errs = append(errs, fmt.Errorf("%s names unknown model %q", where, model))
		}
	}
	for name, p := range cfg.Profiles {
		for _, model := range []string{p.Light, p.Standard, p.Heavy} {
			check("profile "+name, model)
		}
	}
	for name, model := range cfg.ProcessTypes {
		check("process type "+name, model)
	}
	for name, model := range cfg.TaskOverrides {
		check("task override "+name, model)
	}
	if _, ok := cfg.Profiles[cfg.Profile]; !ok {
		errs = append(errs, fmt.Errorf("unknown default profile %q", cfg.Profile))
	}
	return &Router{cfg: cfg, sessions: newSessions(cfg.Session, cfg.Clock)}, errors.Join(errs...)
}

// Profiles returns the names of all profiles, sorted.
func (r *Router) Profiles() []string { return slices.Sorted(maps.Keys(r.cfg.Profiles)) }

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

// Decide chooses. The error is a *chat.Error for what the caller can mend: an
// unknown profile, or needs that no model of the catalogue meets.
func (r *Router) Decide(req Request) (Decision, error) {
	d := Decision{Requested: req.Model}
	virtualProfile, virtual := Virtual(req.Model)
	if err := r.setProfile(&d, &req, virtualProfile); err != nil {
		return d, err
	}
	named, known := r.cfg.Catalogue.Find(req.Model)
	d.Baseline = named
	if virtual || req.Model == "" {
		d.Baseline, _ = r.Default(req.ProcessType)
	}
	r.settleTier(&d, &req)
	if !virtual && req.Model != "" && (!known || r.cfg.Explicit == ExplicitRespect) {
		d.Model, d.Reason = named, "named" // an unknown name is left to the upstream
		return d, nil
	}
	if err := r.choose(&d, &req); err != nil {
		if virtual || req.Model == "" {
			return d, err
		}
		d.Model, d.Reason = named, "named"
		return d, nil
	}
	lifted := req.Forced || req.Profile != ""
	if !virtual && known && r.cfg.Explicit == ExplicitCheaper && !lifted {
		d.protect(named, &req)
	}
	r.remember(&d, &req)
	return d, nil
}

func (r *Router) setProfile(d *Decision, req *Request, virtual string) error {
	d.Profile = r.cfg.Profile
	for _, p := range []string{r.cfg.AgentProfiles[req.Agent], virtual, req.Profile} {
		if p != "" {
			d.Profile = p
		}
	}
	if _, ok := r.cfg.Profiles[d.Profile]; !ok {
		param := "X-Routing-Profile"
		if d.Profile == virtual && req.Profile == "" {
			param = "model"
		}
		return &chat.Error{
			Status: 400, Code: chat.CodeInvalidHeader, Param: param,
			Message: fmt.Sprintf("Unknown routing profile %q. Known profiles: %s.", d.Profile, strings.Join(r.Profiles(), ", ")),
		}
	}
	return nil
}

// settleTier fills Tier and the reason for it.
func (r *Router) settleTier(d *Decision, req *Request) {
	d.Tier, d.Reason = req.Score.Tier, reasonScore
	switch {
	case req.Forced:
		d.Tier, d.Reason = req.ForcedTier, reasonForced
	case !req.SideCall:
		r.sessions.update(req.Session, func(s *session, fresh bool) {
			d.Tier, d.Reason = s.settle(req, fresh, r.cfg.Session.DownAfter)
			s.turn = req.Turn
		})
	}
	if d.Reason == reasonScore && req.Score.Abstained {
		d.Reason = "abstained"
	}
}

// choose walks from the wanted model up, then down, to the first that can
// serve the request.
func (r *Router) choose(d *Decision, req *Request) error {
	for i, name := range r.wanted(d, req) {
		m, ok := r.cfg.Catalogue.Find(name)
		if !ok || slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Model == m.Name }) {
			continue
		}
		fell := m.lacks(req)
		d.Candidates = append(d.Candidates, Candidate{m.Name, fell})
		if fell != "" {
			continue
		}
		d.Model = m
		if i > 0 {
			d.Reason = "capability"
		}
		return nil
	}
	return &chat.Error{
		Status: 400, Code: chat.CodeNoCapableModel, Param: "messages",
		Message: "No configured model can serve this request: " + describe(d.Candidates) + ".",
	}
}

// wanted lists model names in order of preference and sets the reason when it
// is not the tier's.
func (r *Router) wanted(d *Decision, req *Request) []string {
	p := r.cfg.Profiles[d.Profile]
	tiers := []string{p.model(d.Tier)}
	for t := d.Tier + 1; t <= scoring.Heavy; t++ {
		tiers = append(tiers, p.model(t))
	}
	for t := d.Tier - 1; t >= scoring.Light; t-- {
		tiers = append(tiers, p.model(t))
	}
	if model, ok := r.cfg.TaskOverrides[req.TaskType]; ok {
		d.Reason = "task"
		return append([]string{model}, tiers...)
	}
	if model, ok := r.cfg.ProcessTypes[req.ProcessType]; ok && !req.Forced && !slices.Contains(r.cfg.PromptRouted, req.ProcessType) {
		d.Reason = "process"
		return append([]string{model}, tiers...)
	}
	return tiers
}

func describe(candidates []Candidate) string {
	var parts []string
	for _, c := range candidates {
		parts = append(parts, c.Model+" has "+c.Fell)
	}
	return strings.Join(parts, ", ")
}

// protect puts the named model back unless the choice is known to be cheaper.
func (d *Decision) protect(named *Model, req *Request) {
	if d.Model == named {
		return
	}
	chosen, ok1 := d.Model.estimate(req)
	stay, ok2 := named.estimate(req)
	if ok1 && ok2 && chosen < stay {
		return
	}
	for i := range d.Candidates {
		if d.Candidates[i].Model == d.Model.Name {
			d.Candidates[i].Fell = "not cheaper than the named model"
		}
	}
	d.Candidates = append(d.Candidates, Candidate{Model: named.Name})
	d.Model, d.Reason = named, "named"
}

// remember moves the session's model and reports a switch.
func (r *Router) remember(d *Decision, req *Request) {
	if req.SideCall {
		return
	}
	var before string
	r.sessions.update(req.Session, func(s *session, _ bool) {
		before, s.model = s.model, d.Model.Name
	})
	if r.cfg.ObserveSwitch == nil || before == "" || before == d.Model.Name {
		return
	}
	old, _ := r.cfg.Catalogue.Find(before)
	direction := "down"
	if old.Tier < d.Model.Tier {
		direction = "up"
	} else if old.Tier == d.Model.Tier {
		direction = "level"
	}
	r.cfg.ObserveSwitch(direction, d.Reason)
}
