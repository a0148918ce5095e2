package ledger

import "time"

// Stats is the sum over the selected entries, and over each group of them,
// sorted by key.
type Stats struct {
	Total  Totals  `json:"total"`
	Groups []Group `json:"groups"`
}

// Group is the sum over the entries with one value of the grouping.
type Group struct {
	Key string `json:"key"`
	Totals
}

// Totals is a sum over entries. Requests are callers'; what our own calls
// cost is in CostUSD and in Saved.Background, and told apart in Background.
// Amounts are USD over what is priced; Unpriced counts the rest.
type Totals struct {
	Requests    int64   `json:"requests"`
	CostUSD     float64 `json:"cost_usd"`
	BaselineUSD float64 `json:"baseline_usd"`

	// Saved is net: its Total() is BaselineUSD − CostUSD. Overspent is what
	// the entries that lost by a component lost, so Saved plus Overspent is
	// what the others gained.
	Saved     Savings `json:"saved"`
	Overspent Savings `json:"overspent"`

	Unpriced int64  `json:"unpriced"`
	Disputed int64  `json:"disputed"` // Entry.Disputed
	Tokens   Tokens `json:"tokens"`

	// CacheHitShare is how much of the prompts was read from the provider's
	// cache, 0 to 1.
	CacheHitShare float64 `json:"cache_hit_share"`

	Tiers    map[string]int64 `json:"tiers"`    // Requests by prompt tier; "": not scored.
	Switches map[string]int64 `json:"switches"` // Changes of a session's model by direction.
	Outcomes map[string]int64 `json:"outcomes"` // Requests by outcome.

	// Scaffold compares the arms of the scaffold's trial: ArmApplied,
	// ArmHeldOut. Both are always there.
	Scaffold map[string]Arm `json:"scaffold"`

	Background Background  `json:"background"`
	Latency    LatencyInMS `json:"latency_ms"`
}

// Tokens are those of a [Usage], and of them what we injected.
type Tokens struct {
	Usage
	InjectedMemory   int64 `json:"injected_memory"`
	InjectedScaffold int64 `json:"injected_scaffold"`
}

// Arm is one arm of the scaffold's trial.
type Arm struct {
	Requests  int64   `json:"requests"`
	Output    int64   `json:"output"`    // Tokens.
	Truncated int64   `json:"truncated"` // Answers that ended at their limit.
	Corrected int64   `json:"corrected"` // Answers that the human's next words corrected.
	CostUSD   float64 `json:"cost_usd"`
}

// Background is what our own calls took.
type Background struct {
	Calls   int64   `json:"calls"`
	Tokens  int64   `json:"tokens"` // Input and output.
	CostUSD float64 `json:"cost_usd"`
}

// LatencyInMS are percentiles of the durations of an [Entry], in milliseconds.
// They are read from histograms and at most an eighth off.
type LatencyInMS struct {
	Overhead  Percentiles `json:"overhead"`
	FirstByte Percentiles `json:"first_byte"`
	Total     Percentiles `json:"total"`
}

// Percentiles are the durations that half, 95 % and 99 % of the requests did
// not exceed; 0 of no requests.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

func (s *sums) totals() Totals {
	t := Totals{
		Requests: s.requests, CostUSD: s.cost.usd(), BaselineUSD: s.baseline.usd(),
		Saved: savingsOf(s.saved), Overspent: savingsOf(s.overspent),
		Unpriced: s.unpriced, Disputed: s.disputed, Tokens: s.tokens,
		CacheHitShare: share(float64(s.tokens.Cached), s.tokens.Input),
		Tiers:         named(append(tiers[:], ""), s.tiers[:]),
		Switches:      named(directions[:], s.switches[:]),
		Outcomes:      named(outcomes[:], s.outcomes[:]),
		Scaffold:      make(map[string]Arm),
		Background:    Background{Calls: s.background.calls, Tokens: s.background.tokens, CostUSD: s.background.cost.usd()},
		Latency:       LatencyInMS{s.overhead.percentiles(), s.firstByte.percentiles(), s.total.percentiles()},
	}
	for i, a := range s.arms {
		t.Scaffold[arms[i]] = Arm{
			Requests: a.requests, Output: a.output, Truncated: a.truncated, Corrected: a.corrected, CostUSD: a.cost.usd(),
		}
	}

	return t
}

// named gives counts their names; those that are 0 are left out.
func named(names []string, counts []int64) map[string]int64 {
	m := make(map[string]int64)
	for i, n := range counts {
		if n > 0 {
			m[names[i]] = n
		}
	}

	return m
}

func (h *histogram) percentiles() Percentiles {
	ms := func(share float64) float64 { return float64(h.percentile(share)) / float64(time.Millisecond) }

	return Percentiles{P50: ms(0.5), P95: ms(0.95), P99: ms(0.99)}
}
