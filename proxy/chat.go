package proxy

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
)

// chat serves a chat completion.
func (s *Server) chat(c *fiber.Ctx) error {
	ctx := c.Context()
	x, err := s.begin(&ctx.Request.Header)
	defer func() { x.describe(&ctx.Response.Header) }()
	if err != nil {
		return x.reject(err)
	}
	if x.body, err = readBody(ctx, s.buffers.get(), s.cfg.Limits.BodyBytes); err != nil {
		return x.reject(err)
	}
	if x.view, err = chat.Parse(x.body); err != nil {
		return x.reject(err)
	}
	x.who.adopt(x.view)
	began := time.Now() // the client's upload is not our doing
	out, err := x.plan()
	if err != nil {
		return x.reject(err)
	}
	x.entry.Overhead = time.Since(began)
	x.entry.Streamed = x.view.Stream
	if err := ctx.Conn().SetReadDeadline(time.Time{}); err != nil {
		return x.reject(err)
	}
	x.stop = s.watches.soon(ctx.Conn(), x.cancel.cancel)
	resp, err := x.dispatch(ctx, out)
	x.release(out)
	if err != nil {
		return x.abandon(err)
	}
	if isEventStream(&resp.Header) || x.entry.Streamed && !isJSON(&resp.Header) {
		x.stream(ctx, resp, out.hideUsage)
		return nil
	}
	return x.whole(ctx, resp)
}

// release gives the request's bytes back once no other model can be asked.
func (x *exchange) release(out *outbound) {
	if len(out.body) > 0 && len(x.body) > 0 && &out.body[0] != &x.body[0] {
		x.s.buffers.put(out.body)
	}
	x.s.buffers.put(x.body)
	x.body, x.view.Raw, out.body = nil, nil, nil
}

// reject ends a request that never went upstream. One that nobody is known to
// have sent leaves no row: strangers must not fill the ledger.
func (x *exchange) reject(err error) error {
	if x.who.tenant == "" {
		x.s.cfg.Metrics.Requests.WithLabelValues("chat", "", "", ledger.OutcomeRejected).Inc()
		return err
	}
	x.finish(ledger.OutcomeRejected, chat.AsError(err).Status, nil)
	return err
}

// abandon ends a request that the upstream did not answer.
func (x *exchange) abandon(err error) error {
	x.stop()
	outcome, e := upstreamError(err)
	status := e.Status
	if outcome == ledger.OutcomeClientCancelled {
		status = 0 // nobody is there to get one
	} else {
		x.s.cfg.Logger.Warn("upstream failed", "id", x.id, "error", err)
	}
	x.finish(outcome, status, nil)
	return e
}

// send writes the request upstream.
func (s *Server) send(ctx *fasthttp.RequestCtx, x *exchange, out *outbound) (*response, error) {
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	forwardHeaders(&ctx.Request.Header, &req.Header)
	// The answer's usage has to be readable, and a stream must not wait for a
	// compressor's buffer.
	req.Header.Del(fasthttp.HeaderAcceptEncoding)
	req.Header.Del(fasthttp.HeaderContentEncoding) // readBody decoded it
	out.upstream.address(req, "/chat/completions"+queryString(ctx))
	req.SetBodyRaw(out.body)
	end := x.trace.attempt(x, &req.Header)
	x.sent = time.Now()
	resp, err := out.upstream.do(req, &x.cancel)
	end(resp, err)
	return resp, err
}

// queryString is the request's query string with its question mark.
func queryString(ctx *fasthttp.RequestCtx) string {
	if q := ctx.URI().QueryString(); len(q) > 0 {
		return "?" + string(q)
	}
	return ""
}

// stream hands the answer's body to the relay and returns: fasthttp reads it
// after the handler.
func (x *exchange) stream(ctx *fasthttp.RequestCtx, resp *response, hide bool) {
	copyHeaders(&resp.Header, &ctx.Response.Header)
	ctx.Response.ImmediateHeaderFlush = !resp.begun()
	ctx.Response.SetBodyStream(&relay{x: x, resp: resp, status: resp.Header.StatusCode(), hide: hide}, -1)
}

// whole reads an answer that is not streamed and sends it with what it cost.
func (x *exchange) whole(ctx *fasthttp.RequestCtx, resp *response) error {
	defer x.stop()
	status := resp.Header.StatusCode()
	body, err := readAnswer(resp)
	x.stop()
	x.stop = func() {}
	resp.Close()
	if err != nil {
		if x.cancel.cancelled() {
			err = errCancelled
		}
		return x.abandon(err)
	}
	x.entry.FirstByte = time.Since(x.start)
	x.answer.Body(body)
	outcome := x.wholeOutcome(status)
	x.entry.Outcome = outcome
	x.price(reportedCost(&resp.Header))
	copyHeaders(&resp.Header, &ctx.Response.Header)
	ctx.Response.SetBodyRaw(body)
	if e := &x.entry; e.Priced {
		ctx.Response.Header.Set(headerCost, usd(*e.Cost))
		ctx.Response.Header.Set(headerSaved, usd(*e.Baseline-*e.Cost))
	}
	x.finish(outcome, status, nil)
	return nil
}

func (x *exchange) wholeOutcome(status int) string {
	switch {
	case status >= 400 || x.answer.Failed:
		return ledger.OutcomeUpstreamError
	case x.who.bypass:
		return ledger.OutcomeBypass
	}
	return ledger.OutcomeOK
}

func usd(v float64) string { return strconv.FormatFloat(v, 'f', 9, 64) }

// reportedCost is what the upstream says the answer cost, nil when it does not
// or it can't be.
func reportedCost(h *fasthttp.ResponseHeader) *float64 {
	text := h.Peek("X-Litellm-Response-Cost")
	if len(text) == 0 {
		return nil // most of the time; an error costs more than the header
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return nil
	}
	return ledger.Plausible(&v)
}

// maxAnswer bounds an answer that is read whole.
const maxAnswer = 64 << 20

var errTooLong = fmt.Errorf("%w: answer larger than %d bytes", errBroken, maxAnswer)

func readAnswer(resp *response) ([]byte, error) {
	n := resp.Size()
	if n > maxAnswer {
		return nil, errTooLong
	}
	if n >= 0 {
		body := make([]byte, n)
		_, err := io.ReadFull(resp, body)
		return body, err
	}
	body, err := io.ReadAll(io.LimitReader(resp, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = errTooLong
	}
	return body, err
}

// readBody reads the request's body into dst, decoding gzip. Both sizes are
// bounded.
func readBody(ctx *fasthttp.RequestCtx, dst []byte, limit int) ([]byte, error) {
	tooLarge := &chat.Error{Status: 413, Code: chat.CodeBodyTooLarge, Message: fmt.Sprintf("The request body is larger than %d bytes (limits.body_bytes).", limit)}
	size := ctx.Request.Header.ContentLength()
	wire := requestBody(ctx)
	if size > limit {
		return nil, refuse(ctx, wire, limit, tooLarge)
	}
	src, err := decoded(ctx, wire)
	if err != nil {
		return nil, err
	}
	if src != wire {
		size = 0
	}
	// A claimed size is believed only so far: claims cost nothing.
	buf := bytes.NewBuffer(slices.Grow(dst, min(max(size, 0), 1<<20)+bytes.MinRead))
	if _, err := buf.ReadFrom(io.LimitReader(src, int64(limit)+1)); err != nil {
		return nil, errUnread()
	}
	if buf.Len() > limit {
		return nil, refuse(ctx, wire, limit, tooLarge)
	}
	return buf.Bytes(), nil
}

// errUnread is of a body that broke off, or whose framing is wrong.
func errUnread() *chat.Error {
	return &chat.Error{Status: 400, Code: chat.CodeInvalidJSON, Message: "The request body could not be read to its end."}
}

// decoded reads what is on the wire as the request's Content-Encoding says.
func decoded(ctx *fasthttp.RequestCtx, wire io.Reader) (io.Reader, error) {
	switch enc := string(ctx.Request.Header.ContentEncoding()); enc {
	case "", "identity":
		return wire, nil
	case "gzip":
		zr, err := gzip.NewReader(wire)
		if err != nil {
			return nil, &chat.Error{Status: 400, Code: chat.CodeUnsupportedEncoding, Param: "Content-Encoding", Message: "The request body is not gzip, although Content-Encoding says so."}
		}
		return zr, nil
	default:
		return nil, &chat.Error{Status: 415, Code: chat.CodeUnsupportedEncoding, Param: "Content-Encoding", Message: "Content-Encoding takes gzip or identity."}
	}
}

// refuse takes some of a body that is too large, since many clients read an
// answer only once they have sent it all, and gives the connection up.
func refuse(ctx *fasthttp.RequestCtx, wire io.Reader, most int, err error) error {
	ctx.Response.SetConnectionClose()
	_, _ = io.CopyN(io.Discard, wire, int64(most)) // the client may have left: it is refused either way
	return err
}

// requestBody is the body as it comes over the wire, with a limit on silence.
func requestBody(ctx *fasthttp.RequestCtx) io.Reader {
	if stream := ctx.RequestBodyStream(); stream != nil {
		return &upload{src: stream, conn: ctx.Conn()}
	}
	return bytes.NewReader(ctx.Request.Body())
}

// upload reads a request body; each read may take clientSilence. Whoever reads
// it to its end lifts the limit from the connection.
type upload struct {
	src  io.Reader
	conn net.Conn
}

func (u *upload) Read(p []byte) (int, error) {
	if err := u.conn.SetReadDeadline(time.Now().Add(clientSilence)); err != nil {
		return 0, err
	}
	return u.src.Read(p)
}
