package proxy

import "sync"

// maxKeptBuffer bounds a buffer that is kept for the next request; agents send
// some hundreds of kilobytes with every step.
const maxKeptBuffer = 4 << 20

// buffers holds request bodies between requests. Without it the collector is
// most of the cost of large bodies: two of 400 KB are made for each request.
// The zero value is ready.
type buffers struct{ pool sync.Pool }

// get returns an empty buffer.
func (b *buffers) get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return (*p)[:0]
	}
	return nil
}

// put takes a buffer that nobody uses any more.
func (b *buffers) put(buf []byte) {
	if cap(buf) > 0 && cap(buf) <= maxKeptBuffer {
		b.pool.Put(&buf)
	}
}
