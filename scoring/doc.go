// Package scoring reads a human's message and says how hard it is (a score and a prompt [Tier]) and what
// kind of work it asks for (a task [Shape]).
//
// A message becomes a [Vector] of seven named features, and a linear model turns the vector into a score:
// the dot product of features and weights, so every score can be explained by its contributions. Features
// come from keyword lists (the files under keywords/, matched as whole words) and from a few structural
// marks such as code fences and numbered lists. Everything here is pure: no I/O, no clock, no model call.
//
// What it does not do: it does not understand. It sees words, so a short hard request that uses none of the
// listed words scores like a short easy one, and one kind of signal alone never reaches [Heavy] under the
// default weights (the largest is 0.20, the boundary 0.4): "Prove that sqrt(2) is irrational" and "Design a
// distributed consensus algorithm" are standard. It does not look at system prompts, tools, tool results or
// history either; callers pass the newest human turn alone, after [HumanText] has removed what programs
// wrapped around it. Choosing a model for a tier is the routing package's work.
package scoring
