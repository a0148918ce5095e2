// Package eval measures whether assembled prompts let a small model close the
// gap to a large one, and reproduces every quality figure that the project
// quotes.
//
// A scenario is a short history and one question. Its history is played
// through a real proxy, so that memory comes to be as it does in production;
// then the question is asked under each condition, on a fresh copy of that
// memory, some times each. Answers are held against facts that can be checked
// without a model, and may be judged by models as well. What the proxy says it
// did to each request is held against what the condition claims, and a
// condition that was not what it claims ends the run: a comparison of two
// things that were the same is worse than none.
//
// The package talks to the proxy over HTTP alone. It starts none itself: a
// [Starter] does, from internal/cmd. It tunes nothing.
package eval
