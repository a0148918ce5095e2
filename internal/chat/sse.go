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
// Lines end in \n or \r\n. (The standard also allows a lone \r; no provider
// sends it, and such a stream simply arrives as one frame at its end.)
//
// The zero value is ready to use. How the bytes are chunked makes no
// difference to the frames.
type Frames struct {
	buf  []byte
	from int // start of the next frame
	line int // start of the first line not looked at yet
	seen int // up to where that line has no end
}

// Write adds bytes. Frames that Next returned before are no longer valid.
func (f *Frames) Write(p []byte) {
	if f.from > 0 {
		n := copy(f.buf, f.buf[f.from:])
		f.buf, f.line, f.seen, f.from = f.buf[:n], f.line-f.from, f.seen-f.from, 0
	}
	f.buf = append(f.buf, p...)
}

// Next returns the next complete frame, or nil when more bytes are needed.
func (f *Frames) Next() []byte {
	for {
		n := bytes.IndexByte(f.buf[f.seen:], '\n')
		if n < 0 {
			f.seen = len(f.buf)
			return nil
		}
		end := f.seen + n
		line := f.buf[f.line:end]
		f.line, f.seen = end+1, end+1
		if len(line) == 0 || len(line) == 1 && line[0] == '\r' {
			frame := f.buf[f.from:f.line]
			f.from = f.line
			return frame
		}
	}
}

// Pending is how many bytes wait for the end of their frame.
func (f *Frames) Pending() int { return len(f.buf) - f.from }

// Rest takes what is left: the bytes of a frame that never ended.
func (f *Frames) Rest() []byte {
	rest := f.buf[f.from:]
	f.from, f.line, f.seen = len(f.buf), len(f.buf), len(f.buf)
	return rest
}

// Data returns what the data lines of a frame hold, joined by newlines. With
// the usual single line it is a slice of frame.
func Data(frame []byte) []byte {
	var data []byte
	lines := 0
	for line := range bytes.Lines(frame) {
		rest, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
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
	return data
}
