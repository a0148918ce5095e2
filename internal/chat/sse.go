package chat

import "bytes"

// Frames cuts a server-sent event stream into frames. A frame is everything up
// to and including a blank line:
//
//	event: message\n        ┐
//	data: {"id":1,\n        │ one frame, passed on with every byte as it came;
//	data:  "x":2}\n         │ Data gives {"id":1,\n"x":2}
//	\n                      ┘
//
// Lines end in \n, \r\n or a lone \r, in any mixture. Only after lone ones does
// a \r that ends a blank line end the frame at once; otherwise the frame waits
// for the \n that most likely comes next.
//
// The zero value is ready to use. How the bytes are chunked makes no
// difference to the frames.
type Frames struct {
	buf  []byte
	from int  // start of the next frame
	line int  // start of the first line not looked at yet
	seen int  // up to where that line has no end
	lf   int  // from seen up to here there is no \n
	lone bool // the last line ended in a lone \r
}

// Write adds bytes. Frames that Next returned before are no longer valid.
func (f *Frames) Write(p []byte) {
	if f.from > 0 {
		n := copy(f.buf, f.buf[f.from:])
		f.buf, f.line, f.seen, f.lf, f.from = f.buf[:n], f.line-f.from, f.seen-f.from, max(0, f.lf-f.from), 0
	}
	f.buf = append(f.buf, p...)
}

// Next returns the next complete frame, or nil when more bytes are needed.
func (f *Frames) Next() []byte {
	for {
		end := f.lineEnd()
		if end < 0 {
			return nil
		}
		blank := f.seen == f.line
		f.line, f.seen = end, end
		if blank {
			frame := f.buf[f.from:end]
			f.from = end
			return frame
		}
	}
}

// lineEnd returns the index after the current line's end, and moves seen to
// where that end begins; -1 when more bytes are needed.
func (f *Frames) lineEnd() int {
	if f.lf = max(f.lf, f.seen); f.lf == len(f.buf) || f.buf[f.lf] != '\n' {
		if n := bytes.IndexByte(f.buf[f.lf:], '\n'); n >= 0 {
			f.lf += n
		} else {
			f.lf = len(f.buf)
		}
	}
	n := bytes.IndexByte(f.buf[f.seen:f.lf], '\r')
	if n < 0 {
		f.seen = f.lf
		if f.lf == len(f.buf) {
			return -1
		}
		f.lone = false
		return f.lf + 1
	}
	f.seen += n
	next := f.seen + 1
	switch {
	case f.lone && f.seen == f.line: // a \n after it is a blank line of its own
		return next
	case next == len(f.buf):
		return -1
	}
	f.lone = f.buf[next] != '\n'
	if f.lone {
		return next
	}
	return next + 1
}

// Pending is how many bytes wait for the end of their frame.
func (f *Frames) Pending() int { return len(f.buf) - f.from }

// Rest takes what is left: the bytes of a frame that never ended.
func (f *Frames) Rest() []byte {
	rest := f.buf[f.from:]
	f.from, f.line, f.seen, f.lf = len(f.buf), len(f.buf), len(f.buf), len(f.buf)
	return rest
}

// Data returns what the data lines of a frame hold, joined by newlines. With
// the usual single line it is a slice of frame.
func Data(frame []byte) []byte {
	var data []byte
	lines := 0
	for line := range bytes.Lines(frame) {
		line = bytes.TrimRight(line, "\r\n")
		for more := true; more; {
			var one []byte
			one, line, more = bytes.Cut(line, carriageReturn)
			rest, ok := bytes.CutPrefix(one, []byte("data:"))
			if !ok {
				continue
			}
			rest = bytes.TrimPrefix(rest, []byte(" "))
			if lines++; lines == 1 {
				data = rest
				continue
			}
			if lines == 2 { // the first line is a slice of frame: append to a copy
				data = bytes.Clone(data)
			}
			data = append(append(data, '\n'), rest...)
		}
	}
	return data
}

var carriageReturn = []byte("\r")
