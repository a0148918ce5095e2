package proxy

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/internal/secret"
	"github.com/understudy-ai/understudy/ledger"
)

// UpstreamConfig describes one provider endpoint.
type UpstreamConfig struct {
	Name      string
	BaseURL   string      // with the version path, such as https://api.openai.com/v1
	Key       secret.Text // sent as bearer token; "": the client's Authorization goes through
	DropAuth  bool        // the client's Authorization is for us alone and never sent on
	MaxConns  int
	Connect   time.Duration // limit for connecting, TLS included
	FirstByte time.Duration // limit for the first byte of the answer
	Idle      time.Duration // limit between two reads of the answer's body
}

// Why an upstream gave no answer. Each wraps the cause.
var (
	errUnreachable = errors.New("cannot connect")
	errBroken      = errors.New("connection broken")
	errSilent      = errors.New("no answer in time")
	errStalled     = fmt.Errorf("%w for the rest", errSilent)
	errCancelled   = errors.New("client went away")
)

// upstreamError is what a client and the ledger get to know of a request that
// was not answered. It gives away no addresses.
func upstreamError(err error) (outcome string, e *chat.Error) {
	switch {
	case errors.Is(err, errCancelled):
		return ledger.OutcomeClientCancelled, &chat.Error{Status: 499, Code: chat.CodeUpstreamBroken, Message: "The client closed the request."}
	case errors.Is(err, errStalled):
		return ledger.OutcomeTimeout, &chat.Error{
			Status: 504, Code: chat.CodeUpstreamStalled,
			Message: "The upstream fell silent in the middle of its answer; upstreams.*.timeouts.idle bounds the wait.",
		}
	case errors.Is(err, errSilent):
		return ledger.OutcomeTimeout, &chat.Error{
			Status: 504, Code: chat.CodeUpstreamTimeout,
			Message: "The upstream did not answer in time; upstreams.*.timeouts.first_byte bounds the wait.",
		}
	case errors.Is(err, errBroken):
		return ledger.OutcomeUnreachable, &chat.Error{
			Status: 502, Code: chat.CodeUpstreamBroken,
			Message: "The upstream broke the connection before its answer was complete.",
		}
	case errors.Is(err, fasthttp.ErrNoFreeConns):
		return ledger.OutcomeUnreachable, &chat.Error{
			Status: 502, Code: chat.CodeUpstreamUnreachable,
			Message: "All connections to the upstream are in use; upstreams.*.max_conns bounds them.",
		}
	case timedOut(err):
		return ledger.OutcomeUnreachable, &chat.Error{
			Status: 504, Code: chat.CodeConnectTimeout,
			Message: "The upstream took no connection in time; upstreams.*.timeouts.connect bounds the wait.",
		}
	}
	return ledger.OutcomeUnreachable, &chat.Error{
		Status: 502, Code: chat.CodeUpstreamUnreachable,
		Message: "The upstream could not be reached. Is it running, and is upstreams.*.base_url right?",
	}
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, fasthttp.ErrTLSHandshakeTimeout) || ok && timeout.Timeout()
}

// headerBuffer holds one upstream response's headers; larger ones are refused
// by fasthttp with ErrSmallBuffer. LiteLLM's reach 6 KB.
const headerBuffer = 64 << 10

// writeBuffer holds most requests whole, so that one write sends them: a first
// one of 4 KB would wake the upstream for nothing.
const writeBuffer = 64 << 10

// maxIdle is how long an unused connection is kept. Uvicorn, the server of
// LiteLLM and vLLM, closes idle ones after 5 s.
const maxIdle = 4 * time.Second

// upstream is a provider endpoint with its pool of connections. The pool is
// fasthttp's; the exchange on a connection is ours, because only then can it
// be cancelled, be given a rolling deadline, and tell its failures apart.
type upstream struct {
	cfg  UpstreamConfig
	host string // as in the Host header
	path string // the base URL's path, without a trailing slash
	pool *fasthttp.HostClient
}

func newUpstream(cfg UpstreamConfig) (*upstream, error) {
	u, err := url.Parse(cfg.BaseURL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("upstream %q: base_url %q is not an absolute URL", cfg.Name, cfg.BaseURL)
	}
	secure := u.Scheme == "https"
	dialer := &net.Dialer{Timeout: cfg.Connect}
	return &upstream{
		cfg: cfg, host: u.Host, path: strings.TrimRight(u.EscapedPath(), "/"),
		pool: &fasthttp.HostClient{
			Addr:                fasthttp.AddMissingPort(u.Host, secure),
			Dial:                func(addr string) (net.Conn, error) { return dial(dialer, addr) },
			IsTLS:               secure,
			TLSConfig:           &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()},
			MaxConns:            cfg.MaxConns,
			MaxConnWaitTimeout:  cfg.Connect,
			MaxIdleConnDuration: maxIdle,
			ReadBufferSize:      headerBuffer,
			WriteBufferSize:     writeBuffer,
			WriteTimeout:        cfg.Connect, // of connecting, TLS handshake included: writing has deadlines of ours
		},
	}, nil
}

func dial(d *net.Dialer, addr string) (net.Conn, error) {
	conn, err := d.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return quick(conn), nil
}

func (u *upstream) close() { u.pool.CloseIdleConnections() }

// address points req at a path below the base URL and sets the credentials.
func (u *upstream) address(req *fasthttp.Request, suffix string) {
	req.Header.SetRequestURI(u.path + suffix)
	req.Header.SetHost(u.host)
	if u.cfg.DropAuth {
		req.Header.Del(fasthttp.HeaderAuthorization)
	}
	if u.cfg.Key != "" {
		req.Header.Set(fasthttp.HeaderAuthorization, "Bearer "+string(u.cfg.Key))
	}
}

// response is an upstream's answer: its header, and its body still to be read.
// Close must be called; it gives the connection back if the body was read to
// its end, and closes it otherwise.
type response struct {
	Header fasthttp.ResponseHeader
	body   io.Reader
	br     *bufio.Reader // of conn
	conn   net.Conn
	first  time.Duration // limit for the first byte of the body
	idle   time.Duration // limit for each further one
	some   bool          // the first byte is in
	until  time.Time     // the read deadline in force
	eof    bool
	held   bool // the body has been read and is in memory; conn is no longer ours
	free   func(reuse bool)
}

// Size is the body's length as announced, -1 when unknown.
func (r *response) Size() int { return max(-1, r.Header.ContentLength()) }

func (r *response) Read(p []byte) (int, error) {
	if r.eof {
		return 0, io.EOF
	}
	if r.held {
		return r.body.Read(p)
	}
	if err := r.extend(); err != nil {
		return 0, fmt.Errorf("%w: %w", errBroken, err)
	}
	n, err := r.body.Read(p)
	r.some = r.some || n > 0
	switch {
	case err == io.EOF:
		r.eof = true
	case errors.Is(err, os.ErrDeadlineExceeded) && !r.some:
		err = fmt.Errorf("%w: a head, and nothing for %v", errSilent, r.first)
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = fmt.Errorf("%w: nothing for %v in the middle of the answer", errStalled, r.idle)
	case err != nil:
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return n, err
}

// extend moves the read deadline on: at least idle from now, and an eighth
// more so that it need not be moved for every chunk of a quick stream.
func (r *response) extend() error {
	now, limit := time.Now(), r.idle
	if !r.some { // many send their headers at once and think afterwards
		limit = r.first
	}
	if r.some && r.until.Sub(now) >= limit && r.until.Sub(now) <= 2*limit {
		return nil
	}
	r.until = now.Add(limit + limit/8)
	return r.conn.SetReadDeadline(r.until)
}

// begun reports whether bytes of the body are here already.
func (r *response) begun() bool { return r.held || r.br.Buffered() > 0 }

func (r *response) Close() error {
	if r.free != nil {
		r.free(r.eof)
		r.free = nil
	}
	return nil
}

// do sends req and returns once the answer's header is in. A request that a
// reused connection lost before any byte of an answer is sent once more on
// another, unless its body was a stream: that can't be read twice.
func (u *upstream) do(req *fasthttp.Request, c *canceller) (*response, error) {
	once := req.IsBodyStream() // before it is sent: then it is no more
	for {
		resp, reused, err := u.attempt(req, c)
		if err == nil || once || !reused || !errors.Is(err, errStale) {
			return resp, err
		}
	}
}

// errStale marks a connection that was closed before any byte of the answer.
var errStale = errors.New("closed before the answer")

func (u *upstream) attempt(req *fasthttp.Request, c *canceller) (_ *response, reused bool, err error) {
	cc, err := u.pool.AcquireConn(0, false)
	for err == nil && !cc.LastUseTime().IsZero() && readable(cc.Conn()) { // closed meanwhile, or bytes nobody asked for
		u.pool.CloseConn(cc)
		cc, err = u.pool.AcquireConn(0, false)
	}
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	conn := cc.Conn()
	reused = !cc.LastUseTime().IsZero()
	if !c.attach(conn) {
		u.pool.CloseConn(cc)
		return nil, reused, errCancelled
	}
	br := u.pool.AcquireReader(conn)
	free := func(reuse bool) {
		reuse = c.detach() && reuse && br.Buffered() == 0
		u.pool.ReleaseReader(br)
		if reuse {
			u.pool.ReleaseConn(cc)
			return
		}
		u.pool.CloseConn(cc)
	}
	resp := &response{conn: conn, br: br, first: u.cfg.FirstByte, idle: u.cfg.Idle, free: free}
	resp.Header.SetNoDefaultContentType(true)
	if err := u.exchange(req, resp, br); err != nil {
		free(false)
		if c.cancelled() {
			err = errCancelled
		}
		return nil, reused, err
	}
	if resp.Header.ConnectionClose() || req.Header.ConnectionClose() {
		resp.free = func(bool) { free(false) }
	}
	return resp, reused, nil
}

// exchange writes the request and reads the answer's header.
func (u *upstream) exchange(req *fasthttp.Request, resp *response, br *bufio.Reader) error {
	deadline := time.Now().Add(u.cfg.FirstByte)
	if err := resp.conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	if err := u.write(req, resp.conn); err != nil {
		if _, ours := errors.AsType[*chat.Error](err); ours {
			return err // of reading the client's body
		}
		if br.Buffered() == 0 && !readable(resp.conn) {
			// An upstream may answer (413, 401) and close without reading the whole
			// request; then its answer is worth more than our write error.
			return fmt.Errorf("%w: %w: sending: %w", errBroken, errStale, err)
		}
	}
	for {
		err := resp.Header.Read(br)
		switch {
		case errors.Is(err, fasthttp.ErrTimeout) || errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%w: nothing for %v", errSilent, u.cfg.FirstByte)
		case err == io.EOF:
			return fmt.Errorf("%w: %w", errBroken, errStale)
		case err != nil:
			return fmt.Errorf("%w: reading the answer's header: %w", errBroken, err)
		}
		if code := resp.Header.StatusCode(); code >= 200 || code == 101 {
			break
		}
		resp.Header.Reset() // 100 and 103 come before the real one
	}
	resp.body, resp.eof = bodyReader(req, &resp.Header, br)
	return nil
}

// write sends the request. A body that is a stream takes as long as its source
// does, so that each write of it has its own deadline, and the wait for the
// answer begins after the last one.
func (u *upstream) write(req *fasthttp.Request, conn net.Conn) error {
	streamed := req.IsBodyStream()
	to := conn
	if streamed {
		to = rolling{conn, u.cfg.FirstByte}
	}
	bw := u.pool.AcquireWriter(to)
	defer u.pool.ReleaseWriter(bw)
	err := errors.Join(req.Write(bw), bw.Flush())
	if streamed {
		err = errors.Join(err, conn.SetReadDeadline(time.Now().Add(u.cfg.FirstByte)))
	}
	return err
}

// rolling is a connection on which each write may take limit.
type rolling struct {
	net.Conn
	limit time.Duration
}

func (r rolling) Write(p []byte) (int, error) {
	if err := r.SetWriteDeadline(time.Now().Add(r.limit)); err != nil {
		return 0, err
	}
	return r.Conn.Write(p)
}

// bodyReader frames the body as RFC 9112 §6.3 says.
func bodyReader(req *fasthttp.Request, h *fasthttp.ResponseHeader, br *bufio.Reader) (body io.Reader, empty bool) {
	code, size := h.StatusCode(), h.ContentLength()
	switch {
	case req.Header.IsHead(), code == 204, code == 304, size == 0:
		return nil, true
	case size > 0:
		return &sized{br: br, left: size}, false
	case size == -1:
		return &chunked{br: br}, false
	}
	h.SetConnectionClose()
	return br, false
}
