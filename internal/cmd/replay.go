package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/internal/replay"
	"github.com/understudy-ai/understudy/scoring"
)

func runReplay(ctx context.Context, args []string, o IO) error {
	f := flags("replay")
	cf := addConfigFlags(f)
	synth := f.Bool("synth", false, "play synthetic conversations instead, against the best single model for each")
	seeds := f.Int("seeds", 20, "with -synth: `N` conversations of each kind, for each pair of tiers and each set of prices")
	asJSON := f.Bool("json", false, "write the results as JSON")
	if err := parseFlags(f, args, o); err != nil {
		return err
	}
	if *synth == (f.NArg() > 0) || f.NArg() > 1 || *seeds < 1 {
		return usageError{errors.New("replay takes one file of traffic (- for stdin), or -synth with one seed or more")}
	}
	loaded, err := cf.load(o)
	if err != nil {
		return err
	}
	if *synth {
		return replaySynthetic(ctx, loaded.Config, *seeds, *asJSON, o)
	}
	return replayTraffic(ctx, loaded.Config, f.Arg(0), *asJSON, o)
}

// replaySynthetic fails when the policy does not keep what it promises.
func replaySynthetic(ctx context.Context, cfg config.Config, seeds int, asJSON bool, o IO) error {
	p := newProgress(o.Err, "playing conversations", int64(replay.Conversations(seeds)))
	tallies, err := replay.Synthesize(routingConfig(cfg, nil).Session, 0, seeds, stepper(ctx, p))
	p.end()
	if err != nil {
		return err
	}
	if asJSON {
		err = json.NewEncoder(o.Out).Encode(tallies)
	} else {
		err = reportTallies(tallies, o.Out)
	}
	for _, t := range tallies {
		if t.BelowTier > 0 || !t.Random && t.Over+t.Idle > 0 {
			err = errors.Join(err, fmt.Errorf("%s: %d over 1 %%, %d without saving, %d turns below their tier", t.Kind, t.Over, t.Idle, t.BelowTier))
		}
	}
	return err
}

func reportTallies(tallies []replay.Tally, out io.Writer) error {
	fmt.Fprint(out, "Cost by that of the best single model of each conversation that is good enough for\n"+
		"every turn of it, known afterwards: the policy, and a change of model with each turn.\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "conversations\tn\tpolicy\tworst\tover 1 %\tswitches\tbelow tier\teach turn\tworst\t\n")
	random := false
	for _, t := range tallies {
		if t.Random && !random {
			random = true
			fmt.Fprint(w, "\t\t\t\t\t\t\t\t\t\nat random\t\t\t\t\t\t\t\t\t\n")
		}
		fmt.Fprintf(w, "%s\t%d\t%.3f\t%.3f\t%d\t%.1f\t%d\t%.3f\t%.3f\t\n", t.Kind, t.Sessions, t.PolicyUSD/t.FixedUSD, t.Worst, t.Over,
			float64(t.Switches)/float64(t.Sessions), t.BelowTier, t.TurnUSD/t.FixedUSD, t.WorstTurn)
	}
	return w.Flush()
}

func replayTraffic(ctx context.Context, cfg config.Config, path string, asJSON bool, o IO) error {
	catalogue, err := newCatalogue(cfg)
	if err != nil {
		return err
	}
	scorer, err := scoring.New(scoringConfig(cfg.Routing.PromptRouting))
	if err != nil {
		return fmt.Errorf("configuring the scorer: %w", err)
	}
	steps, err := readTraffic(path, scorer, o)
	if err != nil {
		return err
	}
	rc := routingConfig(cfg, catalogue)
	p := newProgress(o.Err, "replaying", int64(len(steps)*replay.Plays(rc)))
	results, err := replay.Traffic(rc, steps, stepper(ctx, p))
	p.end()
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(o.Out).Encode(results)
	}
	return reportResults(results, o.Out)
}

func readTraffic(path string, scorer replay.Scorer, o IO) ([]replay.Step, error) {
	in, size := o.In, int64(0)
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("opening traffic: %w", err)
		}
		defer file.Close()
		if info, err := file.Stat(); err == nil {
			size = info.Size()
		}
		in = file
	}
	p := newProgress(o.Err, "reading bytes", size)
	defer p.end()
	steps, err := replay.Read(in, scorer, func(n int) { p.add(int64(n)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(steps) == 0 {
		return nil, hintError{fmt.Errorf("%s holds no answered request", path), `"understudy ledger export" writes what can be replayed`}
	}
	return steps, nil
}

// stepper counts steps for p, and ends what is under way when ctx is over.
func stepper(ctx context.Context, p *progress) func() error {
	return func() error {
		p.add(1)
		return ctx.Err()
	}
}

func reportResults(results []replay.Result, out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\trequests\tcost $\tsaved $\tsaved\tup\tdown\tcache lost $\tbelow tier\trefused\tunpriced\t\n")
	for _, r := range results {
		share := ""
		if r.OfUSD > 0 {
			share = fmt.Sprintf("%+.1f %%", 100*r.SavedUSD/r.OfUSD)
		}
		fmt.Fprintf(w, "%s\t%d\t%.6f\t%+.6f\t%s\t%d\t%d\t%.6f\t%d\t%d\t%d\t\n", r.Name, r.Requests, r.CostUSD, r.SavedUSD, share,
			r.Up, r.Down, r.LostUSD, r.BelowTier, r.Refused, r.Unpriced)
	}
	return w.Flush()
}
