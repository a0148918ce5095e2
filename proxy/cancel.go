package proxy

import (
	"net"
	"sync"
)

// canceller ends an upstream exchange from another goroutine by closing the
// connection that it runs on. fasthttp knows no contexts.
type canceller struct {
	mu   sync.Mutex
	conn net.Conn // in use now, nil between attempts
	gone bool
}

// attach says which connection to close; false when it is too late.
func (c *canceller) attach(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.conn = conn
	return true
}

// detach ends the exchange; false when it was cancelled.
func (c *canceller) detach() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = nil
	return !c.gone
}

func (c *canceller) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	if c.conn != nil {
		c.conn.Close() // its reader gets the error
	}
}

func (c *canceller) cancelled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}
