package proxy

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/otlp"
	"github.com/understudy-ai/understudy/ledger"
)

// headerTrace is W3C's: whose child a request is. It goes upstream as it came
// unless we trace, when the upstream's part becomes a child of ours.
const headerTrace = "Traceparent"

// trace is what one request leaves in a trace. Nil traces nothing.
type trace struct {
	otlp.Context             // whose child the request is
	id           otlp.SpanID // of the span of the whole request
	spans        []otlp.Span // what is finished, but for that
}

// startTrace begins a request's trace, or goes on with the caller's; nil where
// there is no collector, or the caller doesn't want it sampled.
func (s *Server) startTrace(h *fasthttp.RequestHeader) *trace {
	if s.cfg.Traces == nil {
		return nil
	}
	ctx, ok := otlp.ParseTraceparent(string(h.Peek(headerTrace)))
	switch {
	case !ok:
		ctx = otlp.Context{Trace: otlp.NewTraceID()}
	case !ctx.Sampled:
		return nil
	}
	return &trace{Context: ctx, id: otlp.NewSpanID()}
}

// phase adds a step of ours that has just ended.
func (t *trace) phase(name string, began time.Time, err error) {
	if t == nil {
		return
	}
	s := otlp.Span{Trace: t.Trace, ID: otlp.NewSpanID(), Parent: t.id, Name: name, Kind: otlp.KindInternal, Start: began, End: time.Now()}
	if err != nil {
		s.Error = "failed"
	}
	t.spans = append(t.spans, s)
}

// attempt makes the upstream's part of req a child of a span for this attempt,
// which ends when the returned function is called with what came of it.
func (t *trace) attempt(x *exchange, req *fasthttp.RequestHeader) (end func(*response, error)) {
	if t == nil {
		return func(*response, error) {}
	}
	span := otlp.Span{
		Trace: t.Trace, ID: otlp.NewSpanID(), Parent: t.id, Name: "upstream", Kind: otlp.KindClient, Start: time.Now(),
		Attrs: []otlp.Attr{{Key: "gen_ai.request.model", Value: x.routed()}},
	}
	req.Set(headerTrace, otlp.Traceparent(t.Trace, span.ID))
	return func(resp *response, err error) {
		span.End = time.Now()
		if err != nil {
			span.Error, _ = upstreamError(err)
		} else if code := resp.Header.StatusCode(); code >= 400 {
			span.Error = "status"
			span.Attrs = append(span.Attrs, otlp.Attr{Key: "http.response.status_code", Value: int64(code)})
		}
		t.spans = append(t.spans, span)
	}
}

// finish hands the trace over, with the request as its root, named and
// described as OpenTelemetry's conventions for generative AI have it.
func (t *trace) finish(x *exchange) {
	if t == nil {
		return
	}
	e := &x.entry
	root := otlp.Span{
		Trace: t.Trace, ID: t.id, Parent: t.Parent, Name: "chat " + e.RequestedModel, Kind: otlp.KindServer, Start: x.start, End: x.start.Add(e.Total),
		Attrs: []otlp.Attr{
			{Key: "gen_ai.operation.name", Value: "chat"},
			{Key: "gen_ai.request.model", Value: e.RequestedModel},
			{Key: "gen_ai.response.model", Value: e.AnsweredModel},
			{Key: "http.response.status_code", Value: int64(e.Status)},
			{Key: "understudy.request_id", Value: e.ID},
			{Key: "understudy.agent", Value: e.Agent},
			{Key: "understudy.routed_model", Value: e.RoutedModel},
			{Key: "understudy.tier", Value: e.Tier},
			{Key: "understudy.reason", Value: e.Reason},
			{Key: "understudy.outcome", Value: e.Outcome},
			{Key: "understudy.memories", Value: int64(e.MemoriesUsed)},
		},
	}
	if e.UsageKnown {
		root.Attrs = append(root.Attrs,
			otlp.Attr{Key: "gen_ai.usage.input_tokens", Value: e.Usage.Input},
			otlp.Attr{Key: "gen_ai.usage.output_tokens", Value: e.Usage.Output},
			otlp.Attr{Key: "gen_ai.usage.cache_read.input_tokens", Value: e.Usage.Cached})
	}
	if e.Priced {
		root.Attrs = append(root.Attrs,
			otlp.Attr{Key: "understudy.cost_usd", Value: *e.Cost},
			otlp.Attr{Key: "understudy.saved_usd", Value: e.Saved.Total()})
	}
	switch e.Outcome {
	case ledger.OutcomeOK, ledger.OutcomeBypass, ledger.OutcomeClientCancelled:
	default:
		root.Error = e.Outcome
		root.Attrs = append(root.Attrs, otlp.Attr{Key: "error.type", Value: e.Outcome})
	}
	if e.Streamed && e.FirstByte > 0 {
		at := x.start.Add(e.FirstByte)
		t.spans = append(t.spans, otlp.Span{Trace: t.Trace, ID: otlp.NewSpanID(), Parent: t.id, Name: "stream", Kind: otlp.KindInternal, Start: at, End: root.End})
	}
	x.s.cfg.Traces.Export(append(t.spans, root)...)
}
