//go:build !unix

package proxy

import "net"

// watch does nothing here: a client that left is noticed when a write fails.
func watch(net.Conn, func()) (stop func()) { return func() {} }

// readable does nothing here: a stale connection is noticed when it is used.
func readable(net.Conn) bool { return false }
