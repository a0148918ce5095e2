package proxy

import (
	"errors"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
)

// passThrough forwards everything that is not a chat completion to the default
// upstream: any method, any size, both bodies streamed and untouched.
func (s *Server) passThrough(c *fiber.Ctx) error {
	p := &passage{s: s, client: c.Context().Conn(), stop: func() {}}
	resp, err := p.send(c)
	if err != nil {
		p.stop()
		return p.abandon(err)
	}
	out := &c.Context().Response
	copyHeaders(&resp.Header, &out.Header)
	out.ImmediateHeaderFlush = true
	p.resp = resp
	out.SetBodyStream(p, resp.Size())
	return nil
}

func (p *passage) abandon(err error) error {
	if ours, ok := errors.AsType[*chat.Error](err); ok {
		p.count(ledger.OutcomeRejected)
		return ours
	}
	outcome, e := upstreamError(err)
	p.count(outcome)
	return e
}

// suffix is the request's path below the version, undecoded. A path that
// climbs out of the base URL is refused.
func suffix(path string) (string, error) {
	_, rest, _ := strings.Cut(path, "/v1")
	decoded, err := url.PathUnescape(rest)
	if err != nil || slices.Contains(strings.FieldsFunc(decoded, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return "", &chat.Error{Status: 400, Code: chat.CodeNotFound, Message: "The path must be well-formed and must not contain \"..\"."}
	}
	return rest, nil
}

// otherMethod stands for every method that fiber does not know, because its
// router needs a fixed list.
const otherMethod = "OTHER"

// anyMethod lets requests of any method through to the router.
func anyMethod(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		if method := string(ctx.Method()); !slices.Contains(fiber.DefaultMethods, method) {
			ctx.SetUserValue(otherMethod, method)
			ctx.Request.Header.SetMethod(otherMethod)
		}
		next(ctx)
	}
}

// passage is one request that is passed through. It is the body of its own
// answer.
type passage struct {
	s      *Server
	client net.Conn
	cancel canceller
	stop   func()
	resp   *response
	failed bool
	done   bool
}

func (p *passage) send(c *fiber.Ctx) (*response, error) {
	ctx := c.Context()
	if _, err := p.s.cfg.Auth.caller(&ctx.Request.Header); err != nil {
		return nil, err
	}
	path, err := suffix(string(ctx.Request.URI().PathOriginal()))
	if err != nil {
		return nil, err
	}
	u := p.s.upstreams[p.s.cfg.Default]
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	forwardHeaders(&ctx.Request.Header, &req.Header)
	if method, ok := ctx.UserValue(otherMethod).(string); ok {
		req.Header.SetMethod(method)
	}
	u.address(req, path+queryString(ctx))
	size := ctx.Request.Header.ContentLength()
	if ctx.RequestBodyStream() != nil && size != 0 {
		req.SetBodyStream(&watchedBody{src: requestBody(ctx), left: size, end: p.watch}, size)
	} else {
		p.watch()
	}
	return u.do(req, &p.cancel)
}

// watch begins once nobody reads from the client's connection any more.
func (p *passage) watch() {
	if p.client.SetReadDeadline(time.Time{}) == nil {
		p.stop = p.s.watches.soon(p.client, p.cancel.cancel)
	}
}

func (p *passage) Read(b []byte) (int, error) {
	n, err := p.resp.Read(b)
	p.failed = err != nil && err != io.EOF
	return n, err
}

func (p *passage) Close() error {
	if p.done {
		return nil
	}
	p.done = true
	p.s.cfg.Metrics.InFlight.Dec()
	p.stop()
	outcome := ledger.OutcomeOK
	switch {
	case p.resp.Header.StatusCode() >= 400:
		outcome = ledger.OutcomeUpstreamError
	case p.resp.eof:
	case p.failed && !p.cancel.cancelled():
		outcome = ledger.OutcomeStreamIncomplete
	default:
		outcome = ledger.OutcomeClientCancelled
	}
	p.count(outcome)
	return p.resp.Close()
}

func (p *passage) count(outcome string) {
	p.s.cfg.Metrics.Requests.WithLabelValues("passthrough", "", "", outcome).Inc()
}

// watchedBody is a request body that calls end when it has been read. One that
// can't be read to its end gives a *chat.Error.
type watchedBody struct {
	src  io.Reader
	left int // bytes to come, negative when unknown
	end  func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	b.left -= n
	if err != nil && (err != io.EOF || b.left > 0) {
		return n, errUnread()
	}
	if b.end != nil && (err == io.EOF || b.left == 0) {
		b.end()
		b.end = nil
	}
	return n, err
}
