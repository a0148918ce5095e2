package background_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/internal/background"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken")

// The loop runs each job in its own rhythm, from the end of one run to the
// beginning of the next, and Close ends it.
func TestRhythm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		runs := map[string][]time.Duration{}
		note := func(name string, takes time.Duration) background.Job {
			return background.Job{Name: name, Every: time.Minute, Run: func(context.Context) error {
				runs[name] = append(runs[name], time.Since(start))
				time.Sleep(takes)
				return nil
			}}
		}
		r := background.New(background.Config{Jobs: []background.Job{note("quick", 0), note("slow", 30*time.Second)}})
		time.Sleep(200 * time.Second)
		r.Close()
		r.Close()
		want := map[string][]time.Duration{
			"quick": {5 * time.Second, 65 * time.Second, 125 * time.Second, 185 * time.Second},
			"slow":  {5 * time.Second, 95 * time.Second, 185 * time.Second},
		}
		if diff := cmp.Diff(want, runs); diff != "" {
			t.Errorf("runs at (-want +got):\n%s", diff)
		}
	})
}

// A job that fails waits twice as long after each failure, an hour at most; a
// success, and a budget that is spent, end that.
func TestBackoff(t *testing.T) {
	tests := []struct {
		name    string
		every   time.Duration
		results []error
		want    []time.Duration // from each run to the next
	}{
		{"well", time.Minute, []error{nil, nil}, []time.Duration{time.Minute, time.Minute}},
		{
			"failing", 10 * time.Minute,
			[]error{errBroken, errBroken, errBroken, errBroken, nil, errBroken},
			[]time.Duration{20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour, 10 * time.Minute, 20 * time.Minute},
		},
		{"rarer than the longest wait", 3 * time.Hour, []error{errBroken, errBroken}, []time.Duration{3 * time.Hour, 3 * time.Hour}},
		{"out of budget", time.Minute, []error{background.ErrBudget, errBroken}, []time.Duration{time.Minute, 2 * time.Minute}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
			runs := 0
			r := background.New(background.Config{
				Clock: func() time.Time { return now },
				Jobs:  []background.Job{{Name: "job", Every: tt.every, Run: func(context.Context) error { runs++; return tt.results[runs-1] }}},
			})
			defer r.Close()
			for i, want := range tt.want {
				r.RunDue(t.Context())
				next := r.Report().Jobs[0].NextRun
				if got := next.Sub(now); got != want || runs != i+1 {
					t.Errorf("after run %d (%d made) the next is in %v, want %v", i+1, runs, got, want)
				}
				now = next.Add(-time.Second)
				r.RunDue(t.Context())
				now = next
			}
		})
	}
}

// One run of a job at a time, however many want it; a panic is a failure.
func TestSingleFlight(t *testing.T) {
	began, release := make(chan bool), make(chan bool)
	r := background.New(background.Config{Jobs: []background.Job{
		{Name: "held", Every: time.Minute, Run: func(context.Context) error { began <- true; <-release; return nil }},
		{Name: "panics", Every: time.Minute, Run: func(context.Context) error { panic("oh no") }},
	}})
	defer r.Close()
	var all sync.WaitGroup
	all.Go(func() { r.RunDue(t.Context()) })
	<-began
	r.RunDue(t.Context()) // would wait for ever if it ran
	if jobs := r.Report().Jobs; !jobs[0].Running || jobs[1].Runs != 1 || jobs[1].LastError != "panic: oh no" {
		t.Errorf("the jobs stand like this: %+v", jobs)
	}
	close(release)
	all.Wait()
	if job := r.Report().Jobs[0]; job.Running || job.Runs != 1 {
		t.Errorf("the job stands like this: %+v", job)
	}
}

// Calls stop at either limit and go on an hour later.
func TestBudget(t *testing.T) {
	usd := func(x float64) *float64 { return &x }
	tests := []struct {
		name  string
		calls int
		limit float64
		costs []*float64 // of the calls, a minute apart
		err   error      // what they return
		want  int        // calls made
		total float64
	}{
		{name: "none allowed", calls: 0, costs: []*float64{usd(1)}, want: 0},
		{name: "by number", calls: 2, costs: []*float64{usd(1), nil, usd(1)}, want: 2, total: 1},
		{name: "by cost", calls: 9, limit: 2, costs: []*float64{usd(1), usd(1.5), usd(1)}, want: 2, total: 2.5},
		{name: "of unknown cost", calls: 9, limit: 2, costs: []*float64{nil, usd(1)}, want: 1},
		{name: "failing for nothing", calls: 9, limit: 2, costs: []*float64{nil, nil, nil}, err: errBroken, want: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)
			r := background.New(background.Config{Clock: func() time.Time { return now }, CallsPerHour: tt.calls, USDPerHour: tt.limit})
			defer r.Close()
			made := 0
			for _, cost := range tt.costs {
				before := made
				err := r.Call(t.Context(), "test", func(context.Context) (*float64, error) { made++; return cost, tt.err })
				if refused := errors.Is(err, background.ErrBudget); refused != (made == before) || !refused && !errors.Is(err, tt.err) {
					t.Errorf("a call is answered with %v, and made %d times", err, made-before)
				}
				now = now.Add(time.Minute)
			}
			if made != tt.want {
				t.Errorf("%d calls were made, want %d", made, tt.want)
			}
			report := r.Report()
			if report.CallsLastHour != tt.want || report.USDLastHour != tt.total {
				t.Errorf("the report has %d calls for %v, want %d for %v", report.CallsLastHour, report.USDLastHour, tt.want, tt.total)
			}
			if tt.want > 0 && (report.Calls[0].Calls != int64(tt.want) || report.Calls[0].CostUSD != tt.total) {
				t.Errorf("the sums are %+v, want %d calls for %v", report.Calls, tt.want, tt.total)
			}
			now = now.Add(time.Hour)
			err := r.Call(t.Context(), "test", func(context.Context) (*float64, error) { return nil, nil })
			if (err == nil) != (tt.calls > 0) {
				t.Errorf("an hour later: %v", err)
			}
		})
	}
}
