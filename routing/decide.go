package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/scoring"
)

// Request is what a decision depends on.
type Request struct {
	Session     string // conversation, already namespaced by tenant and agent
	Turn        string // identifies the newest human message
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

	alternatives []string // what may stand in for the first choice, once it failed
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
	d.Baseline, _ = r.cfg.Catalogue.Billed(req.Model)
	if virtual || req.Model == "" {
		d.Baseline, _ = r.Default(req.ProcessType)
	}
	held := r.settleTier(&d, &req)
	explicit := !virtual && req.Model != ""
	lifted := req.Forced || req.Profile != ""
	cheaper := explicit && r.cfg.Explicit == ExplicitCheaper && !lifted
	if explicit && r.cfg.Explicit == ExplicitRespect || cheaper && !known {
		d.Model, d.Reason = named, reasonNamed // nothing is known to be cheaper than an unknown name
		return d, nil
	}
	if held != "" && r.pick(&d, &req, []string{held}, true) {
		return d, nil // what a turn's first request decided holds through its tool loop
	}
	if err := r.choose(&d, &req); err != nil {
		if !explicit {
			return d, err
		}
		d.Model, d.Reason = named, reasonNamed // the upstream may know better than the catalogue
		return d, nil
	}
	if cheaper {
		d.protect(named, &req)
	}
	r.remember(&d, &req)
	return d, nil
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
func (r *Router) settleTier(d *Decision, req *Request) (held string) {
	d.Tier, d.Reason = req.Score.Tier, reasonScore
	switch {
	case req.Forced:
		d.Tier, d.Reason = req.ForcedTier, reasonForced
	case r.inSession(req):
		r.sessions.update(req.Session, func(s *session, fresh bool) {
			d.Tier, d.Reason = s.settle(req, fresh || req.Opens, r.cfg.Session.DownAfter)
			_, task := r.cfg.TaskOverrides[req.TaskType]
			if d.Reason != reasonTurn || s.profile != d.Profile || s.named != req.Model {
				s.held = ""
			} else if !task {
				held = s.held
			}
			s.turn, s.profile, s.named = req.Turn, d.Profile, req.Model
		})
	}
	if d.Reason == reasonScore && req.Score.Abstained {
		d.Reason = reasonAbstained
	}
	return held
}

// inSession reports whether a request uses and moves its session: it does when
// what its prompt scored decides.
func (r *Router) inSession(req *Request) bool {
	return !req.Forced && !req.SideCall && r.promptRouted(req.ProcessType)
}

func (r *Router) promptRouted(processType string) bool {
	return slices.Contains(r.cfg.PromptRouted, processType)
}

// remember moves the session's model and reports a switch.
func (r *Router) remember(d *Decision, req *Request) {
	if !r.inSession(req) {
		return
	}
	var before string
	r.sessions.update(req.Session, func(s *session, fresh bool) {
		if fresh { // others have pushed it out since its tier was settled
			s.tier, s.turn, s.profile, s.named = d.Tier, req.Turn, d.Profile, req.Model
		}
		before, s.model, s.held = s.model, d.Model.Name, d.Model.Name
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
