package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/ledger"
	"github.com/understudy-ai/understudy/llmtest"
)

// The demo's models and their invented prices, USD per million tokens.
const (
	demoSmall, demoMid, demoLarge = "stage-small", "stage-mid", "stage-large"
	demoUser                      = "ana"
)

// demoTurns are two conversations: the second one, "the next day", needs what
// was said in the first. The client names the large model on every turn, as an
// application that has not heard of routing.
var demoTurns = []demoTurn{
	{day: 1, say: "Hi there!"},
	{day: 1, say: "Design the ledger service for our payments platform step by step: first the architecture of the distributed write path, then recovery. " +
		"Prove that an entry is stored at most once, with a maximum latency of 50 ms and at most two failed nodes."},
	{day: 1, say: "yes, do that"},
	{day: 1, say: "We decided to use PostgreSQL for the ledger service, because the auditors know it."},
	{day: 1, say: "I prefer answers as short bullet points."},
	{day: 1, say: "What is the name of the highest mountain in Serbia?"},
	{day: 2, say: "Good morning!"},
	{day: 2, say: "Which database did we decide on for the ledger service, and why?"},
	{day: 2, say: "Compare Kafka vs NATS for the event bus of the ledger service. What are the trade-offs?"},
	{day: 2, say: "Create a plan to migrate the old ledger tables. Break it down into steps."},
	{day: 2, say: "Draft a short email that tells the team about the ledger service.", stream: true},
	{day: 2, say: "Thanks, bye!"},
}

type demoTurn struct {
	day    int
	say    string
	stream bool
}

// demoRow is one line of the demo's table.
type demoRow struct {
	Turn     int     `json:"turn"`
	Said     string  `json:"said"`
	Tier     string  `json:"tier"`
	Score    float64 `json:"score"`
	Shape    string  `json:"shape"`
	Model    string  `json:"model"`
	Why      string  `json:"why"`
	Streamed bool    `json:"streamed"`
	Memories int     `json:"memories"`
	Cost     float64 `json:"cost_usd"`
	Baseline float64 `json:"baseline_usd"`
	Saved    float64 `json:"saved_usd"`
	Answer   string  `json:"answer"`
}

func runDemo(ctx context.Context, args []string, o IO) (err error) {
	f := flags("demo")
	keep := f.Bool("keep", false, "go on serving afterwards, until interrupted")
	asJSON := f.Bool("json", false, "write one JSON object a turn")
	play := f.String("play", "", "`DIR` of a script to play in its own time instead, such as examples/team-channel; shows the prompt of its last message")
	placement := f.String("placement", "epoch", "with -play: assemble.placement, `epoch` or system")
	if err := parse(f, args, o); err != nil {
		return err
	}
	if *play != "" {
		request, err := playScript(ctx, *play, map[string]string{"assemble.placement": *placement}, o)
		if err != nil {
			return err
		}
		return showPrompt(request, o.Out)
	}
	dir, err := os.MkdirTemp("", "understudy-demo-")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	upstream, err := llmtest.Start(demoSmall, demoMid, demoLarge)
	if err != nil {
		return fmt.Errorf("starting the simulated upstream: %w", err)
	}
	defer upstream.Close()
	cfg := demoConfig(dir, upstream.URL())
	a, err := startApp(ctx, cfg, o, newLogger(cfg.Log, o.Err))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()

	rows, err := playDemo(ctx, a)
	if err != nil {
		return err
	}
	report := reportDemo
	if *asJSON {
		report = reportDemoJSON
	}
	if err := report(rows, o.Out); err != nil || !*keep {
		return err
	}
	fmt.Fprintf(o.Err, "\nServing %s until interrupted. Metrics: %s\n", a.url(), "http://"+a.listener.Addr().String()+"/metrics")
	<-ctx.Done()
	return nil
}

// demoConfig is the default configuration, with the simulated models in place
// of real ones.
func demoConfig(dir, upstreamURL string) config.Config {
	cfg := config.Default()
	usd := func(v float64) *float64 { return &v }
	model := func(name, tier string, in, out float64) config.Model {
		return config.Model{
			Name: name, ID: name, Upstream: "default", Tier: tier, Context: 128_000, MaxOutput: 8192,
			Supports: []string{"tools", "vision", "json_schema"},
			Price:    config.Price{Input: usd(in), Output: usd(out), CacheRead: usd(in / 10)},
		}
	}
	cfg.Listen, cfg.DataDir, cfg.Log.Level = "127.0.0.1:0", dir, "warn"
	up := cfg.Upstreams["default"]
	up.BaseURL, up.APIKeyEnv = upstreamURL, ""
	cfg.Upstreams = map[string]config.Upstream{"default": up}
	cfg.Models = []config.Model{model(demoSmall, "small", 0.1, 0.4), model(demoMid, "mid", 1, 5), model(demoLarge, "frontier", 5, 25)}
	cfg.Routing.Profiles = map[string]config.Profile{
		"eco":      {Light: demoSmall, Standard: demoSmall, Heavy: demoMid},
		"balanced": {Light: demoSmall, Standard: demoMid, Heavy: demoLarge},
		"premium":  {Light: demoMid, Standard: demoLarge, Heavy: demoLarge},
	}
	cfg.Routing.ProcessTypes = map[string]string{"channel": demoMid, "branch": demoMid, "worker": demoSmall, "compactor": demoSmall, "cortex": demoSmall}
	// The demo shows the pipeline, not its speed: a first query on a busy
	// machine may take longer than a request would wait.
	cfg.Limits.SmartBudget = 10 * time.Second
	return cfg
}

// playDemo holds the conversation, one turn after the other, and reads each
// turn's account from the ledger.
func playDemo(ctx context.Context, a *app) ([]demoRow, error) {
	client := demoClient{base: a.url()}
	var rows []demoRow
	for i, turn := range demoTurns {
		if client.day != turn.day {
			client = demoClient{base: a.url(), day: turn.day}
		}
		id, answer, err := client.say(ctx, turn)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		// People think between two turns; the demo waits for what they would
		// not notice.
		if err := errors.Join(a.memory.Sync(ctx), a.ledger.Sync(ctx)); err != nil {
			return nil, err
		}
		e, err := a.ledger.Get(ctx, "default", id)
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i+1, err)
		}
		rows = append(rows, demoRowOf(i+1, turn, answer, &e))
	}
	return rows, nil
}

func demoRowOf(n int, turn demoTurn, answer string, e *ledger.Entry) demoRow {
	row := demoRow{
		Turn: n, Said: turn.say, Tier: e.Tier, Score: e.Score, Shape: e.Shape, Model: e.RoutedModel, Why: e.Reason,
		Streamed: e.Streamed, Memories: e.MemoriesUsed, Answer: answer,
	}
	if e.Priced {
		row.Cost, row.Baseline, row.Saved = *e.Cost, *e.Baseline, e.Saved.Total()
	}
	return row
}

func reportDemoJSON(rows []demoRow, out io.Writer) error {
	enc := json.NewEncoder(out)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

func reportDemo(rows []demoRow, out io.Writer) error {
	fmt.Fprint(out, "A SIMULATED upstream answers here: models, prices and answers are invented; the proxy is real.\n"+
		"The client asks for "+demoLarge+" on every turn; that is the baseline.\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "turn\ttier\tscore\tshape\tmodel\twhy\tmem\tcost $\tbaseline $\tsaved $\t  said")
	var cost, baseline, saved float64
	for _, r := range rows {
		said := r.Said
		if r.Streamed {
			said = "(streamed) " + said
		}
		fmt.Fprintf(w, "%d\t%s\t%+.2f\t%s\t%s\t%s\t%d\t%.6f\t%.6f\t%+.6f\t  %.32s\n", r.Turn, r.Tier, r.Score, r.Shape, r.Model, r.Why, r.Memories, r.Cost, r.Baseline, r.Saved, said)
		cost, baseline, saved = cost+r.Cost, baseline+r.Baseline, saved+r.Saved
	}
	fmt.Fprintf(w, "\t\t\t\t\t\ttotal\t%.6f\t%.6f\t%+.6f\t\n", cost, baseline, saved)
	if err := w.Flush(); err != nil {
		return err
	}
	told := slices.IndexFunc(rows, func(r demoRow) bool { return r.Memories > 0 && strings.Contains(r.Answer, "I was told") })
	if told < 0 {
		return nil
	}
	r := rows[told]
	_, err := fmt.Fprintf(out, "\nTurn %d asked: %s\nIts prompt brought %d memories, and the answer used them: %.200s\n", r.Turn, r.Said, r.Memories, r.Answer)
	return err
}
