package routing

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/scoring"
)

// Request is what a decision depends on.
type Request struct {
	Session     string // conversation, already namespaced by tenant and agent
	Turn        string // identifies the newest human message
	Frame       uint64 // identifies the system prompt and the tools
	Humans      int    // human messages in the request
	Opens       bool   // by all that can be told, the first turn of a conversation
	Agent       string
	Account     string // whose key pays upstream: a caller's own, "" ours
	Model       string // as the client named it
	Profile     string // asked for by the request, "" none
	KeyProfile  string // of the caller's key, "" none
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
	SideCall   bool     // the request is none of its conversation's
	Switched   string   // up, down or level: how the conversation changed its model with it, "" not
	Economy    *Economy // of the move to a cheaper model that was considered, nil none

	// BaselineWarm is how many of the prompt's tokens the baseline would have
	// found in its cache, had it served the conversation so far. Nil: the share
	// that the choice finds.
	BaselineWarm *int64

	named        *Model   // the client's, if only a cheaper one may take its place
	alternatives []string // what may stand in for the first choice, once it failed
	before       string   // the model that served the conversation last, if it is another one
}

// Decide chooses. The error is a *chat.Error for what the caller can mend: an
// unknown profile, or needs that no model of the catalogue meets.
func (r *Router) Decide(req Request) (d Decision, err error) {
	if !r.inSession(&req) {
		return r.Explain(req)
	}
	if d, err = r.begin(&req); err != nil {
		return d, err
	}
	r.sessions.update(req.Session, func(s *session, now time.Time) {
		if s.aside(&req) {
			req.SideCall = true
			aside := *s
			s = &aside
		}
		known := s.turn == req.Turn
		if err = r.decide(&d, &req, s, now); !known && !req.SideCall {
			r.sessions.log(s)
		}
	})
	r.observeSwitch(&d)
	return d, err
}

// Explain decides as [Router.Decide] would, and leaves no trace.
func (r *Router) Explain(req Request) (Decision, error) {
	d, err := r.begin(&req)
	if err != nil {
		return d, err
	}
	s, now := r.sessions.look(req.Session)
	req.SideCall = req.SideCall || s.aside(&req)
	return d, r.decide(&d, &req, &s, now)
}

// begin settles what doesn't depend on the conversation.
func (r *Router) begin(req *Request) (Decision, error) {
	d := Decision{Requested: req.Model}
	virtualProfile, virtual := Virtual(req.Model)
	if err := r.setProfile(&d, req, virtualProfile); err != nil {
		return d, err
	}
	if virtual || req.Model == "" {
		d.Baseline, _ = r.Default(req.ProcessType)
	} else {
		d.Baseline, _ = r.cfg.Catalogue.Billed(req.Model)
	}
	return d, nil
}

// decide fills the decision, given the conversation so far, and moves that.
func (r *Router) decide(d *Decision, req *Request, s *session, now time.Time) error {
	d.SideCall = req.SideCall
	if err := r.choose(d, req, s, now); err != nil {
		return err
	}
	d.BaselineWarm = r.baselineWarm(d, req, s, now)
	return nil
}

// choose settles tier and model.
func (r *Router) choose(d *Decision, req *Request, s *session, now time.Time) error {
	_, virtual := Virtual(req.Model)
	named, known := r.cfg.Catalogue.Find(req.Model)
	explicit := !virtual && req.Model != ""
	lifted := req.Forced || req.Profile != ""
	cheaper := explicit && r.cfg.Explicit == ExplicitCheaper && !lifted
	if cheaper {
		d.named = named
	}
	held := r.settleTier(d, req, s, now)
	if explicit && r.cfg.Explicit == ExplicitRespect || cheaper && !known {
		d.Model, d.Reason = named, reasonNamed // nothing is known to be cheaper than an unknown name
		return nil
	}
	if held != "" && r.pick(d, req, []string{held}, true) {
		return nil // what a turn's first request decided holds through its tool loop
	}
	if err := r.walk(d, req); err != nil {
		if !explicit {
			return err
		}
		d.Model, d.Reason = named, reasonNamed // the upstream may know better than the catalogue
		return nil
	}
	d.protect(req)
	if r.inSession(req) {
		s.take(d)
	}
	return nil
}

func (r *Router) setProfile(d *Decision, req *Request, virtual string) error {
	d.Profile = r.cfg.Profile
	for _, p := range []string{r.cfg.AgentProfiles[req.Agent], req.KeyProfile, virtual, req.Profile} {
		if p != "" {
			d.Profile = p
		}
	}
	if _, ok := r.cfg.Profiles[d.Profile]; !ok {
		param, code := "X-Routing-Profile", chat.CodeInvalidHeader
		if req.Profile == "" { // New has checked those of the agents and the default
			param, code = "model", chat.CodeInvalidModel
		}
		return &chat.Error{
			Status: 400, Code: code, Param: param,
			Message: fmt.Sprintf("Unknown routing profile %q. Known profiles: %s.", d.Profile, strings.Join(r.Profiles(), ", ")),
		}
	}
	return nil
}

// settleTier fills Tier and the reason for it. It returns the model that the
// turn has already, "" for a new turn.
func (r *Router) settleTier(d *Decision, req *Request, s *session, now time.Time) (held string) {
	d.Tier, d.Reason = req.Score.Tier, reasonScore
	switch {
	case req.Forced:
		d.Tier, d.Reason = req.ForcedTier, reasonForced
	case r.inSession(req):
		r.settle(d, req, s, now)
		_, task := r.cfg.TaskOverrides[req.TaskType]
		if d.Reason != reasonTurn || s.profile != d.Profile || s.named != clip(req.Model) {
			s.held = ""
		} else if !task {
			held = s.held
		}
		s.settled, s.turn, s.frame, s.humans = true, req.Turn, req.Frame, req.Humans
		s.profile, s.named = d.Profile, clip(req.Model)
	}
	if d.Reason == reasonScore && req.Score.Abstained {
		d.Reason = reasonAbstained
	}
	return held
}

// settle turns the tier that a turn asks for into the tier that it gets. Up it
// goes at once; down when enough turns in a row asked for less and the move
// pays.
func (r *Router) settle(d *Decision, req *Request, s *session, now time.Time) {
	asked := req.Score.Tier
	switch {
	case !s.settled || req.Opens:
		s.begin(asked, now)
		return
	case req.Turn == s.turn:
		d.Tier, d.Reason = s.tier, reasonTurn
		return
	}
	s.traffic.turn(now)
	if req.Terse {
		d.Tier, d.Reason = s.tier, reasonTerse
		return
	}
	s.ask(asked)
	if asked >= s.tier {
		s.move(asked)
		r.stronger(d, req, s, now)
		return
	}
	d.Tier, d.Reason = s.tier, reasonHeld
	for to := asked; to < s.tier; to++ {
		if !s.asksFor(to, r.cfg.Session.DownAfter) {
			continue
		}
		if d.Economy = r.economy(d, req, s, to, now); d.Economy == nil || d.Economy.Pays {
			s.move(to)
			d.Tier, d.Reason = to, reasonScore
			return
		}
		d.Reason = reasonStay
	}
}

// stronger moves up to a tier whose model is cheaper in this conversation: one
// whose prompts are read from the cache may cost less than a smaller one that
// has none.
func (r *Router) stronger(d *Decision, req *Request, s *session, now time.Time) {
	for to := s.tier + 1; to <= scoring.Heavy; to++ {
		if e := r.economy(d, req, s, to, now); e != nil && e.Pays {
			d.Economy = e
			s.move(to)
			d.Tier, d.Reason = to, reasonCheaper
			return
		}
	}
}

// economy reckons the move to another tier; nil when it changes no model.
func (r *Router) economy(d *Decision, req *Request, s *session, to scoring.Tier, now time.Time) *Economy {
	if _, task := r.cfg.TaskOverrides[req.TaskType]; task {
		return nil
	}
	stay, move, top := r.capable(d, req, s.tier), r.capable(d, req, to), r.capable(d, req, s.top)
	if stay == move { // also where nothing is capable
		return nil
	}
	return s.economy(stay, move, top, req, to, &r.cfg.Session, now)
}

// capable is the model that a tier comes to for a request, as far as the one
// that the client named allows it; nil when none can serve it for now.
func (r *Router) capable(d *Decision, req *Request, t scoring.Tier) *Model {
	for _, name := range r.cfg.Profiles[d.Profile].order(t) {
		if m, ok := r.cfg.Catalogue.Find(name); ok && m.lacks(req) == "" && r.avoid(req, m) == "" {
			return d.kept(m, req)
		}
	}
	return nil
}

// inSession reports whether a request uses and moves its session: it does when
// what its prompt scored decides.
func (r *Router) inSession(req *Request) bool {
	return !req.Forced && !req.SideCall && r.promptRouted(req.ProcessType)
}

func (r *Router) promptRouted(processType string) bool {
	return slices.Contains(r.cfg.PromptRouted, processType)
}

// take makes the choice the conversation's model.
func (s *session) take(d *Decision) {
	if s.model != d.Model.Name {
		d.before = s.model
	}
	s.model, s.held = d.Model.Name, d.Model.Name
}

// observeSwitch notes and reports a conversation's change of model.
func (r *Router) observeSwitch(d *Decision) {
	if d.before == "" || d.Model == nil {
		return
	}
	old, ok := r.cfg.Catalogue.Find(d.before)
	if !ok {
		return // of a configuration before this one
	}
	switch d.Switched = "down"; {
	case old.Tier < d.Model.Tier:
		d.Switched = "up"
	case old.Tier == d.Model.Tier:
		d.Switched = "level"
	}
	if r.cfg.ObserveSwitch != nil {
		r.cfg.ObserveSwitch(d.Switched, d.Reason)
	}
}
