package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

const (
	// maxTurn bounds each text of a queued exchange, in bytes: what a person
	// types is far shorter, and pasted files teach nothing.
	maxTurn = 32 << 10

	// maxBatch bounds the exchanges of one transaction, so that a forget or an
	// add waits a few milliseconds at most.
	maxBatch = 128

	// maxWait is how long an exchange waits for others to share its
	// transaction: what a crash may cost is at most this and the write.
	maxWait = 50 * time.Millisecond

	// purgeEvery is how often turns past their TTL are looked for.
	purgeEvery = time.Hour
)

// Exchange is one human message and the answer to it.
type Exchange struct {
	Scope     Scope
	Session   string
	Channel   string
	Private   bool   // what is said in the channel is for its members alone
	Name      string // what the user is called; for News alone
	RequestID string
	At        time.Time // when it was said; zero: now

	UserText      string // what memories are learned from
	AssistantText string // kept as a turn, never learned from

	// BeforeText is what the assistant had said before: a short UserText may
	// accept what it proposed. Nothing else is learned from it.
	BeforeText string
}

// job is an entry of the queue: an exchange, or a mark whose channel is closed
// once all before it is written.
type job struct {
	exchange Exchange
	queued   time.Time
	mark     chan struct{}
}

// Learn queues an exchange and returns at once. False says that it was
// dropped, because the queue is full or the store closed. Texts are cut to 32
// KiB each. As long as the writer keeps up, what was taken is in the file, and
// outlives the process, within 100 ms.
func (s *Store) Learn(e Exchange) bool {
	if s.cfg.Capture == CaptureOff {
		return true
	}
	if e.At.IsZero() {
		e.At = s.cfg.Clock()
	}
	e.UserText, e.AssistantText = clip(e.UserText, maxTurn), clip(e.AssistantText, maxTurn)
	if len(e.UserText) > maxAcceptance {
		e.BeforeText = ""
	}

	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	select {
	case s.queue <- job{exchange: e, queued: time.Now()}:
		if s.enough() {
			s.hasten()
		}
		s.extractor.hear(e)
		return true
	default:
		return false
	}
}

// clip cuts text to at most so many bytes, at a character, and lets go of the
// rest.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}

	return strings.Clone(text[:end])
}

// Sync waits until everything queued before the call is written. It returns
// ctx's error when that ends first, and [ErrClosed] on a closed store.
func (s *Store) Sync(ctx context.Context) error {
	mark := make(chan struct{})
	s.syncing.Add(1)
	defer s.syncing.Add(-1)
	if err := s.send(ctx, job{mark: mark}); err != nil {
		return err
	}
	s.hasten()
	select {
	case <-mark:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Store) send(ctx context.Context, j job) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return ErrClosed
	}
	select {
	case s.queue <- j:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enough reports whether so many exchanges wait that the writer need not wait
// for more: a batch, or half a queue that is smaller.
func (s *Store) enough() bool { return len(s.queue) >= min(maxBatch, max(1, cap(s.queue)/2)) }

// hasten makes the writer take what is queued at once.
func (s *Store) hasten() {
	select {
	case s.hurry <- struct{}{}:
	default: // it will
	}
}

// run is the writer: it takes what is queued, for maxWait or up to maxBatch,
// into one transaction at a time, until the queue is closed and empty.
func (s *Store) run() {
	defer close(s.done)
	s.awaitFile()
	purged := s.cfg.Clock()
	for open := true; open; {
		var first job
		select {
		case first, open = <-s.queue:
			if !open {
				return
			}
			s.process(s.collect(first))
		case <-s.faults:
			s.awaitFile()
		}
		if now := s.cfg.Clock(); now.Sub(purged) >= purgeEvery {
			purged = now
			if err := s.purge(context.Background()); err != nil {
				s.cfg.Logger.Error("purging turns", "error", err)
			}
		}
	}
}

// awaitFile waits until a file that can't be used can be, or the store closes.
func (s *Store) awaitFile() {
	for wait := firstRetry; s.broken.Load() != nil && !s.isClosing(); wait = min(2*wait, lastRetry) {
		s.pause(wait)
		s.written(s.write(context.Background(), func(context.Context, *txn) error { return nil }))
	}
}

// pause waits for a time, or until the store closes.
func (s *Store) pause(wait time.Duration) {
	select {
	case <-s.closing:
	case <-time.After(wait):
	}
}

// written notes whether the file could be written.
func (s *Store) written(err error) {
	switch {
	case err != nil:
		s.failed(err)
		s.fault(err)
	case s.broken.Swap(nil) != nil:
		s.cfg.Logger.Info("memory can be used again")
	}
}

// batch is what goes into one transaction.
type batch struct {
	lessons []lesson
	mark    chan struct{} // the last job's, or nil
}

// collect lets jobs gather and takes them from the queue, the first given,
// until there are enough, no other is there, or one is a mark: somebody waits
// for that.
func (s *Store) collect(first job) batch {
	var b batch
	if first.mark == nil {
		s.gather(first.queued)
	}
	j, open := first, true
	for n := 1; open; n++ {
		if j.mark != nil {
			b.mark = j.mark
			return b
		}
		if l, ok := s.read(j.exchange); ok {
			b.lessons = append(b.lessons, l)
		}
		if n == maxBatch {
			return b
		}
		select {
		case j, open = <-s.queue:
		default:
			return b
		}
	}

	return b
}

// gather waits until the first of a batch has waited for maxWait, unless there
// is a reason to hurry. It doesn't receive meanwhile: being woken for each
// exchange is a cost to the requests.
func (s *Store) gather(since time.Time) {
	if s.syncing.Load() > 0 || s.enough() {
		return
	}
	timer := time.NewTimer(maxWait - time.Since(since))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.hurry:
	case <-s.closing:
	}
}

// The waits between two attempts at a file that can't be written.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// process writes a batch, then answers its mark. A file that can't be written
// at all is tried again until the store is closed, while the queue takes what
// it can. When otherwise the whole doesn't go through, each lesson is tried
// alone, so that a bad one takes no other with it.
func (s *Store) process(b batch) {
	err := s.writeAll(b.lessons)
	for wait := firstRetry; s.failed(err); wait = min(2*wait, lastRetry) {
		s.fault(err)
		s.pause(wait)
		last := s.isClosing()
		if err = s.writeAll(b.lessons); last {
			break
		}
	}
	if err != nil && len(b.lessons) > 1 && !sqlite.Unavailable(err) {
		err = nil
		for i := range b.lessons {
			err = errors.Join(err, s.writeAll(b.lessons[i:i+1]))
		}
	}
	if err != nil {
		if sqlite.Unavailable(err) { // closing: they are lost
			for range b.lessons {
				s.cfg.OnLearned("", "failed")
			}
		}
		s.broken.Store(&err)
		s.cfg.Logger.Error("learning", "error", err)
	} else if len(b.lessons) > 0 {
		s.written(nil)
	}
	if b.mark != nil {
		close(b.mark)
	}
}

func (s *Store) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

// writeAll learns the lessons in one transaction and reports what became of it.
func (s *Store) writeAll(lessons []lesson) error {
	if len(lessons) == 0 {
		return nil
	}
	var done []learned
	err := s.write(context.Background(), func(ctx context.Context, tx *txn) error {
		for i := range lessons {
			got, err := lessons[i].write(ctx, tx)
			if err != nil {
				return err
			}
			done = append(done, got...)
		}

		return nil
	})
	if err != nil {
		if len(lessons) == 1 && !sqlite.Unavailable(err) {
			s.cfg.OnLearned("", "failed")
		}

		return fmt.Errorf("writing %d exchanges: %w", len(lessons), err)
	}
	for i := range done {
		l := &done[i]
		s.cfg.OnLearned(l.typ, l.Outcome.Outcome)
		if s.cfg.OnNews != nil && (l.Outcome.Outcome == Stored || l.Outcome.Outcome == Superseded) {
			s.cfg.OnNews(l.news())
		}
	}

	return nil
}

// learned is what became of one statement of an exchange.
type learned struct {
	Outcome
	exchange *Exchange
	typ      Type
	content  string
	was      string // of the memory whose place it took, if news of it are wanted
}

// News is a memory that was stored because of what somebody said.
type News struct {
	ID                  string // of the memory
	Tenant, Agent, User string
	Channel             string
	Private             bool
	Session, Name       string
	At                  time.Time // when it was said
	Type                Type
	Content             string // as stored: one line, secrets redacted
	Was                 string // what it took the place of, "" for nothing
}

func (l *learned) news() News {
	e := l.exchange

	return News{
		ID: l.ID, Tenant: e.Scope.tenant, Agent: e.Scope.agent, User: e.Scope.user, Channel: e.Channel, Private: e.Private,
		Session: e.Session, Name: e.Name, At: e.At, Type: l.typ, Content: l.content, Was: l.was,
	}
}
