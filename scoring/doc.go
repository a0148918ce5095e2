// Package scoring reads a human's message and says how hard it is (a score and a prompt [Tier]) and what
// kind of work it asks for (a task [Shape]).
//
// There are two scorers. The keyword scorer turns a message into seven named features (a [Vector]) and takes the dot
// product with seven weights that an operator can read and change. The learned scorer, the default, reads the same seven
// and more: concepts by lists of words in many languages, structure, and hashed words and pairs of words. Its weights were
// fitted offline (tools/weights) and are embedded; docs/SCORING.md tells how and how good they are. [Scorer.Explain] says
// what each thing adds. Everything here is pure: no I/O, no clock, no model call.
//
// What it does not do: it does not understand. It sees words, and what is hard by its subject alone is often missed. It
// does not look at system prompts, tools, tool results or history either; callers pass the newest human turn alone, after
// [HumanText] has removed what programs wrapped around it. Choosing a model for a tier is the routing package's work.
package scoring
