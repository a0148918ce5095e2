package background

import (
	"maps"
	"slices"
	"time"
)

// Report says how the jobs stand and what they cost. Sums are those of this process.
type Report struct {
	Jobs  []JobReport  `json:"jobs"`  // in their order; never nil
	Calls []CallReport `json:"calls"` // by purpose, in the order of their names; never nil

	CallsPerHour  int     `json:"calls_per_hour"`
	USDPerHour    float64 `json:"usd_per_hour"` // 0: no limit
	CallsLastHour int     `json:"calls_last_hour"`
	USDLastHour   float64 `json:"usd_last_hour"`
}

// JobReport is how a job stands. Times are absent before the first run.
type JobReport struct {
	Name         string    `json:"name"`
	EverySeconds float64   `json:"every_seconds"`
	Running      bool      `json:"running"`
	Runs         int64     `json:"runs"`
	LastRun      time.Time `json:"last_run,omitzero"` // when it began
	TookMillis   int64     `json:"took_ms"`
	NextRun      time.Time `json:"next_run,omitzero"`
	Failures     int       `json:"failures"` // in a row
	LastError    string    `json:"last_error,omitempty"`
}

// CallReport is what the calls for one purpose came to.
type CallReport struct {
	Purpose  string  `json:"purpose"`
	Calls    int64   `json:"calls"`
	Failed   int64   `json:"failed"`
	Unpriced int64   `json:"unpriced"` // of unknown cost, in no sum
	CostUSD  float64 `json:"cost_usd"`
}

// Report tells how things stand.
func (r *Runner) Report() Report {
	now := r.cfg.Clock()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := Report{Jobs: []JobReport{}, Calls: []CallReport{}, CallsPerHour: r.cfg.CallsPerHour, USDPerHour: r.cfg.USDPerHour}
	out.CallsLastHour, out.USDLastHour, _ = r.lastHour(now)
	for _, s := range r.jobs {
		out.Jobs = append(out.Jobs, JobReport{
			Name: s.job.Name, EverySeconds: s.job.Every.Seconds(), Running: s.running, Runs: s.runs, LastRun: s.last,
			TookMillis: s.took.Milliseconds(), NextRun: s.next, Failures: s.failures, LastError: s.err,
		})
	}
	for _, purpose := range slices.Sorted(maps.Keys(r.calls)) {
		s := r.calls[purpose]
		out.Calls = append(out.Calls, CallReport{Purpose: purpose, Calls: s.calls, Failed: s.failed, Unpriced: s.unpriced, CostUSD: s.usd})
	}
	return out
}
