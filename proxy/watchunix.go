//go:build unix

package proxy

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// watch calls gone, once and from another goroutine, when the peer of conn
// closes it or its sending half, or we close it. It takes no bytes. stop ends the watch and
// waits for it; nobody may read from conn in between.
//
// Neither fasthttp nor fiber tells a handler that its client left; a failed
// write would, but not while the upstream is silent.
func watch(conn net.Conn, gone func()) (stop func()) {
	raw := rawConn(conn)
	if raw == nil {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var state peeked
		err := raw.Read(func(fd uintptr) bool {
			state = peek(fd)
			return state != peekedNothing
		})
		if err == nil && state == peekedEnd || errors.Is(err, net.ErrClosed) {
			gone()
		}
	}()
	return func() {
		conn.SetReadDeadline(time.Unix(1, 0)) // wakes the goroutine
		<-done
		conn.SetReadDeadline(time.Time{})
	}
}

// readable reports whether a read would return at once: bytes or the end.
func readable(conn net.Conn) bool {
	raw := rawConn(conn)
	if raw == nil {
		return false
	}
	state := peekedEnd
	err := raw.Read(func(fd uintptr) bool {
		state = peek(fd)
		return true
	})
	return err != nil || state != peekedNothing
}

type peeked int

const (
	peekedNothing peeked = iota
	peekedBytes
	peekedEnd
)

// rawConn reaches the socket below conn, through TLS; nil when there is none.
func rawConn(conn net.Conn) syscall.RawConn {
	if t, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = t.NetConn()
	}
	sc, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
