package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestErrorBody(t *testing.T) {
	tests := []struct {
		name string
		err  Error
		want string
	}{
		{
			"with a field",
			Error{400, CodeInvalidModel, "model", `No "x".` + "\nSay y."},
			`{"error":{"message":"No \"x\".\nSay y.","type":"invalid_request_error","code":"invalid_model","param":"model"}}` + "\n",
		},
		{
			"without a field",
			Error{502, CodeUpstreamUnreachable, "", "Down."},
			`{"error":{"message":"Down.","type":"api_error","code":"upstream_unreachable","param":null}}` + "\n",
		},
		{
			"what a caller sent, repeated",
			Error{400, CodeInvalidHeader, "X-Tier", "bad \x00\xff</script>"},
			`{"error":{"message":"bad \u0000` + "\uFFFD" + `</script>","type":"invalid_request_error","code":"invalid_header","param":"X-Tier"}}` + "\n",
		},
		{
			"nothing",
			Error{},
			`{"error":{"message":"","type":"invalid_request_error","code":"","param":null}}` + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.err.Body()
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("Body() (-want +got):\n%s", diff)
			}
			if !json.Valid(got) {
				t.Errorf("Body() is not JSON: %s", got)
			}
		})
	}
}

func TestErrorType(t *testing.T) {
	tests := []struct {
		name   string
		status int
		want   string
	}{
		{"bad request", 400, "invalid_request_error"},
		{"no key", 401, "authentication_error"},
		{"forbidden", 403, "permission_error"},
		{"not found", 404, "not_found_error"},
		{"method", 405, "invalid_request_error"},
		{"too large", 413, "invalid_request_error"},
		{"encoding", 415, "invalid_request_error"},
		{"rate", 429, "rate_limit_error"},
		{"internal", 500, "api_error"},
		{"unreachable", 502, "api_error"},
		{"not ready", 503, "api_error"},
		{"silent", 504, "api_error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := (&Error{Status: tt.status}).Type(); got != tt.want {
				t.Errorf("Type() of %d = %q, want %q", tt.status, got, tt.want)
			}
		})
	}
}

func TestAsError(t *testing.T) {
	const secret = "dial tcp 10.0.0.7: sk-123"
	own := &Error{Status: 413, Code: CodeBodyTooLarge, Message: "Too large."}
	internal := &Error{Status: 500, Code: CodeInternal, Message: "Understudy failed on this request; its log has the reason under the request id."}
	tests := []struct {
		name string
		err  error
		want *Error
	}{
		{"ours", own, own},
		{"ours, wrapped", fmt.Errorf("reading %s: %w", secret, own), own},
		{"ours, joined", errors.Join(errors.New(secret), own), own},
		{
			"syntax", fmt.Errorf("parsing %s: %w", secret, &SyntaxError{Offset: 7, Want: "a value"}),
			&Error{Status: 400, Code: CodeInvalidJSON, Message: "The request body is not a JSON object: expected a value at byte 7."},
		},
		{"any other", errors.New(secret), internal},
		{"overlap", ErrOverlap, internal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := AsError(tt.err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("AsError(%v) (-want +got):\n%s", tt.err, diff)
			}
			if text := got.Error() + string(got.Body()); strings.Contains(text, secret) {
				t.Errorf("AsError(%v) repeats the internal text: %s", tt.err, text)
			}
		})
	}
}
