package routing

// The reasons of a decision. Those for a tier:
const (
	reasonScore     = "score"     // the prompt's own tier
	reasonAbstained = "abstained" // the score says nothing, the tier is the default
	reasonForced    = "forced"    // the caller forced it
	reasonTurn      = "turn"      // the human turn was decided before (tool loop, retry)
	reasonTerse     = "terse"     // a short follow-up keeps the conversation's tier
	reasonHeld      = "held"      // too early to go down
	reasonStay      = "stay"      // going down would not pay
	reasonCheaper   = "cheaper"   // a stronger model costs less in this conversation
)

// Those for a model that is not the tier's:
const (
	reasonNamed      = "named"      // the client named it
	reasonTask       = "task"       // the task type's own model
	reasonProcess    = "process"    // the process type's default
	reasonCapability = "capability" // the wanted one cannot serve the request
	reasonFallback   = "fallback"   // the wanted one failed
)

// Why a candidate fell, where the reason is not what it lacks.
const (
	fellCooling = "a recent failure"
	fellAbsent  = "no entry in its upstream's list"
	fellCheaper = "not cheaper than the named model"
)
