package ledger

import (
	"math"
	"time"
)

// Arms of the scaffold's trial.
const (
	ArmApplied = "applied"
	ArmHeldOut = "held_out"
)

// Outcomes of a request.
const (
	OutcomeOK               = "ok"                // Answered in full.
	OutcomeBypass           = "bypass"            // Answered in full, passed through by the caller's wish.
	OutcomeClientCancelled  = "client_cancelled"  // The client left before the end.
	OutcomeStreamIncomplete = "stream_incomplete" // The upstream broke off, or sent an error in mid-stream.
	OutcomeUpstreamError    = "upstream_error"    // The upstream answered with a status of 400 or more.
	OutcomeUnreachable      = "unreachable"       // The upstream couldn't be reached.
	OutcomeTimeout          = "timeout"           // The upstream was silent for too long.
	OutcomeRejected         = "rejected"          // We refused it, and nothing was sent.
)

// Entry is all that is kept of one request: how it was decided, what came of
// it, and the money. It holds no text of the conversation.
type Entry struct {
	// ID is the request's own; it must not be empty or used twice. A repeated
	// one counts as the same request and is written once.
	ID string `json:"id"`

	// At is when the request came. It is kept to the microsecond, in UTC;
	// the zero time stands for now.
	At time.Time `json:"at"`

	// Tenant owns the entry; queries see only their own tenant's.
	Tenant      string `json:"tenant"`
	Agent       string `json:"agent"`
	User        string `json:"user"`
	Session     string `json:"session"`
	Channel     string `json:"channel"`
	ProcessType string `json:"process_type"`

	// RequestedModel is what the client named, RoutedModel what was asked
	// upstream, AnsweredModel what the upstream says has answered, and
	// BaselineModel what the client would have used without us.
	RequestedModel string `json:"requested_model"`
	RoutedModel    string `json:"routed_model"`
	AnsweredModel  string `json:"answered_model"`
	BaselineModel  string `json:"baseline_model"`

	// Background says what one of our own calls was for, such as "extractor";
	// empty for a caller's request. Such a call has no baseline: all of its cost
	// is Saved.Background.
	Background string `json:"background,omitempty"`

	Profile string  `json:"profile"`
	Tier    string  `json:"tier"`
	Shape   string  `json:"shape"`
	Reason  string  `json:"reason"`
	Score   float64 `json:"score"`

	// Switched says that the session changed its model with this request: up,
	// down or level; empty: it didn't.
	Switched string `json:"switched,omitempty"`

	Streamed bool   `json:"streamed"`
	Status   int    `json:"status"`  // HTTP status that the client got; 0: none.
	Outcome  string `json:"outcome"` // One of the Outcome constants.

	// Usage is what the upstream reported; without UsageKnown it means nothing.
	Usage      Usage `json:"usage"`
	UsageKnown bool  `json:"usage_known"`

	// InjectedMemoryTokens and InjectedScaffoldTokens are what we added to the
	// prompt, estimated. They are part of Usage.Input.
	InjectedMemoryTokens   int64 `json:"injected_memory_tokens"`
	InjectedScaffoldTokens int64 `json:"injected_scaffold_tokens"`

	// ScaffoldArm is applied, or held_out for a turn that would have got
	// a scaffold but for the share that is held out; empty: none was due.
	ScaffoldArm string `json:"scaffold_arm,omitempty"`

	// Truncated says that the answer ended because it had reached its limit.
	Truncated bool `json:"truncated,omitempty"`

	// CorrectedArm is the ScaffoldArm of the conversation's answer before, when
	// the words of this request correct it; empty: they don't, or it had none.
	CorrectedArm string `json:"corrected_arm,omitempty"`

	// WarmTokens is how much of this prompt the baseline model would have read
	// from its cache, had the session stayed with it. Nil: not known, and taken
	// to be the same share as the routed model's.
	WarmTokens *int64 `json:"warm_tokens,omitempty"`

	// RetryCost is what earlier attempts at this request were billed, in USD.
	RetryCost float64 `json:"retry_cost_usd,omitempty"`

	// Cost, Baseline (USD) and Saved are set by [Settle]. Without Priced they
	// are nil and zero: not known.
	Cost     *float64 `json:"cost_usd,omitempty"`
	Baseline *float64 `json:"baseline_usd,omitempty"`
	Saved    Savings  `json:"saved,omitzero"`
	Priced   bool     `json:"priced"`

	// Disputed: the upstream's own figure for the cost and our price list
	// differ by more than a twentieth. Set by [Settle].
	Disputed bool `json:"disputed,omitempty"`

	Overhead  time.Duration `json:"overhead_ns"`   // What we added before the upstream was asked.
	FirstByte time.Duration `json:"first_byte_ns"` // From arrival to the first byte of the answer.
	Total     time.Duration `json:"total_ns"`      // From arrival to the end.

	MemoriesUsed int    `json:"memories_used"`
	FailOpen     string `json:"fail_open,omitempty"` // The step that failed, so that the client's bytes went out.
}

// Savings is the difference between baseline and cost by cause, in USD.
// Negative: we made it dearer.
type Savings struct {
	Routing  float64 `json:"routing"`  // Another model than the baseline's.
	Memory   float64 `json:"memory"`   // Memory that we added to the prompt.
	Scaffold float64 `json:"scaffold"` // Response scaffold that we added to the prompt.
	Cache    float64 `json:"cache"`    // Prompt cache that a switch lost.
	Retries  float64 `json:"retries"`  // Failed attempts that were billed.

	// Background is what our own calls cost, such as those of a memory
	// extractor. They are entries of their own.
	Background float64 `json:"background"`
}

// list returns the components in the order in which they are kept.
func (s Savings) list() [numComponents]float64 {
	return [...]float64{s.Routing, s.Memory, s.Scaffold, s.Cache, s.Retries, s.Background}
}

// savingsOf is the opposite of list.
func savingsOf(n [numComponents]nano) Savings {
	return Savings{
		Routing: n[0].usd(), Memory: n[1].usd(), Scaffold: n[2].usd(),
		Cache: n[3].usd(), Retries: n[4].usd(), Background: n[5].usd(),
	}
}

// Total returns the sum of the components, in whole billionths of a dollar.
func (s Savings) Total() float64 {
	return math.Round((s.Routing+s.Memory+s.Scaffold+s.Cache+s.Retries+s.Background)*1e9) / 1e9
}
