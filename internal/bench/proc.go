package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// cpuTime is how long the threads of a process have run so far, in
// nanoseconds resolution (schedstat; stat counts in 10 ms). The time of
// threads that have ended is lost: Go and nginx keep theirs.
func cpuTime(root string, pid int) (time.Duration, error) {
	files, err := filepath.Glob(filepath.Join(root, strconv.Itoa(pid), "task", "*", "schedstat"))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("process %d has no schedstat", pid)
	}
	var sum time.Duration
	for _, f := range files {
		text, err := os.ReadFile(f)
		if os.IsNotExist(err) {
			continue // a thread that has just ended
		}
		if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading %s: %w", f, err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// residentMB is the resident set of a process in MiB.
func residentMB(root string, pid int) (float64, error) {
	text, err := os.ReadFile(filepath.Join(root, strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", pid)
}

const procRoot = "/proc"

// Work that a request leaves behind (learning, the ledger) belongs to its
// cost. A process has done it once it used less than restCPU in restFor, a few
// times what an idle Go runtime needs.
const (
	restFor  = 100 * time.Millisecond
	restCPU  = time.Millisecond
	restWait = 10 * time.Second
)

// settled waits until the targets' processes rest, at most restWait, and
// returns their processor times by index; -1 where they can't be read.
func settled(ctx context.Context, targets []*target) []time.Duration {
	used := usage(targets)
	for began := time.Now(); time.Since(began) < restWait && ctx.Err() == nil; {
		time.Sleep(restFor)
		now, rests := usage(targets), true
		for i := range now {
			rests = rests && now[i]-used[i] < restCPU
		}
		if used = now; rests {
			break
		}
	}
	return used
}

func usage(targets []*target) []time.Duration {
	used := make([]time.Duration, len(targets))
	for i, t := range targets {
		var err error
		if used[i], err = cpuTime(procRoot, t.pid); t.pid == 0 || err != nil {
			used[i] = -1
		}
	}
	return used
}

// loadAverage is the machine's load over the last minute, "" where unknown.
func loadAverage() string {
	text, _ := os.ReadFile(filepath.Join(procRoot, "loadavg"))
	load, _, _ := strings.Cut(string(text), " ")
	return load
}
