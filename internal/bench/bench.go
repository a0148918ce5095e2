// Package bench measures what Understudy, and others like it, add to a
// request: latency against the same request sent straight to the upstream,
// processor time from /proc, and memory.
//
// Understudy and the upstream run as child processes of the program, so that
// the load generator's own cost is in no figure. Every request is sent both
// directly and through a proxy, in random order, and the difference is taken
// pair by pair: what slows the machine down for a while slows both. Proxies take
// short turns. Figures of two runs don't compare, ratios within one run do.
//
// The package knows nothing of how Understudy serves; the program's own hidden
// subcommands do. It measures speed, not the quality of anything.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Config says what to measure.
type Config struct {
	Exe        string // the program whose "bench serve" and "bench upstream" are started
	Version    string // of the program, for the report
	Model      string // that requests name
	Upstream   string // base URL of a running [llmtest.Canned]; "": start one
	Peers      []Peer
	Bypass     bool   // send X-Bypass: true, to measure the bare path
	Only       string // measure the cells whose names contain this
	Memories   int    // in each of 20 scopes; 500 at most
	Requests   int    // per target and cell
	CPUProfile string // where the serving child writes its profile; "": nowhere
	Progress   io.Writer
}

// Peer is another proxy, running already, in front of the same upstream.
type Peer struct {
	Name string
	URL  string // base URL, ending in /v1 as for an OpenAI SDK
	PID  int    // of the process to account; 0 unknown
}

// ParsePeer reads NAME=URL[,PID].
func ParsePeer(s string) (Peer, error) {
	name, rest, ok := strings.Cut(s, "=")
	base, pid, hasPID := strings.Cut(rest, ",")
	if u, err := url.Parse(base); !ok || name == "" || err != nil || u.Scheme != "http" || u.Host == "" {
		return Peer{}, fmt.Errorf("%q is not NAME=http://HOST:PORT/v1[,PID]", s)
	}
	p := Peer{Name: name, URL: base}
	if hasPID {
		var err error
		if p.PID, err = strconv.Atoi(pid); err != nil || p.PID <= 0 {
			return Peer{}, fmt.Errorf("%q: %q is no process id", s, pid)
		}
	}
	return p, nil
}

// Names of the two targets that are always there.
const (
	Direct     = "direct"
	Understudy = "understudy"
)

// Run measures every cell that cfg.Only selects.
func Run(ctx context.Context, cfg Config) (_ *Report, err error) {
	selected := slices.DeleteFunc(cells(), func(c cell) bool { return !strings.Contains(c.name, cfg.Only) })
	if len(selected) == 0 {
		return nil, fmt.Errorf("no cell's name contains %q", cfg.Only)
	}
	report := &Report{
		Version: cfg.Version, Go: runtime.Version(), CPUs: runtime.NumCPU(), Load: loadAverage(),
		Memories: scopes * cfg.Memories, Bypass: cfg.Bypass, Requests: cfg.Requests,
	}
	r, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.warm(ctx)
	for _, c := range selected {
		fmt.Fprintf(cfg.Progress, "measuring %s\n", c.name)
		rows, err := r.measure(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("measuring %s: %w", c.name, err)
		}
		report.Rows = append(report.Rows, rows...)
	}
	return report, nil
}

// rig is what runs during a measurement.
type rig struct {
	cfg      Config
	dir      string
	upstream *child // nil when it was running before
	serving  *child
	targets  []*target // direct first, then Understudy, then the peers
}

// start fills a store, starts the children and lists the targets.
func start(ctx context.Context, cfg Config) (_ *rig, err error) {
	r := &rig{cfg: cfg}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if r.dir, err = os.MkdirTemp("", "understudy-bench-"); err != nil {
		return nil, fmt.Errorf("making a folder for the benchmark: %w", err)
	}
	fmt.Fprintf(cfg.Progress, "filling a store with %d memories in %d scopes\n", scopes*cfg.Memories, scopes)
	if err := fill(ctx, filepath.Join(r.dir, "memory.db"), cfg.Memories); err != nil {
		return nil, err
	}
	upstream := cfg.Upstream
	if upstream == "" {
		if r.upstream, err = startChild(ctx, cfg.Exe, filepath.Join(r.dir, "upstream.log"), "bench", "upstream", "-stdin"); err != nil {
			return nil, err
		}
		upstream = r.upstream.url
	}
	args := []string{"bench", "serve", "-upstream", upstream, "-data-dir", r.dir}
	if cfg.CPUProfile != "" {
		args = append(args, "-cpuprofile", cfg.CPUProfile)
	}
	if r.serving, err = startChild(ctx, cfg.Exe, filepath.Join(r.dir, "serve.log"), args...); err != nil {
		return nil, err
	}
	extra := ""
	if cfg.Bypass {
		extra = "X-Bypass: true\r\n"
	}
	peers := []Peer{{Name: Direct, URL: upstream}, {Name: Understudy, URL: r.serving.url, PID: r.serving.pid()}}
	for i, p := range append(peers, cfg.Peers...) {
		t, err := newTarget(p, extra)
		if err != nil {
			return nil, err
		}
		if i != 1 {
			t.head = strings.TrimSuffix(t.head, extra)
		}
		r.targets = append(r.targets, t)
	}
	return r, nil
}

func (r *rig) understudy() *target { return r.targets[1] }

// close ends the children and removes their files.
func (r *rig) close() error {
	return errors.Join(r.serving.stop(), r.upstream.stop(), os.RemoveAll(r.dir))
}
