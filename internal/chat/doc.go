// Package chat is a read-only view of an OpenAI-style chat request or answer
// over its raw bytes, and the few edits that a proxy makes to them.
//
// The rules of this package:
//
//   - A body is walked once. The walk records byte offsets; text is decoded
//     only for the few messages that somebody asks for.
//   - Edits are byte splices. Every byte that no edit names goes out as it came
//     in: unknown fields, key order, big integers, escapes, white space.
//   - The OpenAI API is not declared as structs. A field that this package
//     does not know is none of its business.
//
// It does not validate a request beyond being well-formed JSON: whether a
// request makes sense is for the upstream to say.
package chat
