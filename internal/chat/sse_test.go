package chat

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// cut feeds the chunks to Frames and returns the frames and the rest.
func cut(chunks ...[]byte) (frames []string, rest string) {
	var f Frames
	for _, c := range chunks {
		f.Write(c)
		for frame := f.Next(); frame != nil; frame = f.Next() {
			frames = append(frames, string(frame))
		}
	}
	return frames, string(f.Rest())
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   []string
		rest   string
	}{
		{"nothing", "", nil, ""},
		{"two frames", "data: 1\n\ndata: 2\n\n", []string{"data: 1\n\n", "data: 2\n\n"}, ""},
		{"CRLF", "data: 1\r\n\r\ndata: 2\r\n\r\n", []string{"data: 1\r\n\r\n", "data: 2\r\n\r\n"}, ""},
		{"mixed line ends", "data: 1\r\n\ndata: 2\n\r\n", []string{"data: 1\r\n\n", "data: 2\n\r\n"}, ""},
		{"comment and event", ": ping\n\nevent: e\ndata: 1\n\n", []string{": ping\n\n", "event: e\ndata: 1\n\n"}, ""},
		{"more blank lines", "data: 1\n\n\n\n", []string{"data: 1\n\n", "\n", "\n"}, ""},
		{"a last frame without its end", "data: 1\n\ndata: 2\n", []string{"data: 1\n\n"}, "data: 2\n"},
		{"no line end", "data: 1", nil, "data: 1"},
		{"lone CR", "data: 1\r\rdata: 2\rdata: 3\r\r", []string{"data: 1\r\r", "data: 2\rdata: 3\r\r"}, ""},
		{"lone CR, more blank lines", "data: 1\r\r\r\r", []string{"data: 1\r\r", "\r", "\r"}, ""},
		{"lone CR, then CRLF", "data: 1\r\r\ndata: 2\r\n\r\n", []string{"data: 1\r\r", "\n", "data: 2\r\n\r\n"}, ""},
		{"lone CR, then LF", "data: 1\rdata: 2\n\ndata: 3\r\n\r", []string{"data: 1\rdata: 2\n\n"}, "data: 3\r\n\r"},
		{"LF, then lone CR", "data: 1\n\rdata: 2\r\r", []string{"data: 1\n\r", "data: 2\r\r"}, ""},
		{"a CR may be half a line end", "data: 1\r", nil, "data: 1\r"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for size := range len(tt.stream) + 1 {
				frames, rest := cut(chunked([]byte(tt.stream), size)...)
				if diff := cmp.Diff(tt.want, frames); diff != "" || rest != tt.rest {
					t.Fatalf("in chunks of %d: rest %q, want %q; frames (-want +got):\n%s", size, rest, tt.rest, diff)
				}
			}
		})
	}
}

// chunked cuts p into pieces of size bytes; size 0 leaves it whole.
func chunked(p []byte, size int) [][]byte {
	if size == 0 {
		return [][]byte{p}
	}
	var chunks [][]byte
	for len(p) > size {
		chunks, p = append(chunks, p[:size]), p[size:]
	}
	return append(chunks, p)
}

func TestFramesPendingAndRest(t *testing.T) {
	var f Frames
	f.Write([]byte("data: 1\n\ndata"))
	if got := f.Next(); string(got) != "data: 1\n\n" {
		t.Fatalf("Next() = %q", got)
	}
	if got := f.Next(); got != nil || f.Pending() != 4 {
		t.Fatalf("Next() = %q with %d bytes pending, want none with 4", got, f.Pending())
	}
	if got := f.Rest(); string(got) != "data" || f.Pending() != 0 || len(f.Rest()) != 0 {
		t.Fatalf("Rest() = %q with %d bytes pending, want all of them taken once", got, f.Pending())
	}
	f.Write([]byte("data: 2\n\n"))
	if got := f.Next(); string(got) != "data: 2\n\n" {
		t.Errorf("Next() after Rest = %q", got)
	}
}

func TestData(t *testing.T) {
	tests := []struct {
		name  string
		frame string
		want  string
	}{
		{"one line", "data: {}\n\n", "{}"},
		{"no space", "data:{}\n\n", "{}"},
		{"two spaces", "data:  x\n\n", " x"},
		{"CRLF", "data: {}\r\n\r\n", "{}"},
		{"several lines", "data: {\"a\":\ndata:1\r\ndata: }\n\n", "{\"a\":\n1\n}"},
		{"several lines with CRLF", "data: a\r\ndata: b\r\n\r\n", "a\nb"},
		{"several lines with lone CR", "data: a\rid: 1\rdata:b\r\r", "a\nb"},
		{"empty lines count", "data:\ndata: x\ndata:\n\n", "\nx\n"},
		{"other fields", "event: data: no\nid: 1\ndata: x\nretry: 5\n: data: no\n\n", "x"},
		{"comment", ": ping\n\n", ""},
		{"indented", " data: x\n\n", ""},
		{"without an end", "data: x", "x"},
		{"nothing", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame := []byte(tt.frame)
			if got := string(Data(frame)); got != tt.want {
				t.Errorf("Data(%q) = %q, want %q", tt.frame, got, tt.want)
			}
			if string(frame) != tt.frame {
				t.Errorf("Data changed its frame to %q", frame)
			}
		})
	}
}

// plainData is Data written for reading rather than for speed.
func plainData(frame string) string {
	var data []string
	for _, line := range strings.FieldsFunc(frame, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimPrefix(rest, " "))
		}
	}
	return strings.Join(data, "\n")
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("data: 1\n\ndata: 2\r\n\r\n: ping\n\nevent: e\ndata:a\ndata: b\n\nda"), []byte{1, 2, 3})
	f.Add([]byte("\n\r\n\r\r\n\n"), []byte{0})
	f.Add([]byte("data: 1\r\rdata: 2\r\r\nid: 1\rdata: 3\n\r\r"), []byte{1, 8, 1, 9})
	f.Add([]byte("data: [DONE]\n\n"), []byte{255})
	f.Add([]byte(`data: {"choices":[{"delta":{"content":"\ud83d\u0041"}}],"usage":{"a":`+"\n\n"), []byte{40})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		want, wantRest := cut(stream)
		if got := strings.Join(want, "") + wantRest; got != string(stream) {
			t.Fatalf("frames and rest are %q, want the stream %q", got, stream)
		}
		var chunks [][]byte
		rest := stream
		for _, size := range sizes {
			n := min(int(size), len(rest))
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		frames, gotRest := cut(append(chunks, rest)...)
		if diff := cmp.Diff(want, frames); diff != "" || gotRest != wantRest {
			t.Fatalf("chunked by %v: rest %q, want %q; frames (-want +got):\n%s", sizes, gotRest, wantRest, diff)
		}
		for _, frame := range append(frames, gotRest) {
			if got, want := string(Data([]byte(frame))), plainData(frame); got != want {
				t.Errorf("Data(%q) = %q, want %q", frame, got, want)
			}
			var a Answer
			a.Frame([]byte(frame))
			if !utf8.ValidString(a.Text()) || a.Usage != nil && !json.Valid(a.Usage) {
				t.Errorf("answer to %q has text %q and usage %q", frame, a.Text(), a.Usage)
			}
		}
	})
}

func TestFramesLongLine(t *testing.T) {
	line := append(append([]byte("data: "), bytes.Repeat([]byte("x"), 1<<20)...), "\n\ndata: 2\n\n"...)
	frames, rest := cut(chunked(line, 16<<10)...)
	if len(frames) != 2 || len(frames[0]) != len(line)-len("data: 2\n\n") || frames[1] != "data: 2\n\n" || rest != "" {
		t.Errorf("%d frames and a rest of %d bytes, want the long one and the short one", len(frames), len(rest))
	}
}
