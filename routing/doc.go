// Package routing chooses the model for a request: from the client's wishes
// (a named model, a profile, a forced tier, a task type), from what the prompt
// scored, from what each model can do, and from what the conversation used
// before. Every choice carries its reason and what became of each candidate.
//
// It sends nothing and reads no request bytes; the caller hands it facts.
package routing
