package proxy

import (
	"net"
	"sync"
	"time"
)

// watchDelay is how long an exchange may take before its client is watched. A
// watch costs a goroutine and its wake-up, more than the rest of a quick
// exchange's bookkeeping; and a client that leaves earlier is noticed now.
const watchDelay = 20 * time.Millisecond

// watchSoon is watch after watchDelay.
func watchSoon(conn net.Conn, gone func()) (stop func()) {
	var (
		mu    sync.Mutex
		ended bool
		end   = func() {}
	)
	timer := time.AfterFunc(watchDelay, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			end = watch(conn, gone)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if ended = true; end != nil {
			end()
			end = nil
		}
	}
}
