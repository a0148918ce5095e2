package memory

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
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

	if s.queue.Put(e) != nil {
		return false
	}
	s.extractor.hear(e)

	return true
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
	return s.queue.Sync(ctx)
}

// learn is the writer's: it learns a batch of exchanges in one transaction, and
// purges old turns when that is due. Without a batch it waits for a file that
// can't be used.
func (s *Store) learn(exchanges []Exchange) {
	var lessons []lesson
	for _, e := range exchanges {
		if l, ok := s.readSafely(e); ok {
			lessons = append(lessons, l)
		}
	}
	if err := s.broken.Load(); len(lessons) > 0 || err != nil && sqlite.Unavailable(*err) {
		s.process(lessons)
	}
	if now := s.cfg.Clock(); now.Sub(s.purged) >= purgeEvery {
		s.purged = now
		if err := s.purge(context.Background()); err != nil {
			s.cfg.Logger.Error("purging turns", "error", err)
		}
	}
}

// readSafely is read, without what a fault in a rule does to the process:
// anybody may write the text that meets it.
func (s *Store) readSafely(e Exchange) (l lesson, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			s.cfg.OnLearned("", "failed")
			s.cfg.Logger.Error("reading an exchange", "panic", p, "stack", string(debug.Stack()))
			ok = false
		}
	}()

	return s.read(e)
}

// process writes lessons. When the whole doesn't go through, each lesson is
// tried alone, so that a bad one takes no other with it.
func (s *Store) process(lessons []lesson) {
	err := s.keep(lessons)
	if err != nil && len(lessons) > 1 && !sqlite.Unavailable(err) {
		err = nil
		for i := range lessons {
			err = errors.Join(err, s.keep(lessons[i:i+1]))
		}
	}
	if err != nil {
		s.broken.Store(&err)
		s.cfg.Logger.Error("learning", "error", err)
	} else if s.broken.Swap(nil) != nil {
		s.cfg.Logger.Info("memory can be used again")
	}
}

// keep is writeAll, tried again until the store is closed while the file can't
// be written at all. The queue takes what it can meanwhile.
func (s *Store) keep(lessons []lesson) (err error) {
	s.queue.Retry(func() bool {
		err = s.writeAll(lessons)
		if !s.failed(err) && (err == nil || len(lessons) > 0) {
			return true
		}
		s.fault(err)

		return false
	})
	if sqlite.Unavailable(err) { // closing: they are lost
		for range lessons {
			s.cfg.OnLearned("", "failed")
		}
	}

	return err
}

// writeAll learns the lessons in one transaction and reports what became of it.
func (s *Store) writeAll(lessons []lesson) error {
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
