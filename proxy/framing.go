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

// chunked reads a chunked body and hands on whatever has arrived, also in the
// middle of a chunk: the standard library's reader waits for the whole chunk
// or a full buffer, which would hold back a stream's first bytes.
type chunked struct {
	br    *bufio.Reader
	left  int64 // bytes left of the current chunk
	begun bool  // a chunk was read, so its line end stands before the next size
	done  bool
}

var errChunk = errors.New("malformed chunk")

func (c *chunked) Read(p []byte) (int, error) {
	if c.left == 0 && !c.done {
		if err := c.nextChunk(); err != nil {
			return 0, err
		}
	}
	if c.done {
		return 0, io.EOF
	}
	n, err := c.br.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// nextChunk reads up to the data of the next chunk, or past the last one and
// its trailer.
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
	if c.left > 0 {
		return nil
	}
	for { // the trailer
		field, err := c.line()
		if err != nil {
			return err
		}
		if len(field) == 0 {
			c.done = true
			return nil
		}
	}
}

// line reads a line and drops its end.
func (c *chunked) line() ([]byte, error) {
	b, err := c.br.ReadSlice('\n')
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return bytes.TrimRight(b, "\r\n"), err
}
