// Package ambient knows what surrounds a conversation: what happened today and this week, who is here, what goes on in
// other channels, what a worker should know before it begins.
//
// Whatever passes through the proxy is told to a [Store] after its answer: events, who spoke where. The store keeps it in one
// SQLite file and in RAM what prompts are made of. [Store.Surroundings] turns it into groups of lines for a prompt: bounded,
// ranked, told in absolute times, and equal bytes for equal knowledge.
//
// Everything belongs to a tenant's agent, and within it to an audience: everybody who talks to the agent, the members
// of one private channel, or one user. What is told to one audience is never shown to another; digests and profiles are
// made for each audience apart.
//
// The package knows nothing of HTTP, of prompts' form or of memories; whoever uses it hands it texts, and functions that
// redact them and that ask a model. Without a model it makes no call and everything is rendered by rules.
package ambient
