package bench

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// target is where requests go.
type target struct {
	name string
	addr string
	head string // request line, Host, and what only this target gets
	pid  int
}

func newTarget(p Peer, extraHead string) (*target, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return nil, fmt.Errorf("target %q: %w", p.Name, err)
	}
	path := strings.TrimRight(u.EscapedPath(), "/") + "/chat/completions"
	return &target{
		name: p.Name, addr: u.Host, pid: p.PID,
		head: "POST " + path + " HTTP/1.1\r\nHost: " + u.Host + "\r\n" + extraHead,
	}, nil
}

// limit ends a request that hangs.
const limit = 30 * time.Second

// client is one keep-alive connection to a target that does as little as HTTP
// allows, so that what is measured is the other side. Not for concurrent use.
type client struct {
	target *target
	conn   net.Conn // nil: to be dialled
	br     *bufio.Reader
	size   int  // of the body that is being read, -1 chunked
	ends   bool // the connection does not outlive the answer
}

func newClient(t *target) *client { return &client{target: t, br: bufio.NewReaderSize(nil, 64<<10)} }

// do sends a message, from its second header on, and reads the answer to its
// end.
func (c *client) do(message []byte) (timing, error) {
	began, first, err := c.ask(message)
	if err == nil {
		err = c.finish()
	}
	total := time.Since(began)
	if err != nil || c.ends {
		c.close()
	}
	if err != nil {
		return timing{}, err
	}
	return timing{first: first, total: total}, nil
}

// abandon sends a message and leaves after the first byte of the answer.
func (c *client) abandon(message []byte) error {
	defer c.close()
	_, _, err := c.ask(message)
	return err
}

// ask sends a message and reads the answer's header and the first byte. Making
// a connection is not part of the time.
func (c *client) ask(message []byte) (began time.Time, first time.Duration, err error) {
	if c.conn == nil {
		if c.conn, err = net.DialTimeout("tcp", c.target.addr, limit); err != nil {
			return began, 0, err
		}
		c.br.Reset(c.conn)
	}
	began = time.Now()
	if err := c.conn.SetDeadline(began.Add(limit)); err != nil {
		return began, 0, err
	}
	parts := net.Buffers{[]byte(c.target.head), message}
	if _, err := parts.WriteTo(c.conn); err != nil {
		return began, 0, err
	}
	status, err := c.header()
	if err != nil {
		return began, 0, err
	}
	_, err = c.br.Peek(1)
	first = time.Since(began)
	if err == nil && status != 200 {
		text, _ := c.br.Peek(min(c.br.Buffered(), 300)) // what is there
		err = fmt.Errorf("HTTP %d: %s", status, text)
	}
	return began, first, err
}

var errAnswer = errors.New("malformed answer")

// header reads the answer's header and notes how its body is framed.
func (c *client) header() (status int, err error) {
	line, err := c.br.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return 0, fmt.Errorf("%w: %q", errAnswer, line)
	}
	if status, err = strconv.Atoi(string(fields[1])); err != nil {
		return 0, fmt.Errorf("%w: %q", errAnswer, line)
	}
	framed := false
	for c.ends = false; ; {
		if line, err = c.br.ReadSlice('\n'); err != nil {
			return 0, err
		}
		name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		if !ok {
			break
		}
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			framed = true
			if c.size, err = strconv.Atoi(string(value)); err != nil || c.size <= 0 {
				return 0, fmt.Errorf("%w: an empty body", errAnswer)
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			framed, c.size = true, -1
		case bytes.EqualFold(name, []byte("connection")):
			c.ends = bytes.EqualFold(value, []byte("close"))
		}
	}
	if !framed {
		return 0, fmt.Errorf("%w: neither Content-Length nor Transfer-Encoding", errAnswer)
	}
	return status, nil
}

// finish reads the body to its end.
func (c *client) finish() error {
	if c.size >= 0 {
		_, err := c.br.Discard(c.size)
		return err
	}
	for {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return fmt.Errorf("%w: chunk size %q", errAnswer, line)
		}
		if _, err := c.br.Discard(int(size) + 2); err != nil {
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

func (c *client) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
