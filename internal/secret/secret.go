// Package secret holds the one type for API keys and the like. It can't be
// printed by accident; it does not protect memory.
package secret

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Text is a text that must not be shown. It prints as [redacted] however it is formatted, marshalled or logged;
// string(s) is the value. (The fmt package can't see the methods of unexported struct fields: keep a Text in an
// exported field, or in a variable.)
type Text string

// Format writes [redacted] for every verb, %#v and %x included.
func (Text) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// String returns [redacted].
func (Text) String() string { return redacted }

// GoString returns [redacted].
func (Text) GoString() string { return redacted }

// MarshalText returns [redacted], also for JSON.
func (Text) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalYAML returns [redacted].
func (Text) MarshalYAML() (any, error) { return redacted, nil }

// LogValue returns [redacted].
func (Text) LogValue() slog.Value { return slog.StringValue(redacted) }
