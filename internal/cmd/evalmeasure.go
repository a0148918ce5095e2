package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/understudy-ai/understudy/eval"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/replay"
	"github.com/understudy-ai/understudy/scoring"
)

// This file measures retrieval and the scorer alone, on files.

func runEvalRecall(ctx context.Context, args []string, o IO) error {
	f := flags("eval recall")
	cf := addConfigFlags(f)
	asJSON := f.Bool("json", false, "write the figures as JSON")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usageError{errors.New("which folder? It holds NAME.memories.jsonl and NAME.questions.jsonl")}
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	res, err := measureRecall(ctx, loaded.Config, f.Arg(0), o)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(o.Out).Encode(res)
	}
	return res.WriteTable(o.Out)
}

// measureRecall measures retrieval on a folder, through a proxy with a store of
// its own.
func measureRecall(ctx context.Context, base config.Config, data string, o IO) (_ *eval.Recall, err error) {
	dir, err := os.MkdirTemp("", "understudy-eval-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	in, err := evalStarter(base, o)(ctx, eval.Setup{DataDir: dir, Condition: &eval.Condition{Assembler: true, Memory: true}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	p := newProgress(o.Err, "questions", 0)
	defer p.end()
	return eval.MeasureRecall(ctx, in, os.DirFS(data), func() { p.add(1) })
}

func runEvalRouting(args []string, o IO) error {
	f := flags("eval routing")
	cf := addConfigFlags(f)
	asJSON := f.Bool("json", false, "write one JSON object a file")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if f.NArg() == 0 {
		return usageError{errors.New("which files? Their lines hold prompt and tier, or prompt, weak and strong")}
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	scorer, err := scoring.New(scoringConfig(loaded.Config.Routing.PromptRouting))
	if err != nil {
		return fmt.Errorf("configuring the scorer: %w", err)
	}
	p := newProgress(o.Err, "prompts", 0)
	defer p.end()
	enc := json.NewEncoder(o.Out)
	for _, file := range f.Args() {
		res, err := eval.MeasureRouting(scorer, os.DirFS(filepath.Dir(file)), filepath.Base(file), func() { p.add(1) })
		if err != nil {
			return err
		}
		write := func() error { return res.WriteText(o.Out) }
		if *asJSON {
			write = func() error { return enc.Encode(res) }
		}
		p.end()
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// readmeSeeds is how many conversations of each kind the README speaks of.
const readmeSeeds = 20

// readmeFigures are the quality figures that README.md quotes, of the shipped
// configuration.
type readmeFigures struct {
	Evidence  float64 `json:"evidence_in_first_ten"` // share of what answers the questions of a folder
	Questions int     `json:"questions"`
	Items     float64 `json:"items_without_answer"` // for a question whose answer isn't there
	Planned   int     `json:"planned_conversations"`
	Over      int     `json:"over_1_percent"`
	BelowTier int     `json:"below_tier"`
}

func runEvalReadme(ctx context.Context, args []string, o IO) error {
	f := flags("eval readme")
	asJSON := f.Bool("json", false, "write the figures as JSON")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if f.NArg() != 1 {
		return usageError{errors.New("which folder? It holds NAME.memories.jsonl and NAME.questions.jsonl of LoCoMo")}
	}
	r, err := measureReadme(ctx, f.Arg(0), readmeSeeds, o)
	if err != nil {
		return err
	}
	if *asJSON {
		return json.NewEncoder(o.Out).Encode(r)
	}
	return r.writeText(o.Out)
}

func measureReadme(ctx context.Context, data string, seeds int, o IO) (*readmeFigures, error) {
	cfg := config.Default()
	recall, err := measureRecall(ctx, cfg, data, o)
	if err != nil {
		return nil, err
	}
	r := &readmeFigures{Items: recall.Answers}
	for _, g := range recall.Groups {
		if g.Category == eval.Answerable {
			r.Evidence, r.Questions = g.R[2], g.N
		}
	}
	p := newProgress(o.Err, "playing conversations", int64(replay.Conversations(seeds)))
	tallies, err := replay.Synthesize(routingConfig(cfg, nil).Session, 0, seeds, stepper(ctx, p))
	p.end()
	if err != nil {
		return nil, err
	}
	for _, t := range tallies {
		r.BelowTier += t.BelowTier
		if !t.Random {
			r.Planned, r.Over = r.Planned+t.Sessions, r.Over+t.Over
		}
	}
	return r, nil
}

func (r *readmeFigures) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, `evidence found in the first ten memories, %d questions: %.1f %%
items for a question whose answer isn't there: %.1f
synthetic conversations that are planned: %d, of which cost over 1 %% more than the best fixed model: %d; turns below their tier: %d
`, r.Questions, 100*r.Evidence, r.Items, r.Planned, r.Over, r.BelowTier)
	return err
}
