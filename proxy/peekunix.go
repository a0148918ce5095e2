//go:build unix && (!linux || race)

package proxy

import (
	"errors"

	"golang.org/x/sys/unix"
)

// peek looks whether a read from a socket would return at once, and takes
// nothing.
func peek(fd uintptr) peeked {
	var b [1]byte
	n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return peekedNothing
	case err == nil && n > 0:
		return peekedBytes
	}
	return peekedEnd
}
