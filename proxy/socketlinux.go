//go:build linux && !race

package proxy

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// A system call by way of package net tells Go's scheduler first, so that it
// can give the processor to others if the call blocks. When the process has
// been idle, which a proxy is twice in each request, that wakes the runtime's
// monitor thread, and it polls every 20 µs from then on: a quarter of what a
// small request costs. Calls on a socket that never blocks need none of it.

// socket is a TCP connection that reads and writes without that. Waiting,
// deadlines and closing are those of the connection inside.
type socket struct {
	*net.TCPConn // with its ReadFrom, by which a body that trickles in is not held back in a buffer
	raw          syscall.RawConn
	in, out      transfer
}

// transfer is a read or write under way.
type transfer struct {
	mu    sync.Mutex // held by who reads or writes
	p     []byte
	n     int // bytes of p that are done
	errno syscall.Errno
	step  func(fd uintptr) (done bool)
}

// quick makes a connection a socket if it is one of TCP.
func quick(conn net.Conn) net.Conn {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return conn
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return conn
	}
	s := &socket{TCPConn: tcp, raw: raw}
	s.in.step, s.out.step = s.in.read, s.out.write

	return s
}

// Read is that of the connection inside.
func (s *socket) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.in.run(p, s.raw.Read)
	switch {
	case err != nil:
		return 0, s.failed("read", err)
	case n == 0:
		return 0, io.EOF
	}

	return n, nil
}

// Write is that of the connection inside.
func (s *socket) Write(p []byte) (int, error) {
	n, err := s.out.run(p, s.raw.Write)
	if err != nil {
		err = s.failed("write", err)
	}

	return n, err
}

// failed words what a system call said as package net does. What comes from
// waiting is worded already.
func (s *socket) failed(op string, err error) error {
	if errno, ok := err.(syscall.Errno); ok {
		return &net.OpError{Op: op, Net: "tcp", Source: s.LocalAddr(), Addr: s.RemoteAddr(), Err: os.NewSyscallError(op, errno)}
	}

	return err
}

// run has p transferred, where wait calls step as often as the socket is ready
// until it is done.
func (t *transfer) run(p []byte, wait func(step func(fd uintptr) bool) error) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.p, t.n, t.errno = p, 0, 0
	err := wait(t.step)
	t.p = nil
	if err == nil && t.errno != 0 {
		err = t.errno
	}

	return t.n, err
}

func (t *transfer) read(fd uintptr) (done bool) {
	for {
		n, _, errno := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&t.p[0])), uintptr(len(t.p)))
		switch errno {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		case 0:
			t.n = int(n)
		}
		t.errno = errno

		return true
	}
}

func (t *transfer) write(fd uintptr) (done bool) {
	for t.n < len(t.p) {
		n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&t.p[t.n])), uintptr(len(t.p)-t.n))
		switch errno {
		case syscall.EINTR:
		case syscall.EAGAIN:
			return false
		case 0:
			t.n += int(n)
		default:
			t.errno = errno
			return true
		}
	}

	return true
}

// peek looks whether a read from a socket would return at once, and takes
// nothing.
func peek(fd uintptr) peeked {
	var b [1]byte
	n, _, errno := syscall.RawSyscall6(syscall.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&b[0])), 1, syscall.MSG_PEEK|syscall.MSG_DONTWAIT, 0, 0)
	switch {
	case errno == syscall.EAGAIN, errno == syscall.EINTR:
		return peekedNothing
	case errno == 0 && n > 0:
		return peekedBytes
	}

	return peekedEnd
}
