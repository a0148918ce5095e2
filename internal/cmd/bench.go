package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/understudy-ai/understudy/internal/bench"
	"github.com/understudy-ai/understudy/internal/config"
	"github.com/understudy-ai/understudy/llmtest"
)

// benchChunks is the length of the upstream's streams.
const benchChunks = 50

func runBench(ctx context.Context, args []string, o IO) error {
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			return runBenchUpstream(ctx, args[1:], o)
		case "serve":
			return runBenchServe(ctx, args[1:], o)
		}
	}
	b, err := parseBench(args, o)
	if err != nil {
		return err
	}
	if b.table != "" {
		return writeTable(b.table, o.Out)
	}
	if b.cfg.Exe, err = os.Executable(); err != nil {
		return fmt.Errorf("finding the program itself: %w", err)
	}
	if b.soak > 0 {
		return soakBench(ctx, b, o.Out)
	}
	report, err := bench.Run(ctx, b.cfg)
	if err != nil {
		return err
	}
	if err := writeReport(report, b.asJSON, o.Out); err != nil {
		return err
	}
	if n, first := report.Errors(); n > 0 {
		return fmt.Errorf("%d requests failed, one of them with: %s", n, first)
	}
	return nil
}

// benchCall is what a call of bench asks for.
type benchCall struct {
	cfg    bench.Config
	soak   int
	rest   time.Duration
	asJSON bool
	table  string
}

func parseBench(args []string, o IO) (*benchCall, error) {
	b := &benchCall{cfg: bench.Config{Version: Version(), Model: demoLarge, Progress: onTerminal(o.Err)}}
	f, cfg := flags("bench"), &b.cfg
	f.IntVar(&cfg.Requests, "n", 1000, "`REQUESTS` per target and cell")
	f.IntVar(&cfg.Memories, "memories", bench.MaxMemories, "`MEMORIES` in each of the 20 scopes of the store")
	f.StringVar(&cfg.Only, "only", "", "measure the cells whose names contain `TEXT`: 300B/1, 300B/64, 30KB/…, 400KB/…, stream/…, paced/64, rate/1000")
	f.BoolVar(&cfg.Bypass, "bypass", false, "send X-Bypass: true, to measure the bare path")
	f.StringVar(&cfg.Upstream, "upstream", "", "`URL` of a running \"understudy bench upstream\" (default: start one)")
	f.StringVar(&cfg.CPUProfile, "cpuprofile", "", "write Understudy's CPU profile to `FILE`")
	f.Func("peer", "measure another proxy in the same run: `NAME=URL[,PID]`; may be repeated", func(s string) error {
		p, err := bench.ParsePeer(s)
		cfg.Peers = append(cfg.Peers, p)
		return err
	})
	f.IntVar(&b.soak, "soak", 0, "instead of the cells, send so many `REQUESTS` and watch memory and goroutines")
	f.DurationVar(&b.rest, "rest", 30*time.Second, "with -soak, wait at most this `TIME` for goroutines to end")
	f.BoolVar(&b.asJSON, "json", false, "write JSON")
	f.StringVar(&b.table, "table", "", "measure nothing; write the table of a `FILE` that -json wrote")
	if err := parse(f, args, o); err != nil {
		return nil, err
	}
	if cfg.Requests < 1 || b.soak < 0 || cfg.Memories < 0 || cfg.Memories > bench.MaxMemories {
		return nil, usageError{fmt.Errorf("-n and -soak take numbers from 1, -memories from 0 to %d", bench.MaxMemories)}
	}
	return b, nil
}

func soakBench(ctx context.Context, b *benchCall, out io.Writer) error {
	report, err := bench.Soak(ctx, b.cfg, b.soak, b.rest)
	if err != nil {
		return err
	}
	if b.asJSON {
		return json.NewEncoder(out).Encode(report)
	}
	return report.Write(out)
}

func writeReport(r *bench.Report, asJSON bool, out io.Writer) error {
	if !asJSON {
		return r.WriteTable(out)
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func writeTable(path string, out io.Writer) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading a report: %w", err)
	}
	var r bench.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return fmt.Errorf("reading report %q: %w", path, err)
	}
	return r.WriteTable(out)
}

// runBenchUpstream serves the canned upstream until it is interrupted.
func runBenchUpstream(ctx context.Context, args []string, o IO) error {
	f := flags("bench upstream")
	listen := f.String("listen", "127.0.0.1:0", "`ADDR` to serve on")
	stdin := f.Bool("stdin", false, "end when standard input does")
	if err := parse(f, args, o); err != nil {
		return err
	}
	c, err := llmtest.StartCanned(*listen, benchChunks)
	if err != nil {
		return fmt.Errorf("starting the canned upstream: %w", err)
	}
	fmt.Fprintln(o.Out, c.URL())
	if *stdin {
		untilEOF(ctx, o.In)
	} else {
		<-ctx.Done()
	}
	return c.Close()
}

// runBenchServe is the child that is measured: it serves until its standard
// input ends, with everything on.
func runBenchServe(ctx context.Context, args []string, o IO) (err error) {
	f := flags("bench serve")
	upstream := f.String("upstream", "", "`URL` of the upstream")
	dir := f.String("data-dir", "", "`DIR` of the stores")
	profile := f.String("cpuprofile", "", "write a CPU profile to `FILE`")
	if err := parse(f, args, o); err != nil {
		return err
	}
	cfg := demoConfig(*dir, *upstream)
	cfg.Log = config.Default().Log
	for _, name := range bench.Agents() {
		cfg.Agents[name] = config.Agent{}
	}
	a, err := startApp(ctx, cfg, o, newLogger(cfg.Log, o.Err))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return fmt.Errorf("writing a CPU profile: %w", err)
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return fmt.Errorf("writing a CPU profile: %w", err)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Fprintln(o.Out, a.url())
	untilEOF(ctx, o.In)
	return nil
}

// untilEOF waits for the end of r, or of ctx. Only for a process about to end:
// what reads r stays behind.
func untilEOF(ctx context.Context, r io.Reader) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, r) // whatever ends it is the end
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}
