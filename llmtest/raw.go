package llmtest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Raw is an upstream below HTTP: it keeps the exact bytes of what arrives and
// answers with exact bytes, in the pieces and at the times that a [Script]
// gives, so that what a server library would never do can be done. It answers
// on any path. Safe for concurrent use.
type Raw struct {
	ln     net.Listener
	answer func(RawRequest) Script
	gone   chan time.Time
	served sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	open     map[net.Conn]bool
	conns    int
	requests []RawRequest
}

// RawRequest is one request as its bytes came.
type RawRequest struct {
	Number int    // 1 for the first that the Raw received
	Conn   int    // the connection it came on, 1 for the first
	Head   []byte // request line and header lines, up to and with the empty one
	Body   []byte // as it was framed
	Data   []byte // the body without the framing of chunks
}

// Header returns the value of the first header line with this name, in any
// case, and whether there is one.
func (r RawRequest) Header(name string) (value string, ok bool) {
	for line := range strings.Lines(string(r.Head)) {
		key, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(key, name) {
			return strings.TrimSpace(value), true
		}
	}
	return "", false
}

// Script is the answer to one request.
type Script struct {
	Pieces []Piece
	End    End
}

// Piece is written to the connection at once, after a time and a signal.
type Piece struct {
	After time.Duration   // before it is sent
	When  <-chan struct{} // not before this is closed or gives a value; nil: no wait
	Bytes []byte
}

// End is what becomes of the connection after the last piece.
type End int

// The ends of an answer.
const (
	KeepOpen  End = iota // the answer is complete; another request may come
	CloseConn            // an orderly close
	ResetConn            // the client gets "connection reset by peer"
	Hang                 // the answer stays incomplete until the client leaves
)

// StartRaw listens on a free loopback port. answer is called once for each
// request, from several goroutines, when all of its bytes are in.
func StartRaw(answer func(RawRequest) Script) (*Raw, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	const kept = 10_000 // departures that nobody asked for
	r := &Raw{ln: ln, answer: answer, gone: make(chan time.Time, kept), open: make(map[net.Conn]bool)}
	r.served.Go(r.accept)
	return r, nil
}

// URL is the base URL, ending in /v1.
func (r *Raw) URL() string { return "http://" + r.ln.Addr().String() + "/v1" }

// Requests returns what has arrived, oldest first.
func (r *Raw) Requests() []RawRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]RawRequest(nil), r.requests...)
}

// Conns is how many connections were accepted so far.
func (r *Raw) Conns() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns
}

// Gone gives the time at which a client closed its connection while its
// answer was not complete, for each time that happens.
func (r *Raw) Gone() <-chan time.Time { return r.gone }

// Close closes the listener and every connection, and waits for what was
// running. Scripts that wait for a signal are ended. A second Close does
// nothing.
func (r *Raw) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed = true
	for conn := range r.open {
		_ = conn.Close() // its reader notices
	}
	r.mu.Unlock()
	err := r.ln.Close()
	r.served.Wait()
	return err
}

func (r *Raw) accept() {
	for {
		conn, err := r.ln.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.conns++
		number := r.conns
		r.open[conn] = true
		if r.closed {
			_ = conn.Close() // it came in while Close ran
		}
		r.mu.Unlock()
		r.served.Go(func() { r.serve(conn, number) })
	}
}

// serve answers the requests of one connection. Another goroutine reads it
// all the time, because that shows when the client leaves.
func (r *Raw) serve(conn net.Conn, number int) {
	requests, left, done := make(chan RawRequest), make(chan struct{}), make(chan struct{})
	r.served.Go(func() {
		defer close(left)
		br := bufio.NewReader(conn)
		for {
			req, err := readRaw(br)
			if err != nil {
				return
			}
			req.Conn = number
			select {
			case requests <- req:
			case <-done:
				return
			}
		}
	})
	defer r.drop(conn)
	defer close(done)
	for {
		select {
		case <-left:
			return
		case req := <-requests:
			if !r.play(conn, r.answer(r.keep(req)), left) {
				return
			}
		}
	}
}

func (r *Raw) drop(conn net.Conn) {
	_ = conn.Close() // nothing to be done about it
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, conn)
}

func (r *Raw) keep(req RawRequest) RawRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	req.Number = len(r.requests) + 1
	r.requests = append(r.requests, req)
	return req
}

// play sends an answer and reports whether the connection is still of use.
func (r *Raw) play(conn net.Conn, s Script, left <-chan struct{}) bool {
	for _, p := range s.Pieces {
		if !wait(p, left) {
			r.noteGone()
			return false
		}
		if _, err := conn.Write(p.Bytes); err != nil {
			<-left // the reader fails too
			r.noteGone()
			return false
		}
	}
	switch s.End {
	case KeepOpen:
		return true
	case Hang:
		<-left
		r.noteGone()
	case ResetConn:
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // fails only when the connection is gone already
		}
	}
	return false
}

// wait holds a piece back until it is due; false when the client left first.
func wait(p Piece, left <-chan struct{}) bool {
	due := time.After(p.After)
	select {
	case <-left:
		return false
	case <-due:
	}
	if p.When == nil {
		return true
	}
	select {
	case <-left:
		return false
	case <-p.When:
		return true
	}
}

// noteGone tells of a departure, unless it was Close that closed.
func (r *Raw) noteGone() {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	select {
	case r.gone <- now:
	default: // full: nobody listens
	}
}

// readRaw reads one request and keeps all of its bytes.
func readRaw(br *bufio.Reader) (RawRequest, error) {
	var req RawRequest
	for !bytes.HasSuffix(req.Head, []byte("\r\n\r\n")) {
		line, err := br.ReadBytes('\n')
		req.Head = append(req.Head, line...)
		if err != nil {
			return req, err
		}
	}
	if _, chunked := req.Header("Transfer-Encoding"); chunked {
		return req, req.readChunks(br)
	}
	size, ok := req.Header("Content-Length")
	if !ok {
		return req, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil {
		return req, err
	}
	req.Body = make([]byte, n)
	_, err = io.ReadFull(br, req.Body)
	req.Data = req.Body
	return req, err
}

// readChunks reads a chunked body to the end of its trailer.
func (r *RawRequest) readChunks(br *bufio.Reader) error {
	for {
		line, err := br.ReadBytes('\n')
		r.Body = append(r.Body, line...)
		if err != nil {
			return err
		}
		digits, _, _ := strings.Cut(strings.TrimSpace(string(line)), ";")
		size, err := strconv.ParseUint(digits, 16, 31)
		if err != nil {
			return err
		}
		if size == 0 {
			return r.readTrailer(br)
		}
		chunk := make([]byte, size+2) // with its line end
		if _, err := io.ReadFull(br, chunk); err != nil {
			return err
		}
		r.Body = append(r.Body, chunk...)
		r.Data = append(r.Data, chunk[:size]...)
	}
}

func (r *RawRequest) readTrailer(br *bufio.Reader) error {
	for {
		line, err := br.ReadBytes('\n')
		r.Body = append(r.Body, line...)
		if err != nil || len(bytes.TrimSpace(line)) == 0 {
			return err
		}
	}
}
