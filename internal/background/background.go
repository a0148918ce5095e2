// Package background does work that nobody waits for: jobs that come round again, and the calls to models that they make.
//
// A [Runner] runs each [Job] in its own rhythm, one run of a job at a time, and lets one that fails wait longer and longer.
// All calls to models go through [Runner.Call], which keeps them within a budget of an hour and counts what they
// cost. With nothing to do a runner only looks at the clock.
//
// The package knows nothing of what the jobs do. A budget is kept in RAM: another process begins another hour.
package background

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// ErrBudget says that the hour's calls or dollars are spent. A job that returns it has not failed: it goes on in its next
// round.
var ErrBudget = errors.New("the hour's budget is spent")

// Job is something that is done again and again.
type Job struct {
	Name  string
	Every time.Duration // from the end of one run to the beginning of the next
	// Run does what there is to do. It must end soon after ctx does.
	Run func(ctx context.Context) error
}

// Config is what [New] needs. Everything may be empty.
type Config struct {
	Jobs   []Job
	Clock  func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged

	CallsPerHour int     // of models; 0: none are made
	USDPerHour   float64 // what they may cost; 0: no matter what
}

// Runner runs jobs. It is safe for concurrent use.
type Runner struct {
	cfg  Config
	stop context.CancelFunc
	done chan struct{} // closed when the loop has ended

	mu    sync.Mutex // guards what follows
	jobs  []*state
	calls map[string]*spending // by purpose
	spent []*expense           // of the last hour, oldest first; at most CallsPerHour
}

// state is how a job stands; guarded by Runner.mu.
type state struct {
	job      Job
	running  bool
	last     time.Time // began; zero: never
	took     time.Duration
	next     time.Time // zero: as soon as possible
	runs     int64
	failures int // in a row
	err      string
}

// tick is how often a runner looks for jobs that are due. Jobs have rhythms of minutes.
const tick = 5 * time.Second

// maxWait bounds how long a job that keeps failing waits.
const maxWait = time.Hour

// New starts a runner. The caller must Close it.
func New(cfg Config) *Runner {
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Runner{cfg: cfg, done: make(chan struct{}), calls: map[string]*spending{}}
	for _, job := range cfg.Jobs {
		r.jobs = append(r.jobs, &state{job: job})
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	go r.loop(ctx) // ends with stop; Close waits for it
	return r
}

func (r *Runner) loop(ctx context.Context) {
	defer close(r.done)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			r.RunDue(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// RunDue runs the jobs that are due, one after the other, and returns when they have ended. The runner does so itself every
// few seconds. A job that is running already is left alone.
func (r *Runner) RunDue(ctx context.Context) {
	for _, s := range r.jobs {
		if ctx.Err() != nil {
			return
		}
		if r.begin(s) {
			r.end(ctx, s, guarded(ctx, s.job.Run))
		}
	}
}

// begin takes a job that is due.
func (r *Runner) begin(s *state) bool {
	now := r.cfg.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.running || now.Before(s.next) {
		return false
	}
	s.running, s.last = true, now
	return true
}

// end notes how a run went and when the next one is.
func (r *Runner) end(ctx context.Context, s *state, err error) {
	if errors.Is(err, ErrBudget) || ctx.Err() != nil { // it goes on later
		err = nil
	}
	now := r.cfg.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	s.running, s.took = false, now.Sub(s.last)
	s.runs++
	wait := s.job.Every
	if err == nil {
		s.failures, s.err = 0, ""
	} else {
		wait = backoff(wait, s.failures)
		s.failures++
		s.err = err.Error()
		r.cfg.Logger.Warn("background job failed", "job", s.job.Name, "failures", s.failures, "next_in", wait, "error", err)
	}
	s.next = now.Add(wait)
}

// backoff doubles a rhythm with every failure before, up to maxWait, or the rhythm itself where that is longer.
func backoff(every time.Duration, failures int) time.Duration {
	wait := 2 * every
	for range failures {
		if wait >= maxWait {
			break
		}
		wait *= 2
	}
	return max(min(wait, maxWait), every)
}

// guarded runs a job so that it takes nothing else down with it.
func guarded(ctx context.Context, run func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return run(ctx)
}

// Close ends the jobs that run and waits for them. Closing twice is fine.
func (r *Runner) Close() {
	r.stop()
	<-r.done
}
