package routing

import (
	"slices"
	"time"
)

// Report tells how a model did for a request, so that a failing one is left
// alone for a while. retryAfter is what its upstream asked for, 0 when it did
// not.
func (r *Router) Report(req *Request, m *Model, f Failure, retryAfter time.Duration) {
	r.health.report(served{req.Account, m.Name}, f, retryAfter)
}

// Listed tells whether a model's upstream lists it. One that is not listed is
// passed over while another can serve, until it is listed or has answered; every
// ten minutes a request tries it.
func (r *Router) Listed(m *Model, listed bool) { r.health.list(m.Name, listed) }

// avoid says why a model is to be left alone for a request, "" when it is not.
func (r *Router) avoid(req *Request, m *Model) string {
	return r.health.avoid(served{req.Account, m.Name})
}

// Next moves a decision on to another model after its own failed; false when
// there is none. The order is that of the configured fallbacks, else, for a
// model that was our choice, the client's own and then the profile's other
// tiers, stronger ones first. A prompt that overflowed moves once, and only to
// a larger window.
func (r *Router) Next(req *Request, d *Decision, f Failure) bool {
	failed := d.Model
	if f == Overflow && d.alternatives != nil {
		return false
	}
	if d.alternatives == nil {
		d.alternatives = r.alternatives(d)
	}
	d.fall(failed, f.String())
	for _, name := range d.alternatives {
		m, ok := r.cfg.Catalogue.Find(name)
		if !ok || d.considered(m.Name) {
			continue
		}
		fell := m.lacks(req)
		if fell == "" {
			fell = r.avoid(req, m)
		}
		if fell == "" && f == Overflow && m.Context <= failed.Context {
			fell = "no larger window"
		}
		d.Candidates = append(d.Candidates, Candidate{m.Name, fell})
		if fell != "" {
			continue
		}
		d.Model, d.Reason = m, reasonFallback
		r.moveTo(d, req)
		return true
	}
	return false
}

// moveTo moves the conversation to a choice that stood in for another one.
func (r *Router) moveTo(d *Decision, req *Request) {
	d.before = ""
	if !r.inSession(req) || d.SideCall {
		s, now := r.sessions.look(req.Session)
		d.BaselineWarm = r.baselineWarm(d, req, &s, now)
		return
	}
	r.sessions.update(req.Session, func(s *session, now time.Time) {
		s.take(d)
		r.sessions.log(s)
		d.BaselineWarm = r.baselineWarm(d, req, s, now)
	})
	r.observeSwitch(d)
}

// alternatives lists, in order of preference, what may stand in for a choice.
func (r *Router) alternatives(d *Decision) []string {
	if names, ok := r.cfg.Fallbacks[d.Model.Name]; ok {
		return names
	}
	if d.Reason == reasonNamed {
		return nil // the client chose it, and nobody said what else would do
	}
	tiers := r.cfg.Profiles[d.Profile].order(d.Tier)
	return append([]string{d.Requested}, tiers[:]...)
}

// considered reports whether a model was a candidate before and could have
// been taken then.
func (d *Decision) considered(name string) bool {
	return slices.ContainsFunc(d.Candidates, func(c Candidate) bool { return c.Model == name && c.Fell != fellCheaper })
}

// fall notes why a candidate is no longer the choice.
func (d *Decision) fall(m *Model, why string) {
	for i := range d.Candidates {
		if d.Candidates[i].Model == m.Name {
			d.Candidates[i].Fell = why
			return
		}
	}
	d.Candidates = append(d.Candidates, Candidate{m.Name, why})
}
