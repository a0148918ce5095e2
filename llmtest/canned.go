package llmtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"
)

// Canned is an upstream for speed runs: it gives every request the same answer
// at next to no cost, and records nothing. A body with "stream":true in it,
// written just so, gets a stream whose chunks are flushed one by one, and
// "include_usage":true adds the usage chunk. Two request headers slow it down:
// X-Canned-Delay before the answer, X-Canned-Gap between two chunks of a
// stream; both take Go durations. Safe for concurrent use.
type Canned struct {
	ln     net.Listener
	whole  []byte   // an answer, header and body
	first  []byte   // header and first chunk of a stream
	middle [][]byte // its other chunks of text
	quit   chan struct{}
	served sync.WaitGroup

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
}

const (
	cannedWhole = `{"id":"chatcmpl-canned","object":"chat.completion","created":1790000000,"model":"canned","choices":[{"index":0,"message":` +
		`{"role":"assistant","content":"The write path appends to a log first and answers once two of three nodes hold the entry; recovery replays that ` +
		`log from the last snapshot on. Reads come from any node that has caught up, so that a failed one costs capacity and nothing else.",` +
		`"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":120,"completion_tokens":52,"total_tokens":172,` +
		`"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}},"system_fingerprint":"fp_canned"}`
	cannedChunk = `{"id":"chatcmpl-canned","object":"chat.completion.chunk","created":1790000000,"model":"canned","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
	cannedUsage = `{"id":"chatcmpl-canned","object":"chat.completion.chunk","created":1790000000,"model":"canned","choices":[],` +
		`"usage":{"prompt_tokens":120,"completion_tokens":50,"total_tokens":170}}`
	cannedHead = "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nX-Ratelimit-Remaining-Requests: 4999\r\n%s\r\n\r\n"
)

// StartCanned serves on addr, a free loopback port if that is "", with streams
// of so many chunks of text.
func StartCanned(addr string, chunks int) (*Canned, error) {
	if chunks < 1 {
		return nil, fmt.Errorf("a stream of %d chunks", chunks)
	}
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &Canned{ln: ln, quit: make(chan struct{}), open: make(map[net.Conn]bool)}
	c.whole = fmt.Appendf(nil, cannedHead+cannedWhole, "application/json", "Content-Length: "+strconv.Itoa(len(cannedWhole)))
	c.first = fmt.Appendf(nil, cannedHead, "text/event-stream; charset=utf-8", "Cache-Control: no-cache\r\nTransfer-Encoding: chunked")
	c.first = append(c.first, frame(fmt.Sprintf(cannedChunk, `{"role":"assistant","content":"The"}`, "null"))...)
	for range chunks - 1 {
		c.middle = append(c.middle, frame(fmt.Sprintf(cannedChunk, `{"content":" write path"}`, "null")))
	}
	c.served.Go(c.accept)
	return c, nil
}

// frame is one event of a stream in a chunk of its own.
func frame(data string) []byte {
	event := "data: " + data + "\n\n"
	return fmt.Appendf(nil, "%x\r\n%s\r\n", len(event), event)
}

// URL is the base URL, ending in /v1. Any path below it is answered alike.
func (c *Canned) URL() string { return "http://" + c.ln.Addr().String() + "/v1" }

// Close ends the server and every connection.
func (c *Canned) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.quit)
	err := c.ln.Close()
	for conn := range c.open {
		conn.Close()
	}
	c.mu.Unlock()
	c.served.Wait()
	return err
}

func (c *Canned) accept() {
	for {
		conn, err := c.ln.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.closed {
			conn.Close()
		} else {
			c.open[conn] = true
			c.served.Go(func() { c.serve(conn) })
		}
		c.mu.Unlock()
	}
}

func (c *Canned) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		c.mu.Lock()
		delete(c.open, conn)
		c.mu.Unlock()
	}()
	br := bufio.NewReaderSize(conn, 64<<10)
	var r cannedRequest
	for r.read(br) == nil && c.answer(conn, &r) == nil {
	}
}

func (c *Canned) answer(conn net.Conn, r *cannedRequest) error {
	if err := c.wait(r.delay); err != nil {
		return err
	}
	if !bytes.Contains(r.body, []byte(`"stream":true`)) {
		_, err := conn.Write(c.whole)
		return err
	}
	_, err := conn.Write(c.first)
	for i := 0; i < len(c.middle) && err == nil; i++ {
		if err = c.wait(r.gap); err == nil {
			_, err = conn.Write(c.middle[i])
		}
	}
	if err != nil {
		return err
	}
	last := frame(fmt.Sprintf(cannedChunk, "{}", `"stop"`))
	if bytes.Contains(r.body, []byte(`"include_usage":true`)) {
		last = append(last, frame(cannedUsage)...)
	}
	last = append(last, frame("[DONE]")...)
	_, err = conn.Write(append(last, "0\r\n\r\n"...))
	return err
}

var errCannedClosed = errors.New("closed")

func (c *Canned) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-c.quit:
		return errCannedClosed
	}
}

// cannedRequest is the request that a connection is at; it is used again for
// the next one.
type cannedRequest struct {
	delay, gap time.Duration
	size       int // -1 chunked
	body       []byte
}

func (r *cannedRequest) read(br *bufio.Reader) error {
	r.delay, r.gap, r.size, r.body = 0, 0, 0, r.body[:0]
	if _, err := br.ReadSlice('\n'); err != nil { // the request line
		return err
	}
	for {
		line, err := br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) == 0 {
			return r.readBody(br)
		}
		if err := r.header(line); err != nil {
			return err
		}
	}
}

func (r *cannedRequest) header(line []byte) (err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	is := func(s string) bool { return len(name) == len(s) && bytes.EqualFold(name, []byte(s)) }
	text := func() string { return string(bytes.TrimSpace(value)) }
	switch {
	case is("Content-Length"):
		r.size, err = strconv.Atoi(text())
	case is("Transfer-Encoding"):
		r.size = -1
	case is("X-Canned-Delay"):
		r.delay, err = time.ParseDuration(text())
	case is("X-Canned-Gap"):
		r.gap, err = time.ParseDuration(text())
	}
	return err
}

func (r *cannedRequest) readBody(br *bufio.Reader) error {
	if r.size >= 0 {
		if cap(r.body) < r.size {
			r.body = make([]byte, r.size)
		}
		r.body = r.body[:r.size]
		_, err := io.ReadFull(br, r.body)
		return err
	}
	buf := bytes.NewBuffer(r.body)
	_, err := buf.ReadFrom(httputil.NewChunkedReader(br))
	r.body = buf.Bytes()
	for err == nil { // the trailer, up to its empty line
		var line []byte
		if line, err = br.ReadSlice('\n'); len(bytes.TrimRight(line, "\r\n")) == 0 {
			return err
		}
	}
	return err
}
