package cmd

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	tests := []struct {
		name        string
		done, total int64
		after       time.Duration
		want        string
	}{
		{"nothing yet", 0, 5000, 3 * time.Second, "importing 0 of 5,000, 0 %"},
		{"too early for a pace", 999, 5000, 500 * time.Millisecond, "importing 999 of 5,000, 19 %"},
		{"under way", 1_234_567, 2_469_134, 10 * time.Second, "importing 1,234,567 of 2,469,134, 50 %, 123,456/s, 10s left"},
		{"all done", 5000, 5000, 2 * time.Second, "importing 5,000 of 5,000, 100 %, 2,500/s"},
		{"no total", 5000, 0, 2 * time.Second, "importing 5,000, 2,500/s"},
		{"more than announced", 6000, 5000, 2 * time.Second, "importing 6,000 of 5,000, 120 %, 3,000/s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := progress{what: "importing", done: tt.done, total: tt.total}
			if got := p.line(tt.after); got != tt.want {
				t.Errorf("after %v: %q, want %q", tt.after, got, tt.want)
			}
		})
	}
}

func TestProgressOnTerminal(t *testing.T) {
	var screen bytes.Buffer
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &progress{out: &screen, what: "copying", total: 400, began: now, clock: func() time.Time { return now }}
	for range 4 {
		p.add(50)
		p.add(50) // within the same moment: not drawn
		now = now.Add(redraw)
	}
	p.end()
	want := "\rcopying 50 of 400, 12 %\x1b[K\rcopying 150 of 400, 37 %\x1b[K\rcopying 250 of 400, 62 %\x1b[K\rcopying 350 of 400, 87 %\x1b[K\r\x1b[K"
	if screen.String() != want {
		t.Errorf("the terminal got %q, want %q", screen.String(), want)
	}
}

func TestProgressInPipe(t *testing.T) {
	var pipe bytes.Buffer
	p := newProgress(&pipe, "importing", 10)
	p.add(10)
	p.end()
	if pipe.Len() > 0 {
		t.Errorf("a pipe got %q, want nothing", pipe.String())
	}
}

func TestTerminal(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	device, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	tests := []struct {
		name string
		w    io.Writer
		want bool
	}{
		{"buffer", &bytes.Buffer{}, false},
		{"pipe", w, false},
		{"file", file, false},
		{"character device", device, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := terminal(tt.w); got != tt.want {
				t.Errorf("terminal = %v, want %v", got, tt.want)
			}
			if got := onTerminal(tt.w) == tt.w; got != tt.want {
				t.Errorf("onTerminal passes it: %v, want %v", got, tt.want)
			}
		})
	}
}
