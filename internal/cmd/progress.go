package cmd

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// redraw is how often a progress line may change: more can't be read.
const redraw = 100 * time.Millisecond

// progress shows how far a long command is: one line on a terminal, rewritten
// as it goes and removed at the end. Into a pipe or a file it writes nothing.
// It is safe for concurrent use, and cheap enough to be told of every item.
type progress struct {
	out   io.Writer // nil: nobody is watching
	what  string
	total int64 // 0: not known
	clock func() time.Time

	mu           sync.Mutex // guards what follows
	done         int64
	began, shown time.Time
}

// newProgress begins a line such as "importing 1,200 of 5,000". w is the
// command's stderr; total 0 is one that isn't known. The caller must end it
// before anything else is written to the terminal.
func newProgress(w io.Writer, what string, total int64) *progress {
	p := &progress{what: what, total: total, clock: time.Now, began: time.Now()}
	if terminal(w) {
		p.out = w
	}
	return p
}

// add counts n more items as done.
func (p *progress) add(n int64) {
	if p.out == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	if now := p.clock(); now.Sub(p.shown) >= redraw {
		p.shown = now
		fmt.Fprint(p.out, "\r", p.line(now.Sub(p.began)), clearRest)
	}
}

// end removes the line.
func (p *progress) end() {
	if p.out != nil {
		fmt.Fprint(p.out, "\r", clearRest)
	}
}

// clearRest erases from the cursor to the end of the line.
const clearRest = "\x1b[K"

// line is what is shown after so long: count, share, pace, time left.
func (p *progress) line(after time.Duration) string {
	s := p.what + " " + grouped(p.done)
	if p.total > 0 {
		s += fmt.Sprintf(" of %s, %d %%", grouped(p.total), 100*p.done/p.total)
	}
	if after < time.Second || p.done == 0 {
		return s
	}
	pace := float64(p.done) / after.Seconds()
	s += fmt.Sprintf(", %s/s", grouped(int64(pace)))
	if p.total > p.done {
		left := time.Duration(float64(p.total-p.done) / pace * float64(time.Second))
		s += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return s
}

// grouped writes a count with commas between thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// terminal reports whether w is a terminal: a character device. So is
// /dev/null, where writing does no harm.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// onTerminal is w for a command that tells how it is getting on in lines of
// its own: w when that is a terminal, else nothing.
func onTerminal(w io.Writer) io.Writer {
	if terminal(w) {
		return w
	}
	return io.Discard
}
