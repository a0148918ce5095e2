package eval

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// probe asks every model that the plan names for one word, before anything
// else costs money. One that does not answer is replaced by the first of its
// configured substitutes that does, or left out, and either is noted.
func (r *runner) probe(ctx context.Context) ([]Probe, error) {
	var all []Probe
	plan := r.cfg.Plan
	seen := func(model string) bool {
		return slices.ContainsFunc(all, func(p Probe) bool { return p.Model == model })
	}
	asked := slices.Clone(plan.Conditions)
	for _, model := range append([]string{plan.Priming}, plan.Judges...) {
		asked = append(asked, Condition{Model: model})
	}
	for _, c := range asked {
		if seen(c.Model) {
			continue
		}
		p, err := r.firstThatAnswers(ctx, c.Model, c.Substitutes)
		if err != nil {
			return all, err
		}
		all = append(all, p)
		if p.Used != p.Model && r.cfg.OnProbe != nil {
			r.cfg.OnProbe(p)
		}
	}
	for _, p := range all {
		r.used[p.Model] = p.Used
	}
	if r.used[plan.Priming] == "" {
		return all, fmt.Errorf("the priming model %q does not answer; without it there is nothing to remember", plan.Priming)
	}
	if !slices.ContainsFunc(plan.Conditions, func(c Condition) bool { return r.used[c.Model] != "" }) {
		return all, errors.New("no condition's model answers")
	}
	for _, j := range plan.Judges {
		if r.used[j] != "" {
			r.judges = append(r.judges, j)
		}
	}
	return all, nil
}

// firstThatAnswers tries a model and then its substitutes.
func (r *runner) firstThatAnswers(ctx context.Context, model string, substitutes []string) (Probe, error) {
	p := Probe{Model: model}
	for _, name := range append([]string{model}, substitutes...) {
		_, err := r.ask(ctx, r.side, nil, call{model: name, session: "probe", memory: "off", bypass: true, maxTokens: 16, messages: []message{{"user", "Say hi."}}})
		if err == nil {
			p.Used = name
			if name != model {
				p.Note = fmt.Sprintf("%s does not answer; %s stands in (%s)", model, name, p.Note)
			}
			return p, nil
		}
		if err := ending(ctx, err); err != nil {
			return p, err
		}
		p.Note = fmt.Sprintf("%.200s", err.Error())
	}
	return p, nil
}
