// Package proxy is the HTTP side of Understudy: the server, the pipeline that
// a chat request goes through, the upstream client, and the relay of answers.
//
// The rules of this package:
//
//   - A smart step that fails, panics or runs out of time never fails the
//     request: the client's bytes go upstream as they came, and the reason is
//     counted.
//   - Nothing is read from fiber's context after the handler returned: what a
//     stream needs later is copied into its exchange.
//   - What the upstream answers reaches the client as it came, status, headers
//     and bytes. A stream that breaks off is broken off, never completed.
//   - The client's socket is watched: when the client goes, so does the
//     upstream request.
//
// Only this package knows fiber and fasthttp.
package proxy
