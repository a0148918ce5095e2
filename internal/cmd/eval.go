package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/understudy-ai/understudy/eval"
	"github.com/understudy-ai/understudy/internal/config"
)

const evalCommands = `
And on files, without a model:
  understudy eval recall DIR        how well memory finds what answers questions
  understudy eval routing FILE...   how well the scorer tells tiers, or gains, apart
  understudy eval readme DIR        the figures of quality that the README quotes
`

func runEval(ctx context.Context, args []string, o IO) error {
	if len(args) > 0 {
		switch args[0] {
		case "recall":
			return runEvalRecall(ctx, args[1:], o)
		case "routing":
			return runEvalRouting(args[1:], o)
		case "readme":
			return runEvalReadme(ctx, args[1:], o)
		}
	}
	e, err := parseEval(args, o)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(o.Out, evalCommands)
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(e.out, 0o755); err != nil {
		return fmt.Errorf("making the folder for the results: %w", err)
	}
	if e.simulated {
		up, err := startScripted(e.cfg.Scenarios)
		if err != nil {
			return fmt.Errorf("starting the scripted upstream: %w", err)
		}
		defer up.Close()
		e.base = demoConfig("", up.URL())
	}
	e.cfg.Start = evalStarter(e.base, o)
	if err := e.journal(e.partial()); err != nil {
		return err
	}
	if err := e.estimate(o); err != nil {
		return err
	}
	return e.run(ctx, o)
}

// evalCall is what a call of eval asks for.
type evalCall struct {
	cfg       eval.Config
	base      config.Config
	out       string
	simulated bool
	resume    bool
	asJSON    bool
}

func parseEval(args []string, o IO) (*evalCall, error) {
	e := &evalCall{}
	f := flags("eval")
	cf := addConfigFlags(f)
	f.StringVar(&e.out, "out", "", "write results.json and EVAL-RESULTS.md into `DIR`")
	f.BoolVar(&e.simulated, "simulated", false, "against scripted models with a known gap; needs no upstream")
	conditions := f.String("conditions", "closure", "a YAML `FILE` of conditions, or one that is shipped: closure, memory")
	set := f.String("suite", "original", "the shipped `SUITE` of scenarios: original, own, all")
	dir := f.String("scenarios", "", "read the scenarios from `DIR` instead")
	model := f.String("model", "", "stands for the model called \"model\" in the conditions: `NAME`")
	judge := f.String("judge", "", "judge with this model instead of the plan's judges: `NAME`; none: facts alone decide")
	f.IntVar(&e.cfg.Seeds, "seeds", 3, "ask each question so many `TIMES` under each condition")
	f.StringVar(&e.cfg.Gold, "gold", eval.GoldRubric, "what answers are judged by: rubric, or condition:`CODE`")
	f.IntVar(&e.cfg.Concurrency, "concurrency", 1, "play so many `SCENARIOS` at a time")
	f.DurationVar(&e.cfg.Timeout, "timeout", 5*time.Minute, "wait at most this `TIME` for an answer")
	f.IntVar(&e.cfg.MaxTokens, "max-tokens", 0, "let an answer have at most so many `TOKENS`; 0: as many as the model likes")
	f.Float64Var(&e.cfg.MaxUSD, "max-usd", 0, "stop when this `AMOUNT` is spent; 0: any")
	f.BoolVar(&e.resume, "resume", false, "keep the scenarios that an interrupted run in -out has finished")
	f.BoolVar(&e.asJSON, "json", false, "write the results to stdout as JSON instead of a table")
	if err := parse(f, args, o); err != nil {
		return nil, err
	}
	if e.out == "" {
		return nil, usageError{errors.New("-out DIR is missing: where should the results go?")}
	}
	if e.cfg.Seeds < 1 || e.cfg.Concurrency < 1 {
		return nil, usageError{errors.New("-seeds and -concurrency take numbers from 1")}
	}
	if e.simulated {
		*conditions = "simulated"
	} else {
		loaded, err := cf.load(o)
		if err != nil {
			return nil, err
		}
		e.base = loaded.Config
	}
	e.cfg.Version = Version()
	if err := e.read(*conditions, *set, *dir, *model, *judge); err != nil {
		return nil, err
	}
	if err := e.cfg.Plan.CheckGold(e.cfg.Gold); err != nil {
		return nil, usageError{err}
	}
	return e, nil
}

// partial is the file of what is finished while a run lasts.
func (e *evalCall) partial() string { return filepath.Join(e.out, "partial.jsonl") }

// read reads conditions and scenarios.
func (e *evalCall) read(conditions, set, dir, model, judge string) (err error) {
	if e.cfg.Plan, err = eval.ShippedPlan(conditions); errors.Is(err, fs.ErrNotExist) {
		e.cfg.Plan, err = eval.ReadPlan(os.DirFS(filepath.Dir(conditions)), filepath.Base(conditions))
	}
	if err != nil {
		return err
	}
	e.cfg.Plan.Rename("model", model)
	switch judge {
	case "":
	case "none":
		e.cfg.Plan.Judges = nil
	default:
		e.cfg.Plan.Judges = []string{judge}
	}
	if e.cfg.Scenarios, err = eval.Scenarios(set); dir != "" {
		e.cfg.Scenarios, err = eval.ReadScenarios(os.DirFS(dir))
	}
	return err
}

// resumeHint is what to do about a run that is not whole.
const resumeHint = "-resume goes on with the scenarios that are not finished"

// run evaluates and writes what it found. What is finished stays in the journal
// until all of it is, so that the rest can be asked later.
func (e *evalCall) run(ctx context.Context, o IO) error {
	left := len(e.cfg.Scenarios) - len(e.cfg.Done)
	p := newProgress(o.Err, "answers", int64(left*len(e.cfg.Plan.Conditions)*e.cfg.Seeds))
	e.cfg.OnRun = func() { p.add(1) }
	e.cfg.OnProbe = func(probe eval.Probe) {
		fmt.Fprintf(o.Err, "understudy: warning: %s\n", probe.Sentence())
	}
	res, err := eval.Run(ctx, e.cfg)
	p.end()
	if err != nil {
		return hintError{err, resumeHint}
	}
	res.Simulated = e.simulated
	if err := writeResults(e.out, res); err != nil {
		return err
	}
	if e.asJSON {
		err = json.NewEncoder(o.Out).Encode(res)
	} else {
		err = res.WriteTable(o.Out)
	}
	if n := res.Failures(); err == nil && n > 0 {
		err = hintError{fmt.Errorf("%d times a model gave no answer; the report says where", n), resumeHint}
	}
	if res.Stopped != "" {
		fmt.Fprintf(o.Err, "understudy: warning: %s; %s, with a larger -max-usd\n", res.Stopped, resumeHint)
	}
	if err != nil || res.Stopped != "" {
		return err
	}
	if err := os.Remove(e.partial()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func writeResults(dir string, res *eval.Results) error {
	data, err := json.MarshalIndent(res, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "results.json"), append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the results: %w", err)
	}
	f, err := os.Create(filepath.Join(dir, "EVAL-RESULTS.md"))
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return errors.Join(res.WriteMarkdown(f), f.Close())
}

// estimate says what the run may cost, before it costs anything.
func (e *evalCall) estimate(o IO) error {
	prices, err := newCatalogue(evalModels(e.base, e.cfg.Plan.Models(), e.cfg.Plan.Prices))
	if err != nil {
		return err
	}
	usd, unpriced := e.cfg.Estimate(func(model string) (input, output float64, ok bool) {
		m, known := prices.Find(model)
		if !known || m.Price == nil {
			return 0, 0, false
		}
		return m.Price.Input, m.Price.Output, true
	})
	left := len(e.cfg.Scenarios) - len(e.cfg.Done)
	if left < len(e.cfg.Scenarios) {
		fmt.Fprintf(o.Err, "%d scenarios to go of ", left)
	}
	fmt.Fprintf(o.Err, "%d scenarios, %d conditions, %d seeds: about $%.2f", len(e.cfg.Scenarios), len(e.cfg.Plan.Conditions), e.cfg.Seeds, usd)
	if len(unpriced) > 0 {
		fmt.Fprintf(o.Err, ", without the price of %v, which is not known", unpriced)
	}
	fmt.Fprintln(o.Err)
	if e.cfg.MaxUSD > 0 && len(unpriced) > 0 {
		return fmt.Errorf("-max-usd can't be kept: nobody knows what %v costs; say so under prices in the file of conditions, or in the configuration", unpriced)
	}
	if e.cfg.MaxUSD > 0 && usd > e.cfg.MaxUSD {
		fmt.Fprintf(o.Err, "understudy: warning: that is more than -max-usd %.2f; the run will stop when it is spent\n", e.cfg.MaxUSD)
	}
	return nil
}
