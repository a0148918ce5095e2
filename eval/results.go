package eval

import (
	"slices"
	"strings"
	"time"
)

// Results are everything a run found. They are written as results.json.
type Results struct {
	Started    time.Time       `json:"started"`
	Took       time.Duration   `json:"took_ns"`
	Version    string          `json:"version"`
	Simulated  bool            `json:"simulated,omitempty"`
	Seeds      int             `json:"seeds"`
	Gold       string          `json:"gold"`
	Measure    string          `json:"measure"` // what the summary compares: "judges" or "facts"
	Plan       *Plan           `json:"plan"`
	Probe      []Probe         `json:"probe"`
	Scenarios  []Outcome       `json:"scenarios"`
	Conditions []Summary       `json:"conditions"`
	Closures   []ClosureResult `json:"closures"`
	// CostUSD is what the run cost, judges and priming included; Unpriced
	// counts the answers whose price is not known.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced"`
	// Stopped says why the run ended before its time, "" when it did not.
	Stopped string `json:"stopped,omitempty"`
}

// Failures counts the answers, and the scenarios that could not be primed, for
// which a model gave none. They are left out of every figure.
func (res *Results) Failures() int {
	n := 0
	for i := range res.Scenarios {
		n += res.Scenarios[i].failures()
	}
	return n
}

// Probe is what a model's first test said.
type Probe struct {
	Model string `json:"model"`
	Used  string `json:"used,omitempty"` // the name that answers; "" none does
	Note  string `json:"note,omitempty"`
}

// Sentence says what became of a model that is not used as it is.
func (p *Probe) Sentence() string {
	if p.Used == "" {
		return p.Model + " is left out: " + oneLine(p.Note)
	}
	return oneLine(p.Note)
}

// Outcome is one scenario.
type Outcome struct {
	Scenario      string          `json:"scenario"`
	Shape         string          `json:"shape"`
	Language      string          `json:"language"`
	Memories      int             `json:"memories"`       // after the priming
	Verified      map[string]bool `json:"verified"`       // each expected text: found in memory or not
	PrimingFailed bool            `json:"priming_failed"` // fewer than two memories, or a text is missing
	Runs          []Answer        `json:"runs"`
	// CostUSD is what the scenario cost, priming and judges included; Unpriced
	// counts the answers in it whose price is not known.
	CostUSD  float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced"`
	// Failed says why the priming got no answer; then nothing was asked.
	Failed string `json:"failed,omitempty"`
}

func (o *Outcome) failures() int {
	n := 0
	if o.Failed != "" {
		n++
	}
	for i := range o.Runs {
		if o.Runs[i].Failed != "" {
			n++
		}
	}
	return n
}

// Answer is one answer.
type Answer struct {
	Condition string        `json:"condition"`
	Seed      int           `json:"seed"`
	Model     string        `json:"model"`
	Text      string        `json:"answer"`
	Applied   Applied       `json:"applied"`
	Facts     *Checked      `json:"facts,omitempty"`
	Judged    []Judgement   `json:"judged,omitempty"`
	CostUSD   *float64      `json:"cost_usd,omitempty"`
	Latency   time.Duration `json:"latency_ns"`
	Input     int64         `json:"input_tokens"`
	Output    int64         `json:"output_tokens"`
	// Failed says why there is no answer; such a run is counted and left out.
	Failed string `json:"failed,omitempty"`
}

// overall is the mean of the judges that could be read, false when none was.
func (r *Answer) overall() (float64, bool) {
	var marks []float64
	for _, j := range r.Judged {
		if j.Unparsed == "" {
			marks = append(marks, j.Overall)
		}
	}
	return mean(marks), len(marks) > 0
}

// score is the run's figure by the run's measure.
func (r *Answer) score(measure string) (float64, bool) {
	if measure == measureFacts {
		if r.Facts == nil {
			return 0, false
		}
		return r.Facts.Share, true
	}
	return r.overall()
}

const (
	measureJudges = "judges"
	measureFacts  = "facts"
)

// Summary is one condition over all scenarios.
type Summary struct {
	Code  string    `json:"code"`
	Model string    `json:"model"`
	Score *Estimate `json:"score,omitempty"` // by the run's measure
	Facts *Estimate `json:"facts,omitempty"`
	// Unparsed are judgements that could not be read and were left out.
	Unparsed int `json:"unparsed"`
	// Disagreement is the mean spread between judges of one answer.
	Disagreement *float64      `json:"judge_disagreement,omitempty"`
	MeanCostUSD  *float64      `json:"mean_cost_usd,omitempty"`
	Latency      time.Duration `json:"median_latency_ns"`
	MeanOutput   float64       `json:"mean_output_tokens"`
	Scaffolds    int           `json:"scaffolds"` // runs that had one
	Runs         int           `json:"runs"`
	Empty        int           `json:"empty"` // answers without a word
	Skipped      string        `json:"skipped,omitempty"`
}

// of are the answers under a condition in one scenario.
func (o *Outcome) of(code string) []Answer {
	var some []Answer
	for _, r := range o.Runs {
		if r.Condition == code && r.Failed == "" {
			some = append(some, r)
		}
	}
	return some
}

// cell is a condition's mean over the seeds of one scenario.
func (o *Outcome) cell(code, measure string) (float64, bool) {
	var v []float64
	for _, r := range o.of(code) {
		if s, ok := r.score(measure); ok {
			v = append(v, s)
		}
	}
	return mean(v), len(v) > 0
}

// compare works out a comparison over the scenarios in which all of its
// conditions have a mean.
func (res *Results) compare(c Closure) ClosureResult {
	var baseline, with, top []float64
	var rows []Row
	for i := range res.Scenarios {
		o := &res.Scenarios[i]
		b, okB := o.cell(c.Baseline, res.Measure)
		w, okW := o.cell(c.With, res.Measure)
		t, okT := o.cell(c.Top, res.Measure)
		if !okB || !okW || !okT && c.Top != "" || slices.Contains(c.Except, o.Shape) {
			continue
		}
		row := Row{Scenario: o.Scenario, Effect: w - b}
		baseline, with = append(baseline, b), append(with, w)
		if c.Top != "" {
			gap := t - b
			top, row.Gap = append(top, t), &gap
		}
		rows = append(rows, row)
	}
	r := closure(c, baseline, with, top)
	r.Rows = rows
	return r
}

// summarise computes Measure, Conditions and Closures from Scenarios.
func (res *Results) summarise() {
	res.Measure = measureFacts
	for i := range res.Scenarios {
		for k := range res.Scenarios[i].Runs {
			if _, ok := res.Scenarios[i].Runs[k].overall(); ok {
				res.Measure = measureJudges
			}
		}
	}
	res.Conditions, res.Closures = nil, nil
	for _, c := range res.Plan.Conditions {
		res.Conditions = append(res.Conditions, res.summary(c))
	}
	for _, c := range res.Plan.Closures {
		res.Closures = append(res.Closures, res.compare(c))
	}
}

func (res *Results) summary(c Condition) Summary {
	s := Summary{Code: c.Code, Model: c.Model}
	var costs, outputs, spreads []float64
	var took []time.Duration
	for i := range res.Scenarios {
		for _, r := range res.Scenarios[i].of(c.Code) {
			s.Runs++
			s.Model = r.Model
			took, outputs = append(took, r.Latency), append(outputs, float64(r.Output))
			if r.CostUSD != nil {
				costs = append(costs, *r.CostUSD)
			}
			if r.Applied.Scaffold {
				s.Scaffolds++
			}
			if strings.TrimSpace(r.Text) == "" {
				s.Empty++
			}
			unparsed, spread := spreadOf(r.Judged)
			s.Unparsed += unparsed
			spreads = append(spreads, spread...)
		}
	}
	for _, p := range res.Probe {
		if p.Model == c.Model && p.Used == "" {
			s.Skipped = p.Note
		}
	}
	if s.Runs == 0 {
		return s
	}
	s.Score, s.Facts = res.estimate(c.Code, res.Measure), res.estimate(c.Code, measureFacts)
	slices.Sort(took)
	s.Latency, s.MeanOutput = took[len(took)/2], mean(outputs)
	if len(costs) == s.Runs {
		m := mean(costs)
		s.MeanCostUSD = &m
	}
	if len(spreads) > 0 {
		m := mean(spreads)
		s.Disagreement = &m
	}
	return s
}

func (res *Results) estimate(code, measure string) *Estimate {
	var v []float64
	for i := range res.Scenarios {
		if m, ok := res.Scenarios[i].cell(code, measure); ok {
			v = append(v, m)
		}
	}
	if len(v) == 0 {
		return nil
	}
	e := bootstrap(len(v), func(index []int) float64 { return pick(v, index) })
	return &e
}

// spreadOf counts what could not be read, and gives the widest difference
// between judges when two could.
func spreadOf(judged []Judgement) (unparsed int, spread []float64) {
	low, high, n := 1.0, 0.0, 0
	for _, j := range judged {
		if j.Unparsed != "" {
			unparsed++
			continue
		}
		low, high, n = min(low, j.Overall), max(high, j.Overall), n+1
	}
	if n > 1 {
		spread = []float64{high - low}
	}
	return unparsed, spread
}
