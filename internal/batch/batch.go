// Package batch has the queue in front of a store's writer: many put single
// entries, and one goroutine takes them many at a time, because a transaction
// of a hundred rows costs little more than one of a single row.
//
// To put an entry wakes nobody, as a rule: being woken for each of them costs a
// request more than all the rest of its row. The first one wakes the writer,
// which then lets others gather until that one has waited for a while, there
// are enough for a batch, or somebody is in a hurry.
//
// It knows nothing of files. What becomes of a batch that can't be written, and
// of an entry for which there is no room, is up to its owner.
package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Why an entry was not taken.
var (
	ErrFull   = errors.New("queue is full")
	ErrClosed = errors.New("queue is closed")
)

// The waits between two attempts of [Queue.Retry].
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// Queue holds entries, in order, until they are written. It is safe for
// concurrent use.
type Queue[T any] struct {
	most int
	wait time.Duration

	// entries is sent to under gate held for reading, and closed under gate held
	// for writing, so that nothing is sent to a closed channel.
	entries chan entry[T]
	gate    sync.RWMutex
	closed  bool // guarded by gate

	marks   atomic.Int32  // in entries, or about to be
	wake    chan struct{} // holds one entry when the writer should not wait for company
	closing chan struct{} // closed when Close begins
	once    sync.Once     // closes closing
	done    chan struct{} // closed when Run has returned
}

// entry is something to write or, with mark set, a wish to be told when all
// before it has been.
type entry[T any] struct {
	value T
	since time.Time
	mark  chan struct{}
}

// New returns a queue of so many entries. A batch has at most so many, and
// waits at most so long for company, counted from when its first entry was put.
// The caller must start Run and, at the end, Close it.
func New[T any](size, most int, wait time.Duration) *Queue[T] {
	return &Queue[T]{
		most: most, wait: wait, entries: make(chan entry[T], size),
		wake: make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
	}
}

// Put adds an entry. It doesn't wait for room: the error is [ErrFull] or
// [ErrClosed].
func (q *Queue[T]) Put(value T) error {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.closed {
		return ErrClosed
	}
	select {
	case q.entries <- entry[T]{value: value, since: time.Now()}:
	default:
		return ErrFull
	}
	if q.enough() {
		q.Hurry()
	}

	return nil
}

// PutWait is Put, but waits for room until ctx ends; then the error wraps
// [ErrFull] and that of ctx.
func (q *Queue[T]) PutWait(ctx context.Context, value T) error {
	return q.send(ctx, entry[T]{value: value, since: time.Now()})
}

// Sync waits until all that was put before has been written, or at least been
// handed to the writer for good. The error is that of ctx, or [ErrClosed].
func (q *Queue[T]) Sync(ctx context.Context) error {
	mark := make(chan struct{})
	q.marks.Add(1)
	if err := q.send(ctx, entry[T]{mark: mark}); err != nil {
		q.marks.Add(-1)
		return err
	}
	q.Hurry()
	select {
	case <-mark:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *Queue[T]) send(ctx context.Context, e entry[T]) error {
	q.gate.RLock()
	defer q.gate.RUnlock()
	if q.closed {
		return ErrClosed
	}
	select {
	case q.entries <- e:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrFull, ctx.Err())
	}
}

// Hurry has the writer called at once with what there is, or with nothing.
func (q *Queue[T]) Hurry() {
	select {
	case q.wake <- struct{}{}:
	default: // it will be
	}
}

// Len is how many entries wait to be taken.
func (q *Queue[T]) Len() int { return len(q.entries) }

// enough reports whether so many entries wait that there is no need to wait for
// more: a batch, or half a queue that is smaller.
func (q *Queue[T]) enough() bool { return len(q.entries) >= min(q.most, max(1, cap(q.entries)/2)) }

// Run calls write with one batch after the other, until the queue is closed and
// empty. A batch is only valid during the call. It is empty when somebody was
// in a hurry for nothing.
func (q *Queue[T]) Run(write func([]T)) {
	defer close(q.done)
	batch := make([]T, 0, q.most)
	for open := true; open; {
		var mark chan struct{}
		batch, mark, open = q.take(batch)
		write(batch)
		clear(batch)
		batch = batch[:0]
		if mark != nil {
			q.marks.Add(-1)
			close(mark)
		}
	}
}

// take waits for an entry, lets others gather, and appends them to batch, as far
// as it has room and up to a mark: somebody waits for that.
func (q *Queue[T]) take(batch []T) (_ []T, mark chan struct{}, open bool) {
	var e entry[T]
	select {
	case e, open = <-q.entries:
		if open && e.mark == nil {
			q.gather(e.since)
		}
	case <-q.wake:
		select {
		case e, open = <-q.entries:
		default:
			return batch, nil, true
		}
	}
	for open && e.mark == nil {
		if batch = append(batch, e.value); len(batch) == q.most {
			break
		}
		select {
		case e, open = <-q.entries:
		default:
			return batch, nil, true
		}
	}

	return batch, e.mark, open
}

// gather waits until an entry has waited for long enough, unless there is a
// reason to hurry. It doesn't receive meanwhile.
func (q *Queue[T]) gather(since time.Time) {
	if q.marks.Load() > 0 || q.enough() {
		return
	}
	ripe := time.NewTimer(q.wait - time.Since(since))
	defer ripe.Stop()
	select {
	case <-ripe.C:
	case <-q.wake:
	case <-q.closing:
	}
}

// Retry is for the writer: it calls try until that says it is done, with ever
// longer waits between, from 50 ms to 5 s. Once Close has begun it is called one
// more time.
func (q *Queue[T]) Retry(try func() (done bool)) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		last := q.isClosing()
		if try() || last {
			return
		}
		select {
		case <-q.closing:
		case <-time.After(wait):
		}
	}
}

func (q *Queue[T]) isClosing() bool {
	select {
	case <-q.closing:
		return true
	default:
		return false
	}
}

// Close takes no more entries, and waits until Run has handed over all there
// are. Closing again is fine.
func (q *Queue[T]) Close() {
	q.once.Do(func() {
		close(q.closing)
		q.gate.Lock() // waits for those who wait for room; the writer makes it
		defer q.gate.Unlock()
		q.closed = true
		close(q.entries)
	})
	<-q.done
}
