package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/routing"
)

// maxFallbacks bounds how many other models one request may try.
const maxFallbacks = 3

// maxHeld bounds an error answer that is kept while other models are tried.
const maxHeld = 1 << 20

// dispatch sends the request, and to another model where the first one fails
// before its first byte and routing knows one. When all fail, the first
// failure is the answer: it is what the client would have got without us.
func (x *exchange) dispatch(ctx *fasthttp.RequestCtx, out *outbound) (*response, error) {
	resp, err := x.s.send(ctx, x, out)
	failure := x.judge(resp, err)
	if x.report(failure, resp); failure == routing.Healthy {
		return resp, err
	}
	first, firstErr, decision := resp, err, x.decision
	rest := bill{} // of the attempts after the first
	x.bill = x.charge(resp)
	for range maxFallbacks {
		if !x.fallBack(failure, out) {
			break
		}
		x.s.cfg.Metrics.Fallbacks.WithLabelValues(failure.String()).Inc()
		resp, err = x.s.send(ctx, x, out)
		failure = x.judge(resp, err)
		if x.report(failure, resp); failure == routing.Healthy {
			if first != nil {
				first.Close()
			}
			x.bill.add(rest)
			return resp, err
		}
		rest.add(x.charge(resp))
		if resp != nil {
			resp.Close()
		}
	}
	x.bill = rest // the first one's is that of the answer
	x.decide(decision)
	return first, firstErr
}

// judge says whether an answer is a failure of the model that another model
// may mend. An answer that is one has been read whole.
func (x *exchange) judge(resp *response, err error) routing.Failure {
	switch {
	case errors.Is(err, errCancelled):
		return routing.Healthy // the client's doing
	case errors.Is(err, errSilent):
		return routing.TimedOut
	case err != nil:
		return routing.Unreachable
	}
	code := resp.Header.StatusCode()
	failure := routing.Healthy
	switch {
	case code < 400:
		return routing.Healthy
	case code == 429:
		failure = routing.RateLimited
	case code == 408: // LiteLLM's word for a provider that was silent
		failure = routing.TimedOut
	case code >= 500:
		failure = routing.Overloaded
	case !x.swapped():
		return routing.Healthy // the client's own choice: its error is the client's to see
	case code == 404, x.account == "" && (code == 401 || code == 403):
		failure = routing.Refused // with a key of the caller's own, a 401 is about the key
	}
	body, whole := resp.hold()
	if !whole {
		return routing.Healthy // too long to keep: it goes out
	}
	if failure == routing.Healthy && (code == 400 || code == 413) && overflows(body) {
		failure = routing.Overflow
	}
	return failure
}

// swapped reports whether the model that was asked is another than the client
// named.
func (x *exchange) swapped() bool {
	m := x.decision.Model
	return m != nil && m.ID != x.decision.Requested && m.Name != x.decision.Requested
}

// report tells routing how the model did.
func (x *exchange) report(f routing.Failure, resp *response) {
	m := x.decision.Model
	if m == nil || x.s.cfg.Router == nil || x.cancel.cancelled() {
		return
	}
	var wait time.Duration
	if resp != nil {
		wait = retryAfter(&resp.Header)
	}
	x.s.cfg.Router.Report(&x.request, m, f, wait)
	state := 0.0
	if f == routing.Healthy || f == routing.Overflow {
		state = 1
	}
	x.s.cfg.Metrics.UpstreamState.WithLabelValues(m.Name).Set(state)
}

// decide makes d the request's decision, and what the account says of it.
func (x *exchange) decide(d routing.Decision) {
	x.decision, x.entry.WarmTokens, x.entry.Switched = d, d.BaselineWarm, d.Switched
}

// fallBack points the request at another model; false when there is none.
func (x *exchange) fallBack(f routing.Failure, out *outbound) bool {
	if x.s.cfg.Router == nil || x.decision.Model == nil || x.failOpen != "" || x.cancel.cancelled() {
		return false
	}
	before := x.modelTier()
	if !x.s.cfg.Router.Next(&x.request, &x.decision, f) {
		return false
	}
	x.decide(x.decision)
	x.reassemble(before)
	x.capture()
	out.upstream = x.s.upstreams[x.decision.Model.Upstream]
	return x.splice(out, slices.Concat(x.modelEdits(), x.edits, x.added)) == nil
}

// hold reads the body and keeps it for later reading; whole is false when it
// is too long, and then it can still be read from its start.
func (r *response) hold() (body []byte, whole bool) {
	body, err := io.ReadAll(io.LimitReader(r, maxHeld+1))
	rest := r.body
	if err == nil && len(body) <= maxHeld {
		rest = nil
		r.Close() // the connection is free
		r.Header.SetContentLength(len(body))
	}
	r.body, r.eof, r.held = bytes.NewReader(body), false, true
	if rest != nil {
		r.body, r.held = io.MultiReader(r.body, rest), false
	}
	return body, rest == nil
}

// overflowWords are how providers say that a prompt is too long, in lower case.
var overflowWords = []string{
	"context_length_exceeded",           // OpenAI's code
	"maximum context length",            // OpenAI, vLLM, Mistral
	"prompt is too long",                // Anthropic
	"exceed context limit",              // Anthropic, of prompt and output together
	"request_too_large",                 // Anthropic's type
	"longer than the maximum model",     // vLLM
	"exceed_context_size",               // llama.cpp's type
	"exceeds the available context",     // llama.cpp
	"longer than the model's context",   // SGLang
	"exceeds the maximum number of tok", // Gemini
	"contextwindowexceeded",             // LiteLLM
	"input is too long",                 // Bedrock
}

func overflows(body []byte) bool {
	text := strings.ToLower(string(body))
	for _, words := range overflowWords {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// retryAfter is how long an upstream asks to be left alone, 0 when it does not
// say.
func retryAfter(h *fasthttp.ResponseHeader) time.Duration {
	v := string(h.Peek(fasthttp.HeaderRetryAfter))
	if v == "" {
		return 0
	}
	if seconds, err := strconv.Atoi(v); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
