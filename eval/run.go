package eval

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Config is what [Run] needs.
type Config struct {
	Plan      *Plan
	Scenarios []Scenario
	Seeds     int    // how often each question is asked under each condition
	Gold      string // GoldRubric, or "condition:" and a code
	Start     Starter
	// Temp is where the folders of scenarios are made; nothing stays there.
	Temp        string
	Concurrency int           // scenarios at a time
	Timeout     time.Duration // for one answer
	MaxTokens   int           // that an answer may have, 0: any
	MaxUSD      float64       // what the run may cost, what is done included; 0: any amount
	Version     string
	// Done are scenarios of an earlier run that are taken as they are.
	Done []Outcome
	// OnProbe is called for each model that another stands in for, or none;
	// nil: nobody.
	OnProbe func(Probe)
	// OnOutcome is called after each scenario that got all of its answers, one
	// at a time; nil: nobody.
	OnOutcome func(Outcome) error
	// OnRun is called after each answer, from any goroutine; nil: nobody.
	OnRun func()
}

// Fingerprint tells runs apart whose scenarios can't be put together: it is of
// everything that is asked, and of how.
func (c *Config) Fingerprint() (string, error) {
	data, err := json.Marshal([]any{c.Version, c.Plan, c.Scenarios, c.Seeds, c.Gold, c.MaxTokens})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// done is where a scenario is in Done, -1: nowhere.
func (c *Config) done(scenario string) int {
	return slices.IndexFunc(c.Done, func(o Outcome) bool { return o.Scenario == scenario })
}

// errBudget ends a run that has spent what it may.
var errBudget = errors.New("the budget is spent")

// runner is one run.
type runner struct {
	cfg    Config
	side   *client           // for judges and probes: a proxy with everything off
	used   map[string]string // the name that answers, by the plan's
	judges []string          // those that answer

	mu       sync.Mutex // guards what follows
	spent    float64
	unpriced int
}

// Run plays every scenario under every condition. An error comes with the
// results so far. One that wraps ErrClaim says that a condition was not what
// it claims.
func Run(ctx context.Context, cfg Config) (_ *Results, err error) {
	r := &runner{cfg: cfg, used: map[string]string{}}
	for i := range cfg.Done {
		r.spent, r.unpriced = r.spent+cfg.Done[i].CostUSD, r.unpriced+cfg.Done[i].Unpriced
	}
	res := &Results{Started: time.Now().UTC(), Version: cfg.Version, Seeds: cfg.Seeds, Gold: cfg.Gold, Plan: cfg.Plan}
	dir, err := os.MkdirTemp(cfg.Temp, "understudy-eval-")
	if err != nil {
		return nil, fmt.Errorf("making the run's folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	side, err := cfg.Start(ctx, Setup{DataDir: filepath.Join(dir, "side"), Models: r.cfg.Plan.Models(), Prices: cfg.Plan.Prices})
	if err != nil {
		return nil, fmt.Errorf("starting the proxy for judges: %w", err)
	}
	r.side = newClient(side, cfg.Timeout)
	res.Probe, err = r.probe(ctx)
	if err == nil {
		res.Scenarios, err = r.scenarios(ctx, dir)
	}
	if errors.Is(err, errBudget) {
		res.Stopped, err = fmt.Sprintf("the budget of $%.2f is spent", cfg.MaxUSD), nil
	}
	err = errors.Join(err, side.Close())
	res.Took, res.CostUSD, res.Unpriced = time.Since(res.Started), r.spent, r.unpriced
	res.summarise()
	return res, err
}

// scenarios runs those that are not done yet, some at a time. The order of the
// outcomes is that of the scenarios.
func (r *runner) scenarios(ctx context.Context, dir string) ([]Outcome, error) {
	all := make([]Outcome, len(r.cfg.Scenarios))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, r.cfg.Concurrency))
	var one sync.Mutex
	for i := range r.cfg.Scenarios {
		s := &r.cfg.Scenarios[i]
		if at := r.cfg.done(s.Name); at >= 0 {
			all[i] = r.cfg.Done[at]
			continue
		}
		group.Go(func() error {
			o, err := r.scenario(ctx, s, filepath.Join(dir, s.Name))
			if err != nil {
				return fmt.Errorf("scenario %s: %w", s.Name, err)
			}
			one.Lock()
			defer one.Unlock()
			all[i] = *o
			if r.cfg.OnOutcome != nil && o.failures() == 0 {
				return r.cfg.OnOutcome(*o)
			}
			return nil
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(all, func(o Outcome) bool { return o.Scenario == "" }), err
}

// scenario plays one: a clean slate, the priming, its verification, and each
// condition on a fresh copy of the memory.
func (r *runner) scenario(ctx context.Context, s *Scenario, dir string) (_ *Outcome, err error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	identity := filepath.Join(dir, "identity")
	if err := writeIdentity(identity); err != nil {
		return nil, err
	}
	o := &Outcome{Scenario: s.Name, Shape: s.Shape, Language: s.Language}
	primed := filepath.Join(dir, "primed")
	if err := r.prime(ctx, s, o, Setup{DataDir: primed, IdentityDir: identity}); err != nil || o.Failed != "" {
		return o, err
	}
	for i := range r.cfg.Plan.Conditions {
		c := &r.cfg.Plan.Conditions[i]
		if r.used[c.Model] == "" {
			continue // the probe said why
		}
		work := filepath.Join(dir, "work-"+strconv.Itoa(i))
		if err := os.CopyFS(work, os.DirFS(primed)); err != nil {
			return nil, fmt.Errorf("copying the memory: %w", err)
		}
		if err := r.condition(ctx, s, o, c, Setup{DataDir: work, IdentityDir: identity}); err != nil {
			return nil, err
		}
		if err := os.RemoveAll(work); err != nil {
			return nil, err
		}
	}
	return o, r.judgeAll(ctx, s, o)
}

// writeIdentity says who the agent works for.
func writeIdentity(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "IDENTITY.md"), []byte("You work for Marko, the CEO. Answer in the language of his question.\n"), 0o600)
}

// prime plays the turns before the question, everything on, and looks at what
// was remembered.
func (r *runner) prime(ctx context.Context, s *Scenario, o *Outcome, setup Setup) error {
	priming := r.cfg.Plan.Priming
	setup.Condition = &Condition{Code: "priming", Model: priming, Assembler: true, Scaffold: true, Memory: true}
	return r.with(ctx, setup, func(c *client) error {
		before, err := c.memories(ctx)
		if err != nil {
			return err
		}
		if len(before) != 0 {
			return fmt.Errorf("the store is not empty: it holds %d memories before the first turn", len(before))
		}
		said := map[string][]message{}
		for _, turn := range s.Priming {
			session := "priming-" + turn.Session
			said[session] = append(said[session], message{"user", turn.User})
			reply, err := r.ask(ctx, c, o, call{model: r.used[priming], session: session, memory: "on", maxTokens: r.cfg.MaxTokens, messages: said[session]})
			if err != nil {
				o.PrimingFailed, o.Failed, err = true, "priming: "+err.Error(), ending(ctx, err)
				return err
			}
			said[session] = append(said[session], message{"assistant", reply.text})
		}
		return nil
	}, func(c *client) error {
		if o.Failed != "" {
			return nil
		}
		return o.verify(ctx, s, c)
	})
}

// ending is err where it ends the run; an answer that a model fails to give
// does not.
func ending(ctx context.Context, err error) error {
	if errors.Is(err, errBudget) || ctx.Err() != nil {
		return err
	}
	return nil
}

// with starts a proxy, does things with it and closes it, which writes what it
// learned; so each step sees what the one before left.
func (r *runner) with(ctx context.Context, setup Setup, steps ...func(*client) error) error {
	setup.Models, setup.Prices = r.cfg.Plan.Models(), r.cfg.Plan.Prices
	for _, step := range steps {
		in, err := r.cfg.Start(ctx, setup)
		if err != nil {
			return fmt.Errorf("starting the proxy: %w", err)
		}
		if err := errors.Join(step(newClient(in, r.cfg.Timeout)), in.Close()); err != nil {
			return err
		}
	}
	return nil
}

// leastMemories is how many a successful priming leaves.
const leastMemories = 2

// verify looks for the texts that memory should hold.
func (o *Outcome) verify(ctx context.Context, s *Scenario, c *client) error {
	all, err := c.memories(ctx)
	if err != nil {
		return err
	}
	text := fold(strings.Join(all, "\n"))
	o.Memories, o.Verified = len(all), map[string]bool{}
	o.PrimingFailed = len(all) < leastMemories
	for _, want := range s.Verify {
		found := strings.Contains(text, fold(want))
		o.Verified[want] = found
		o.PrimingFailed = o.PrimingFailed || !found
	}
	return nil
}

// condition asks the question under one condition, once a seed. A substitute
// runs under what the plan says of the model that it stands in for.
func (r *runner) condition(ctx context.Context, s *Scenario, o *Outcome, c *Condition, setup Setup) error {
	used := *c
	used.Model = r.used[c.Model]
	setup.Condition = &used
	return r.with(ctx, setup, func(cl *client) error {
		for seed := range r.cfg.Seeds {
			a, err := r.answer(ctx, s, o, &used, seed, cl)
			if err != nil {
				return err
			}
			o.Runs = append(o.Runs, a)
			if r.cfg.OnRun != nil {
				r.cfg.OnRun()
			}
		}
		return nil
	})
}

// answer asks the question once.
func (r *runner) answer(ctx context.Context, s *Scenario, o *Outcome, c *Condition, seed int, cl *client) (Answer, error) {
	a := Answer{Condition: c.Code, Seed: seed, Model: c.Model}
	q := call{
		model: c.Model, session: "question-" + strconv.Itoa(seed), memory: "off", seed: seed, maxTokens: r.cfg.MaxTokens,
		messages: []message{{"system", "You are a helpful assistant."}, {"user", s.Query}},
	}
	if c.Memory {
		q.memory = "read"
	}
	reply, err := r.ask(ctx, cl, o, q)
	if err != nil {
		a.Failed = err.Error()
		return a, ending(ctx, err)
	}
	if a.Applied, err = cl.inspect(ctx, reply.applied.RequestID); err != nil {
		return a, err
	}
	a.Text, a.Facts, a.CostUSD, a.Latency, a.Input, a.Output = reply.text, s.Check(reply.text), reply.cost, reply.latency, reply.input, reply.output
	return a, holdTo(c, a.Applied, o.Memories > 0)
}

// ask sends a request, if the budget allows it, and books its cost, to a
// scenario where there is one.
func (r *runner) ask(ctx context.Context, c *client, o *Outcome, q call) (*reply, error) {
	r.mu.Lock()
	over := r.cfg.MaxUSD > 0 && r.spent >= r.cfg.MaxUSD
	r.mu.Unlock()
	if over {
		return nil, errBudget
	}
	reply, err := c.chat(ctx, q)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o == nil {
		o = &Outcome{}
	}
	if reply.cost == nil {
		r.unpriced, o.Unpriced = r.unpriced+1, o.Unpriced+1
	} else {
		r.spent, o.CostUSD = r.spent+*reply.cost, o.CostUSD+*reply.cost
	}
	return reply, nil
}

// judgeAll has every answer of a scenario judged. Without something to judge
// by, none is. The answers of the condition that is the gold are judged, too:
// what they get is the top of the scale, without which no gap could be told.
func (r *runner) judgeAll(ctx context.Context, s *Scenario, o *Outcome) error {
	reference := s.Rubric
	if code, ok := strings.CutPrefix(r.cfg.Gold, goldCondition); ok {
		reference = ""
		if gold := o.of(code); len(gold) > 0 {
			reference = gold[0].Text
		}
	}
	if reference == "" {
		return nil
	}
	for i := range o.Runs {
		if o.Runs[i].Failed != "" {
			continue
		}
		var err error
		if o.Runs[i].Judged, err = r.judge(ctx, s, o, reference, o.Runs[i].Text); err != nil {
			return err
		}
	}
	return nil
}
