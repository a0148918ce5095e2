package ambient

import "time"

// EventType says what kind of thing happened.
type EventType string

// The types of events.
const (
	BranchCompleted EventType = "branch_completed"
	WorkerSpawned   EventType = "worker_spawned"
	WorkerCompleted EventType = "worker_completed"
	CronExecuted    EventType = "cron_executed"
	MemorySaved     EventType = "memory_saved"
	Decision        EventType = "decision"
	UserCorrection  EventType = "user_correction"
	DecisionRevised EventType = "decision_revised"
	DeadlineSet     EventType = "deadline_set"
	BlockedOn       EventType = "blocked_on"
	Constraint      EventType = "constraint"
	Outcome         EventType = "outcome"
	Failure         EventType = "error"
	TaskUpdate      EventType = "task_update"
	AgentMessage    EventType = "agent_message"
	System          EventType = "system"
)

// Event is one thing that happened.
type Event struct {
	ID         string    // set by the store when empty
	Type       EventType // one of the constants
	Importance float64   // in (0, 1]; 0: the type's own. It never changes: what is old counts less when it is read
	Session    string    // the conversation, empty for none
	Name       string    // what the scope's user is called
	Summary    string    // one line; redacted and cut by the store
	At         time.Time // zero: now
}
