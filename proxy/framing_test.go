package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/valyala/fasthttp"
)

func TestChunked(t *testing.T) {
	tests := []struct {
		name, wire string
		want       string
		rest       string // left for the next answer
		err        error
	}{
		{name: "one", wire: "5\r\nhello\r\n0\r\n\r\nHTTP", want: "hello", rest: "HTTP"},
		{name: "several", wire: "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", want: "abc"},
		{name: "upper and lower hex", wire: "A\r\n0123456789\r\nb\r\n0123456789a\r\n0\r\n\r\n", want: "01234567890123456789a"},
		{name: "extension", wire: "2;name=value\r\nab\r\n0;x\r\n\r\n", want: "ab"},
		{name: "trailer", wire: "2\r\nab\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\nnext", want: "ab", rest: "next"},
		{name: "empty", wire: "0\r\n\r\n", want: ""},
		{name: "bare line feeds", wire: "2\nab\n0\n\n", want: "ab"},
		{name: "cut in data", wire: "5\r\nhel", want: "hel", err: io.ErrUnexpectedEOF},
		{name: "cut in size", wire: "5\r\nhello\r\n1", want: "hello", err: io.ErrUnexpectedEOF},
		{name: "cut in trailer", wire: "1\r\na\r\n0\r\nX", want: "a", err: io.ErrUnexpectedEOF},
		{name: "no size", wire: "\r\n", err: errChunk},
		{name: "negative size", wire: "-1\r\na", err: errChunk},
		{name: "absurd size", wire: "ffffffffffffffffff\r\n", err: errChunk},
		{name: "no line end after data", wire: "1\r\nab\r\n", want: "a", err: errChunk},
	}
	for _, tt := range tests {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "a byte at a time": iotest.OneByteReader,
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				br := bufio.NewReader(wrap(strings.NewReader(tt.wire)))
				got, err := io.ReadAll(&chunked{br: br})
				if string(got) != tt.want || !errors.Is(err, tt.err) {
					t.Errorf("read %q, %v, want %q, %v", got, err, tt.want, tt.err)
				}
				if rest, _ := io.ReadAll(br); tt.err == nil && string(rest) != tt.rest {
					t.Errorf("left %q, want %q", rest, tt.rest)
				}
			})
		}
	}
}

// TestChunkedDoesNotWait holds that bytes are handed on in the middle of a
// chunk: a second read would block for ever.
func TestChunkedDoesNotWait(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, "ff\r\nfirst")
	c := &chunked{br: bufio.NewReader(r)}
	var got []byte
	for len(got) < len("first") {
		buf := make([]byte, 100)
		n, err := c.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:n]...)
	}
	if string(got) != "first" {
		t.Errorf("read %q, want first", got)
	}
}

// TestChunkedTakesAll holds that chunks which have arrived together are read
// together, up to one that has not.
func TestChunkedTakesAll(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go io.WriteString(w, "1\r\na\r\n2\r\nbc\r\n3\r\nd")
	br := bufio.NewReader(r)
	if _, err := br.Peek(17); err != nil { // all of it
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := (&chunked{br: br}).Read(buf)
	if got := string(buf[:n]); got != "abcd" || err != nil {
		t.Errorf("read %q, %v, want abcd at once", got, err)
	}
}

func TestSized(t *testing.T) {
	tests := []struct {
		name, wire string
		size       int
		want, rest string
		err        error
	}{
		{name: "exact", wire: "abc", size: 3, want: "abc"},
		{name: "more on the wire", wire: "abcdef", size: 3, want: "abc", rest: "def"},
		{name: "cut", wire: "ab", size: 3, want: "ab", err: io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			br := bufio.NewReader(iotest.OneByteReader(strings.NewReader(tt.wire)))
			got, err := io.ReadAll(&sized{br: br, left: tt.size})
			rest, _ := io.ReadAll(br)
			if string(got) != tt.want || string(rest) != tt.rest || !errors.Is(err, tt.err) {
				t.Errorf("read %q, left %q, %v, want %q, %q, %v", got, rest, err, tt.want, tt.rest, tt.err)
			}
		})
	}
}

// FuzzChunked holds that reading what was written as chunks gives it back, and
// that no input makes it panic or hang.
func FuzzChunked(f *testing.F) {
	f.Add([]byte("hello"), uint8(2))
	f.Add([]byte("5\r\nhello\r\n0\r\n\r\n"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		_, _ = io.ReadAll(&chunked{br: bufio.NewReader(bytes.NewReader(data))})
		var wire bytes.Buffer
		for rest := data; len(rest) > 0; {
			n := min(len(rest), int(step)+1)
			fmt.Fprintf(&wire, "%x\r\n%s\r\n", n, rest[:n])
			rest = rest[n:]
		}
		wire.WriteString("0\r\n\r\n")
		got, err := io.ReadAll(&chunked{br: bufio.NewReader(iotest.HalfReader(&wire))})
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("read %q, %v, want %q", got, err, data)
		}
	})
}

func TestSuffix(t *testing.T) {
	tests := []struct {
		path, want string
		ok         bool
	}{
		{"/v1/embeddings", "/embeddings", true},
		{"/openai/v1/files/a%2Fb", "/files/a%2Fb", true},
		{"/v1/x/..", "", false},
		{"/v1/../admin", "", false},
		{"/v1/%2e%2E/admin", "", false},
		{"/v1/%2e./admin", "", false},
		{"/v1/%2e%2e%2fadmin", "", false},
		{"/v1/x%2F..%2Fadmin", "", false},
		{"/v1/%zz", "", false},
		{"/v1/a..b/...", "/a..b/...", true},
	}
	for _, tt := range tests {
		got, err := suffix(tt.path)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("suffix(%q) = %q, %v, want %q, ok %v", tt.path, got, err, tt.want, tt.ok)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	tests := []struct {
		value string
		want  string
	}{
		{"", "0s"},
		{"7", "7s"},
		{"-7", "0s"},
		{"soon", "0s"},
		{"Mon, 02 Jan 2006 15:04:05 GMT", "0s"},
	}
	for _, tt := range tests {
		var h fasthttp.ResponseHeader
		h.Set("Retry-After", tt.value)
		if got := retryAfter(&h).String(); got != tt.want {
			t.Errorf("retryAfter(%q) = %s, want %s", tt.value, got, tt.want)
		}
	}
}
