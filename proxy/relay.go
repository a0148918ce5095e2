package proxy

import (
	"errors"
	"io"
	"time"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/ledger"
)

// maxFrame is how many bytes of an unfinished frame are kept, and held back
// when frames have to be looked at before they go out. Beyond it they go out
// unseen.
const maxFrame = 1 << 20

// relay is the body of a streamed answer: fasthttp reads from it, and flushes
// to the client, as the upstream sends. It owns the exchange from the moment
// that the handler returns until Close.
type relay struct {
	x      *exchange
	resp   *response
	status int
	hide   bool // the usage chunk is ours, not the client's
	frames chat.Frames
	out    []byte // frames that wait to be read, when hiding
	buf    []byte // what the upstream sent, when hiding
	err    error  // how the upstream's body ended
	closed bool
}

// Read gives the next bytes of the answer. Unless a frame has to be hidden
// they are the upstream's, as soon as they are in.
func (r *relay) Read(p []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil { // the edge's recover is gone by now
			n, err = 0, panicked{v}
			r.note(0, err)
		}
	}()
	if !r.hide {
		n, err := r.resp.Read(p)
		r.frames.Write(p[:n])
		r.observe(nil)
		if err != nil || r.frames.Pending() > maxFrame {
			r.last(nil, err)
		}
		r.note(n, err)
		return n, err
	}
	for len(r.out) == 0 && r.err == nil {
		if r.buf == nil {
			r.buf = make([]byte, 16<<10)
		}
		n, err := r.resp.Read(r.buf)
		r.frames.Write(r.buf[:n])
		r.observe(&r.out)
		if err != nil || r.frames.Pending() > maxFrame {
			r.last(&r.out, err)
		}
		r.note(n, err)
	}
	n = copy(p, r.out)
	if r.out = r.out[n:]; n > 0 {
		return n, nil
	}
	return 0, r.err
}

// observe reads the frames that are complete; with keep, all but the usage
// chunk are appended to it.
func (r *relay) observe(keep *[]byte) {
	for frame := r.frames.Next(); frame != nil; frame = r.frames.Next() {
		usageOnly := r.x.answer.Frame(frame)
		if keep != nil && !usageOnly {
			*keep = append(*keep, frame...)
		}
	}
}

// last takes what has no end: the last frame of a stream that leaves out the
// blank line, or one that grew too long to be kept.
func (r *relay) last(keep *[]byte, err error) {
	rest := r.frames.Rest()
	usageOnly := err == io.EOF && r.x.answer.Frame(rest)
	if keep != nil && !usageOnly {
		*keep = append(*keep, rest...)
	}
}

func (r *relay) note(n int, err error) {
	if n > 0 && r.x.entry.FirstByte == 0 {
		r.x.entry.FirstByte = time.Since(r.x.start)
	}
	r.err = err
}

// Close ends the exchange. fasthttp calls it after the last byte, and when the
// client can't be written to any more.
func (r *relay) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.x.s.cfg.Metrics.InFlight.Dec()
	r.x.stop()
	outcome, reported := r.outcome(), reportedCost(&r.resp.Header)
	r.resp.Close()
	r.x.finish(outcome, r.status, reported)
	return nil
}

func (r *relay) outcome() string {
	a := &r.x.answer
	// Not read to its end, or ended by us: the client is not there any more.
	// Many leave at the [DONE], before the connection's own end.
	gone := r.err == nil || r.err != io.EOF && r.x.cancel.cancelled()
	complete := a.Finished && !a.Failed && (gone || r.err == io.EOF)
	switch {
	case r.status >= 400:
		return ledger.OutcomeUpstreamError
	case gone && !complete:
		return ledger.OutcomeClientCancelled
	case errors.Is(r.err, errSilent):
		return ledger.OutcomeTimeout
	case !complete:
		return ledger.OutcomeStreamIncomplete
	case r.x.who.bypass:
		return ledger.OutcomeBypass
	}
	return ledger.OutcomeOK
}
