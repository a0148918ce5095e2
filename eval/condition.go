package eval

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// Condition is one way to ask a scenario's question.
type Condition struct {
	Code  string `yaml:"code" json:"code"` // short and unique, such as A
	Model string `yaml:"model" json:"model"`
	// Tier is the model's own size as routing has it: small, mid or frontier.
	// Empty: by the family of its name.
	Tier string `yaml:"tier" json:"tier,omitempty"`
	// Assembler off leaves the prompt as it was sent: no memory, no scaffold.
	Assembler bool `yaml:"assembler" json:"assembler"`
	Scaffold  bool `yaml:"scaffold" json:"scaffold"`
	Memory    bool `yaml:"memory" json:"memory"`
	// Substitutes are names to try when the upstream has no Model.
	Substitutes []string `yaml:"substitutes" json:"substitutes,omitempty"`
}

// Plan is a file of conditions and what to compute from them.
type Plan struct {
	// Priming is the model that answers the turns before the question.
	Priming string `yaml:"priming" json:"priming"`
	// Judges are the models that judge; none: facts alone decide.
	Judges []string `yaml:"judges" json:"judges"`
	// Conditions in the order in which they are asked and shown.
	Conditions []Condition `yaml:"conditions" json:"conditions"`
	// Closures are the comparisons of the summary.
	Closures []Closure `yaml:"closures" json:"closures"`
	// Prices are USD per million tokens, for models that no price list has.
	Prices map[string]Price `yaml:"prices" json:"prices,omitempty"`
}

// Price is what a model costs, in USD per million tokens.
type Price struct {
	Input  float64 `yaml:"input" json:"input"`
	Output float64 `yaml:"output" json:"output"`
}

// Closure says how much of the gap between two conditions a third one closes.
type Closure struct {
	Name     string `yaml:"name" json:"name"`
	Baseline string `yaml:"baseline" json:"baseline"` // the weak one, such as B
	With     string `yaml:"with" json:"with"`         // the weak one with help, such as C
	Top      string `yaml:"top" json:"top"`           // the strong one, such as A; "": only With − Baseline
	// Target is the share that counts as a success, 0: none.
	Target float64 `yaml:"target" json:"target,omitempty"`
	// Except are shapes whose scenarios don't count, such as draft.
	Except []string `yaml:"except" json:"except,omitempty"`
}

//go:embed conditions/*.yaml
var shippedPlans embed.FS

// Plans are the names of the shipped files of conditions.
var Plans = []string{"closure", "memory", "simulated"}

// ShippedPlan returns one of Plans.
func ShippedPlan(name string) (*Plan, error) {
	return ReadPlan(shippedPlans, path.Join("conditions", name+".yaml"))
}

// ReadPlan reads a file of conditions. All problems are reported at once.
func ReadPlan(dir fs.FS, file string) (*Plan, error) {
	var p Plan
	err := readYAML(dir, file, &p)
	if err == nil {
		err = p.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("conditions %s: %w", file, err)
	}
	return &p, nil
}

func (p *Plan) validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if p.Priming == "" {
		bad("priming names no model")
	}
	if len(p.Conditions) == 0 {
		bad("there are no conditions")
	}
	codes := map[string]bool{"": true}
	for i, c := range p.Conditions {
		if c.Code == "" || c.Model == "" {
			bad("conditions[%d] needs a code and a model", i)
		} else if codes[c.Code] {
			bad("conditions[%d]: the code %q is taken", i, c.Code)
		}
		codes[c.Code] = true
		if !c.Assembler && (c.Scaffold || c.Memory) {
			bad("conditions[%d]: without the assembler nothing is added, neither a scaffold nor memory", i)
		}
		if !slices.Contains([]string{"", "small", "mid", "frontier"}, c.Tier) {
			bad("conditions[%d]: tier is %q; it takes small, mid or frontier", i, c.Tier)
		}
	}
	for i, c := range p.Closures {
		for _, code := range []string{c.Baseline, c.With, c.Top} {
			if !codes[code] {
				bad("closures[%d] names the unknown condition %q", i, code)
			}
		}
		if c.Baseline == "" || c.With == "" {
			bad("closures[%d] needs a baseline and a with", i)
		}
	}
	return errors.Join(problems...)
}

// Models are all that the plan names, each with the first condition that has
// it; a model of no condition has one with its name alone.
func (p *Plan) Models() map[string]Condition {
	all := map[string]Condition{}
	for _, c := range p.Conditions {
		for _, name := range append([]string{c.Model}, c.Substitutes...) {
			if _, ok := all[name]; !ok {
				all[name] = c
			}
		}
	}
	for _, name := range append([]string{p.Priming}, p.Judges...) {
		if _, ok := all[name]; !ok {
			all[name] = Condition{Model: name}
		}
	}
	return all
}

// Rename puts another model in the place of one, everywhere. An empty new name
// changes nothing.
func (p *Plan) Rename(old, name string) {
	if name == "" {
		return
	}
	swap := func(s *string) {
		if *s == old {
			*s = name
		}
	}
	swap(&p.Priming)
	for i := range p.Judges {
		swap(&p.Judges[i])
	}
	for i := range p.Conditions {
		swap(&p.Conditions[i].Model)
	}
}
