package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// sized reads a body of known length; one that ends early is
// io.ErrUnexpectedEOF.
type sized struct {
	br   *bufio.Reader
	left int
}

func (s *sized) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.br.Read(p[:min(len(p), s.left)])
	s.left -= n
	switch {
	case err == io.EOF && s.left > 0:
		err = io.ErrUnexpectedEOF
	case err == nil && s.left == 0:
		err = io.EOF
	}
	return n, err
}

// chunked reads a chunked body and hands on whatever has arrived, be it several
// chunks or part of one: the standard library's reader waits for the whole
// chunk or a full buffer, which would hold back a stream's first bytes.
type chunked struct {
	br    *bufio.Reader
	left  int64 // bytes left of the current chunk
	begun bool  // a chunk was read, so its line end stands before the next size
	last  bool  // the last size was 0, the trailer follows
	done  bool  // so was the trailer
}

var errChunk = errors.New("malformed chunk")

func (c *chunked) Read(p []byte) (n int, err error) {
	for {
		if c.left == 0 && !c.last {
			if n > 0 && !c.sizeBuffered() {
				return n, nil
			}
			if err := c.nextChunk(); err != nil {
				return n, err
			}
		}
		if c.last {
			if n > 0 || len(p) == 0 {
				return n, nil
			}
			return 0, c.end()
		}
		m, err := c.br.Read(p[n:min(int64(len(p)), int64(n)+c.left)])
		n += m
		c.left -= int64(m)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil || n == len(p) || c.br.Buffered() == 0 {
			return n, err
		}
	}
}

// sizeBuffered reports whether the next chunk's size can be read without
// waiting: the end of this chunk's data, and one more line.
func (c *chunked) sizeBuffered() bool {
	ahead, _ := c.br.Peek(min(c.br.Buffered(), 64))
	return bytes.Count(ahead, []byte("\n")) >= 2
}

// nextChunk reads up to the data of the next chunk, or past the last size.
func (c *chunked) nextChunk() error {
	if c.begun {
		if end, err := c.line(); err != nil || len(end) > 0 {
			return errors.Join(errChunk, err)
		}
	}
	c.begun = true
	head, err := c.line()
	if err != nil {
		return err
	}
	size, _, _ := bytes.Cut(head, []byte(";")) // the rest is an extension
	c.left, err = strconv.ParseInt(string(bytes.TrimSpace(size)), 16, 63)
	if err != nil || c.left < 0 {
		return fmt.Errorf("%w: size %q", errChunk, size[:min(len(size), 20)])
	}
	c.last = c.left == 0
	return nil
}

// end reads the trailer and returns io.EOF.
func (c *chunked) end() error {
	for !c.done {
		field, err := c.line()
		if err != nil {
			return err
		}
		c.done = len(field) == 0
	}
	return io.EOF
}

// line reads a line and drops its end.
func (c *chunked) line() ([]byte, error) {
	b, err := c.br.ReadSlice('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return bytes.TrimRight(b, "\r\n"), err
}
