package otlp

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

// TraceID and SpanID are random; a zero SpanID is none.
type (
	TraceID [16]byte
	SpanID  [8]byte
)

// Kinds of a span, as OTLP numbers them.
const (
	KindInternal = 1
	KindServer   = 2
	KindClient   = 3
)

// Span is one finished operation.
type Span struct {
	Trace      TraceID
	ID, Parent SpanID
	Name       string
	Kind       int
	Start, End time.Time
	Attrs      []Attr
	Error      string // Why it failed; "": it didn't.
}

// Attr is an attribute; Value is a string, bool, int64 or float64.
type Attr struct {
	Key   string
	Value any
}

// NewTraceID returns a random trace id.
func NewTraceID() (id TraceID) {
	rand.Read(id[:]) // never fails
	return id
}

// NewSpanID returns a random span id.
func NewSpanID() (id SpanID) {
	rand.Read(id[:]) // never fails
	return id
}

// Context is what a traceparent header says: whose child a request is.
type Context struct {
	Trace   TraceID
	Parent  SpanID
	Sampled bool
}

// ParseTraceparent reads a W3C traceparent header. It is not ok for what is
// none: then a trace begins here.
func ParseTraceparent(header string) (c Context, ok bool) {
	// version "-" trace "-" parent "-" flags; later versions may add more.
	if len(header) < 55 || header[2] != '-' || header[35] != '-' || header[52] != '-' {
		return c, false
	}
	if header[:2] == "ff" || len(header) > 55 && (header[:2] == "00" || header[55] != '-') {
		return c, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		to   []byte
		text string
	}{{version[:], header[:2]}, {c.Trace[:], header[3:35]}, {c.Parent[:], header[36:52]}, {flags[:], header[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.text)); err != nil {
			return Context{}, false
		}
	}
	c.Sampled = flags[0]&1 == 1
	return c, c.Trace != TraceID{} && c.Parent != SpanID{}
}

// Traceparent writes the header for a sampled child of span.
func Traceparent(trace TraceID, span SpanID) string {
	return "00-" + hex.EncodeToString(trace[:]) + "-" + hex.EncodeToString(span[:]) + "-01"
}

// The shape of an export request, as far as we use it.
type (
	exportRequest struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []keyValue `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope      `json:"scope"`
		Spans []wireSpan `json:"spans"`
	}
	scope struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	wireSpan struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		ParentID   string      `json:"parentSpanId,omitempty"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []keyValue  `json:"attributes,omitempty"`
		Status     *wireStatus `json:"status,omitempty"`
	}
	wireStatus struct {
		Code    int    `json:"code"` // 2: error.
		Message string `json:"message"`
	}
	keyValue struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// encode writes an export request. Its strings are made valid UTF-8 by
// encoding/json, so it can't fail.
func encode(cfg *Config, spans []Span) []byte {
	wire := make([]wireSpan, len(spans))
	for i := range spans {
		wire[i] = spans[i].wire()
	}
	body, err := json.Marshal(exportRequest{[]resourceSpans{{
		Resource:   resource{[]keyValue{attribute(Attr{"service.name", cfg.Service}), attribute(Attr{"service.version", cfg.Version})}},
		ScopeSpans: []scopeSpans{{scope{scopeName, cfg.Version}, wire}},
	}}})
	if err != nil { // a NaN among the attributes
		return []byte("{}")
	}
	return body
}

func (s *Span) wire() wireSpan {
	w := wireSpan{
		TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.ID[:]), Name: s.Name, Kind: s.Kind,
		Start: strconv.FormatInt(s.Start.UnixNano(), 10), End: strconv.FormatInt(s.End.UnixNano(), 10),
	}
	if s.Parent != (SpanID{}) {
		w.ParentID = hex.EncodeToString(s.Parent[:])
	}
	for _, a := range s.Attrs {
		w.Attributes = append(w.Attributes, attribute(a))
	}
	if s.Error != "" {
		w.Status = &wireStatus{Code: 2, Message: s.Error}
	}
	return w
}

// attribute is a in OTLP's JSON: 64-bit integers are strings.
func attribute(a Attr) keyValue {
	switch v := a.Value.(type) {
	case string:
		return keyValue{a.Key, map[string]any{"stringValue": v}}
	case bool:
		return keyValue{a.Key, map[string]any{"boolValue": v}}
	case int64:
		return keyValue{a.Key, map[string]any{"intValue": strconv.FormatInt(v, 10)}}
	case float64:
		return keyValue{a.Key, map[string]any{"doubleValue": v}}
	default:
		return keyValue{a.Key, map[string]any{"stringValue": fmt.Sprint(v)}}
	}
}
