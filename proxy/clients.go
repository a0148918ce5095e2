package proxy

import (
	"net"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// cutWait bounds the wait for exchanges that were cut off: their upstreams are
// let go and their rows recorded, which takes no longer than that.
const cutWait = 2 * time.Second

// clients are the connections that clients have to us, kept so that those that
// outlast a shutdown's grace can be ended.
type clients struct {
	mu   sync.Mutex
	open map[net.Conn]bool
	none chan struct{} // closed when the last one has ended; nil before cut
}

// follow is fasthttp's ConnState hook.
func (c *clients) follow(conn net.Conn, state fasthttp.ConnState) {
	switch state {
	case fasthttp.StateNew:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[conn] = true
	case fasthttp.StateClosed:
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, conn)
		c.end()
	}
}

// cut closes every connection. The channel is closed when whatever ran on them
// has ended.
func (c *clients) cut() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	none := make(chan struct{})
	c.none = none
	for conn := range c.open {
		conn.Close() // what it can't say is said to nobody
	}
	c.end()
	return none
}

func (c *clients) end() {
	if c.none != nil && len(c.open) == 0 {
		close(c.none)
		c.none = nil
	}
}
