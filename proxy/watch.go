package proxy

import (
	"net"
	"sync"
	"time"
)

// watchDelay is how long an exchange may take, at least, before its client is
// watched; twice as long at most. A watch costs a goroutine and its wake-up,
// more than the rest of a quick exchange's bookkeeping; and a client that leaves
// earlier is noticed then.
const watchDelay = 20 * time.Millisecond

// watches begins to watch the clients of exchanges that take their time. One
// timer sweeps over all of them: one for each would cost a quick exchange as
// much as sending its answer, because a timer that is due before all others
// wakes a thread. The zero value is ready; close ends it.
type watches struct {
	mu      sync.Mutex // guards what follows, and the elements
	waiting []*waiting // exchanges whose clients aren't watched yet
	timer   *time.Timer
	armed   bool
	busy    bool // an exchange has begun since the last sweep
	closed  bool
}

// waiting is an exchange whose client will be watched, or is.
type waiting struct {
	conn  net.Conn
	gone  func()
	place int    // in watches.waiting, -1: not there any more
	old   bool   // it was there at a sweep before
	end   func() // of the watch, nil: there is none
}

// soon is watch after watchDelay.
func (ws *watches) soon(conn net.Conn, gone func()) (stop func()) {
	w := &waiting{conn: conn, gone: gone}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	w.place, ws.waiting, ws.busy = len(ws.waiting), append(ws.waiting, w), true
	if !ws.armed {
		ws.arm()
	}
	return func() { ws.stop(w) }
}

func (ws *watches) arm() {
	ws.armed = true
	if ws.timer == nil {
		ws.timer = time.AfterFunc(watchDelay, ws.sweep)
		return
	}
	ws.timer.Reset(watchDelay)
}

// sweep begins the watches that are due. It comes again as long as there is
// something to do.
func (ws *watches) sweep() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed {
		return
	}
	for i := 0; i < len(ws.waiting); {
		w := ws.waiting[i]
		if !w.old {
			w.old = true
			i++
			continue
		}
		ws.take(w)
		w.end = watch(w.conn, w.gone)
	}
	again := ws.busy || len(ws.waiting) > 0
	ws.armed, ws.busy = false, false
	if again {
		ws.arm()
	}
}

// take takes an exchange out of those that wait; the last one gets its place.
func (ws *watches) take(w *waiting) {
	n := len(ws.waiting) - 1
	last := ws.waiting[n]
	ws.waiting[w.place], last.place = last, w.place
	ws.waiting[n] = nil
	ws.waiting, w.place = ws.waiting[:n], -1
}

// stop sees to it that the client is not watched any more.
func (ws *watches) stop(w *waiting) {
	ws.mu.Lock()
	if w.place >= 0 {
		ws.take(w)
	}
	end := w.end
	w.end = nil
	ws.mu.Unlock()
	if end != nil {
		end()
	}
}

// close begins no more watches.
func (ws *watches) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
	if ws.timer != nil {
		ws.timer.Stop()
	}
}
