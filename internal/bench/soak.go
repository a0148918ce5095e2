package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// SoakReport is what a long run left behind.
type SoakReport struct {
	Requests   int            `json:"requests"`
	Cancelled  int            `json:"cancelled"` // by the client, in the middle of a stream
	Errors     int            `json:"errors"`
	Error      string         `json:"error,omitempty"` // the first one
	Seconds    float64        `json:"seconds"`
	RSS        []Sample       `json:"rss"`
	Goroutines [2]int         `json:"goroutines"` // after the first request, and when every connection was closed
	Outcomes   map[string]int `json:"outcomes"`   // as Understudy counted them
	FailOpen   map[string]int `json:"fail_open"`  // smart steps given up, by step and reason
}

// Sample is the resident set after so many requests.
type Sample struct {
	Requests int     `json:"requests"`
	MB       float64 `json:"mb"`
}

const (
	soakConns   = 64
	soakSamples = 20
	soakGap     = 40 * time.Millisecond // keeps a stream alive for two seconds: who leaves it late on a busy machine leaves it in its middle, too
)

// Soak sends so many requests: seven in ten are small, two are streams, and
// one is a stream that the client leaves after its first byte. In the end it
// waits at most as long as rest for goroutines to be as few as after the first
// request; servers and pools keep idle ones for 20 s.
func Soak(ctx context.Context, cfg Config, requests int, rest time.Duration) (_ *SoakReport, err error) {
	cfg.Peers = nil
	r, err := start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	before, err := r.goroutines(ctx)
	if err != nil {
		return nil, err
	}
	s := &soak{rig: r, report: &SoakReport{Requests: requests}}
	began := time.Now()
	s.run(ctx)
	s.report.Seconds = time.Since(began).Seconds()
	if err := s.account(ctx, before, rest); err != nil {
		return nil, err
	}
	return s.report, nil
}

// goroutines counts Understudy's after one request, which starts those that
// servers and pools keep for good.
func (r *rig) goroutines(ctx context.Context) (int, error) {
	c := newClient(r.understudy())
	defer c.close()
	b := writer{w: cell{name: "soak-warm", size: 300}.workload(r.cfg.Model)}
	if _, err := c.do(b.next()); err != nil {
		return 0, err
	}
	m, err := scrape(ctx, r.understudy().addr)
	return int(m["go_goroutines"]), err
}

type soak struct {
	rig    *rig
	next   atomic.Int64
	mu     sync.Mutex // guards what follows
	done   int
	report *SoakReport
}

func (s *soak) run(ctx context.Context) {
	var wg sync.WaitGroup
	for worker := range soakConns {
		wg.Go(func() { s.work(ctx, worker) })
	}
	wg.Wait()
}

func (s *soak) work(ctx context.Context, worker int) {
	model := s.rig.cfg.Model
	small := &writer{worker: worker, w: cell{name: "soak", size: 300}.workload(model)}
	stream := &writer{worker: worker, w: cell{name: "soak-stream", size: 300, stream: true}.workload(model)}
	left := &writer{worker: worker, w: cell{name: "soak-left", size: 300, stream: true, gap: soakGap}.workload(model)}
	c := newClient(s.rig.understudy())
	defer c.close()
	for ctx.Err() == nil {
		i := int(s.next.Add(1))
		if i > s.report.Requests {
			return
		}
		var err error
		switch i % 10 {
		case 0:
			err = c.abandon(left.next())
		case 1, 2:
			_, err = c.do(stream.next())
		default:
			_, err = c.do(small.next())
		}
		s.note(i, err)
	}
}

func (s *soak) note(i int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.report
	switch {
	case err != nil:
		r.Errors++
		if r.Error == "" {
			r.Error = err.Error()
		}
	case i%10 == 0:
		r.Cancelled++
	}
	s.done++
	if every := max(1, r.Requests/soakSamples); s.done%every == 0 {
		mb, _ := residentMB(procRoot, s.rig.understudy().pid) // 0 where there is no /proc
		r.RSS = append(r.RSS, Sample{Requests: s.done, MB: mb})
		fmt.Fprintf(s.rig.cfg.Progress, "%d of %d requests, %.1f MB\n", s.done, r.Requests, mb)
	}
}

// account waits until Understudy rests and reads what it counted.
func (s *soak) account(ctx context.Context, before int, rest time.Duration) error {
	settled(ctx, s.rig.targets)
	for began := time.Now(); ; time.Sleep(restFor) {
		m, err := scrape(ctx, s.rig.understudy().addr)
		if err != nil {
			return err
		}
		s.report.Goroutines = [2]int{before, int(m["go_goroutines"])}
		if s.report.Goroutines[1] > before && time.Since(began) < rest {
			continue
		}
		s.report.FailOpen = m.by("understudy_failopen_total", "step", "reason")
		s.report.Outcomes = m.by("understudy_requests_total", "outcome")
		return nil
	}
}

// Write writes the report as text.
func (r *SoakReport) Write(out io.Writer) error {
	fmt.Fprintf(out, "%d requests in %.0f s, %d left by the client, %d failed %s\n", r.Requests, r.Seconds, r.Cancelled, r.Errors, r.Error)
	fmt.Fprintf(out, "goroutines: %d after the first request, %d at the end\noutcomes: %v; smart steps given up: %v\nRSS:", r.Goroutines[0], r.Goroutines[1], r.Outcomes, r.FailOpen)
	for _, s := range r.RSS {
		fmt.Fprintf(out, " %d: %.1f MB;", s.Requests, s.MB)
	}
	_, err := fmt.Fprintln(out)
	return err
}
