package proxy

import (
	"sync"
	"unsafe"
)

// maxKeptBuffer bounds a buffer that is kept for the next request, in bytes;
// agents send some hundreds of kilobytes with every step.
const maxKeptBuffer = 4 << 20

// buffers holds slices between requests. Without it the collector is most of
// the cost of large bodies: two of 400 KB are made for each request. The zero
// value is ready.
type buffers[E any] struct{ pool sync.Pool }

// get returns an empty buffer.
func (b *buffers[E]) get() []E {
	if p, ok := b.pool.Get().(*[]E); ok {
		return (*p)[:0]
	}
	return nil
}

// put takes a buffer that nobody uses any more.
func (b *buffers[E]) put(buf []E) {
	var e E
	if size := cap(buf) * int(unsafe.Sizeof(e)); size > 0 && size <= maxKeptBuffer {
		b.pool.Put(&buf)
	}
}
