// Package replay runs traffic through routing in virtual time and reckons what
// it would have cost: recorded requests under each profile, and synthetic
// conversations whose best answer is known. It reads no clock, sends nothing
// and writes nothing.
//
// Costs are those of a provider that keeps each conversation's newest prompt in
// a cache for a while, for each model by itself. Answers are taken to be as
// long as they were, whichever model gives them.
package replay
