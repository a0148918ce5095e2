package chat

import (
	"errors"
	"strconv"
)

// Error is the one error that clients see from us, in OpenAI's shape. What the
// upstream answers is never turned into one.
type Error struct {
	Status  int    // HTTP status
	Code    string // stable, for programs
	Param   string // the field or header at fault, "" if none
	Message string // what happened and what to do
}

// The codes of our own errors.
const (
	CodeInvalidJSON         = "invalid_json"
	CodeInvalidHeader       = "invalid_header"
	CodeInvalidModel        = "invalid_model"
	CodeNoCapableModel      = "no_capable_model"
	CodeBodyTooLarge        = "body_too_large"
	CodeUnsupportedEncoding = "unsupported_encoding"
	CodeUpstreamUnreachable = "upstream_unreachable"
	CodeConnectTimeout      = "upstream_connect_timeout"
	CodeUpstreamTimeout     = "upstream_timeout"
	CodeUpstreamStalled     = "upstream_stalled"
	CodeUpstreamBroken      = "upstream_broken"
	CodeInvalidKey          = "invalid_api_key"
	CodeForbidden           = "forbidden"
	CodeNotFound            = "not_found"
	CodeInvalidQuery        = "invalid_query"
	CodeInternal            = "internal_error"
)

func (e *Error) Error() string { return e.Message }

// Type is OpenAI's error class for the status.
func (e *Error) Type() string {
	switch e.Status {
	case 401:
		return "authentication_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 429:
		return "rate_limit_error"
	}
	if e.Status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// Body is the JSON that goes to the client.
func (e *Error) Body() []byte {
	b := AppendQuoted([]byte(`{"error":{"message":`), e.Message)
	b = AppendQuoted(append(b, `,"type":`...), e.Type())
	b = AppendQuoted(append(b, `,"code":`...), e.Code)
	b = append(b, `,"param":`...)
	if e.Param == "" {
		b = append(b, "null"...)
	} else {
		b = AppendQuoted(b, e.Param)
	}
	return append(b, "}}\n"...)
}

// AsError returns err as an *Error: itself if it is one, a 400 for a
// *SyntaxError, else a 500 that does not repeat the internal text.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if s, ok := errors.AsType[*SyntaxError](err); ok {
		return &Error{
			Status: 400, Code: CodeInvalidJSON,
			Message: "The request body is not a JSON object: expected " + s.Want + " at byte " + strconv.Itoa(s.Offset) + ".",
		}
	}
	return &Error{Status: 500, Code: CodeInternal, Message: "Understudy failed on this request; its log has the reason under the request id."}
}
