package routing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/understudy-ai/understudy/internal/chat"
)

// walk goes from the wanted model up, then down, to the first that can serve
// the request.
func (r *Router) walk(d *Decision, req *Request) error {
	wanted := r.wanted(d, req)
	if r.pick(d, req, wanted, true) || r.pick(d, req, wanted, false) {
		return nil
	}
	return &chat.Error{
		Status: 400, Code: chat.CodeNoCapableModel, Param: "messages",
		Message: fmt.Sprintf("No model of routing profile %q can serve this request: %s.", d.Profile, describe(d.Candidates)),
	}
}

// pick takes the first model that can serve the request. With careful, models
// that failed lately and those that their upstream doesn't list are passed over.
func (r *Router) pick(d *Decision, req *Request, wanted []string, careful bool) bool {
	d.Candidates = nil
	for i, name := range wanted {
		m, ok := r.cfg.Catalogue.Find(name)
		if !ok || slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Model == m.Name }) {
			continue
		}
		fell := m.lacks(req)
		if fell == "" && careful {
			fell = r.avoid(req, m)
		}
		d.Candidates = append(d.Candidates, Candidate{m.Name, fell})
		if fell != "" {
			continue
		}
		d.Model = m
		if i > 0 {
			d.Reason = reasonCapability
			if f := d.Candidates[0].Fell; f == fellCooling || f == fellAbsent {
				d.Reason = reasonFallback
			}
		}
		return true
	}
	return false
}

// wanted lists model names in order of preference and sets the reason when it
// is not the tier's.
func (r *Router) wanted(d *Decision, req *Request) []string {
	tiers := r.cfg.Profiles[d.Profile].order(d.Tier)
	if model, ok := r.cfg.TaskOverrides[req.TaskType]; ok {
		d.Reason = reasonTask
		return append([]string{model}, tiers[:]...)
	}
	if model, ok := r.cfg.ProcessTypes[req.ProcessType]; ok && !req.Forced && !r.promptRouted(req.ProcessType) {
		d.Reason = reasonProcess
		return append([]string{model}, tiers[:]...)
	}
	return tiers[:]
}

func describe(candidates []Candidate) string {
	var parts []string
	for _, c := range candidates {
		parts = append(parts, c.Model+" has "+c.Fell)
	}
	return strings.Join(parts, ", ")
}

// protect puts the named model back unless the choice is known to be cheaper.
func (d *Decision) protect(req *Request) {
	if d.kept(d.Model, req) == d.Model {
		return
	}
	for i := range d.Candidates {
		if d.Candidates[i].Model == d.Model.Name {
			d.Candidates[i].Fell = fellCheaper
		}
	}
	d.Candidates = append(d.Candidates, Candidate{Model: d.named.Name})
	d.Model, d.Reason = d.named, reasonNamed
}

// kept is what a choice comes to: the protected model, unless the choice is
// known to be cheaper.
func (d *Decision) kept(choice *Model, req *Request) *Model {
	if d.named == nil || choice == nil || choice == d.named {
		return choice
	}
	chosen, ok1 := choice.estimate(req)
	stay, ok2 := d.named.estimate(req)
	if ok1 && ok2 && chosen < stay {
		return choice
	}
	return d.named
}
