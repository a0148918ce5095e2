package memory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxTurn bounds each text of a queued exchange, in bytes: what a person
	// types is far shorter, and pasted files teach nothing.
	maxTurn = 32 << 10

	// maxBatch bounds the exchanges of one transaction, so that a forget or an
	// add waits a few milliseconds at most.
	maxBatch = 128

	// purgeEvery is how often turns past their TTL are looked for.
	purgeEvery = time.Hour
)

// Exchange is one human message and the answer to it.
type Exchange struct {
	Scope     Scope
	Session   string
	Channel   string
	RequestID string
	At        time.Time // when it was said; zero: now

	UserText      string // what memories are learned from
	AssistantText string // kept as a turn, never learned from
}

// job is an entry of the queue: an exchange, or a mark whose channel is closed
// once all before it is written.
type job struct {
	exchange Exchange
	mark     chan struct{}
}

// Learn queues an exchange and returns at once. False says that it was
// dropped, because the queue is full or the store closed. Texts are cut to 32
// KiB each.
func (s *Store) Learn(e Exchange) bool {
	if s.cfg.Capture == CaptureOff {
		return true
	}
	if e.At.IsZero() {
		e.At = s.cfg.Clock()
	}
	e.UserText, e.AssistantText = clip(e.UserText, maxTurn), clip(e.AssistantText, maxTurn)

	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	select {
	case s.queue <- job{exchange: e}:
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
	if err := s.send(ctx, job{mark: mark}); err != nil {
		return err
	}
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

// run is the writer: it takes what is queued, up to maxBatch, into one
// transaction at a time, until the queue is closed and empty.
func (s *Store) run() {
	defer close(s.done)
	purged := s.cfg.Clock()
	for first := range s.queue {
		jobs := []job{first}
		for len(jobs) < maxBatch && len(s.queue) > 0 {
			next, ok := <-s.queue
			if !ok {
				break
			}
			jobs = append(jobs, next)
		}
		s.process(jobs)

		if now := s.cfg.Clock(); now.Sub(purged) >= purgeEvery {
			purged = now
			if err := s.purge(context.Background()); err != nil {
				s.cfg.Logger.Error("purging turns", "error", err)
			}
		}
	}
}

// process writes the exchanges among jobs, then answers the marks. When the
// whole doesn't go through, each is tried alone, so that a bad one takes no
// other with it.
func (s *Store) process(jobs []job) {
	var batch []Exchange
	for _, j := range jobs {
		if j.mark == nil {
			batch = append(batch, j.exchange)
		}
	}

	err := s.writeAll(batch)
	if err != nil && len(batch) > 1 {
		err = nil
		for _, e := range batch {
			err = errors.Join(err, s.writeAll([]Exchange{e}))
		}
	}
	switch {
	case err != nil:
		s.broken.Store(&err)
		s.cfg.Logger.Error("learning", "error", err)
	case len(batch) > 0:
		s.broken.Store(nil)
	}

	for _, j := range jobs {
		if j.mark != nil {
			close(j.mark)
		}
	}
}

// writeAll learns the batch in one transaction and reports what became of it.
func (s *Store) writeAll(batch []Exchange) error {
	if len(batch) == 0 {
		return nil
	}
	var done []learned
	err := s.write(context.Background(), func(ctx context.Context, tx *txn) error {
		for _, e := range batch {
			got, err := s.writeOne(ctx, tx, e)
			if err != nil {
				return err
			}
			done = append(done, got...)
		}

		return nil
	})
	if err != nil {
		if len(batch) == 1 {
			s.cfg.OnLearned("", "failed")
		}

		return fmt.Errorf("writing %d exchanges: %w", len(batch), err)
	}
	for _, l := range done {
		s.cfg.OnLearned(l.typ, l.outcome)
	}

	return nil
}

// learned is one count for OnLearned.
type learned struct {
	typ     Type
	outcome string
}

const (
	insertExchange = `INSERT INTO exchanges (tenant, agent, user, session, channel, request_id, at, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	insertTurn   = `INSERT INTO turns (exchange, role, text) VALUES (?, ?, ?)`
	insertSource = `INSERT OR IGNORE INTO sources (memory, exchange) VALUES (?, ?)`
)

// writeOne stores the exchange's turns and memories. One that was forgotten
// leaves nothing.
func (s *Store) writeOne(ctx context.Context, tx *txn, e Exchange) ([]learned, error) {
	if e.Scope.check() != nil {
		return nil, nil
	}
	text := cleanText(stripInjected(e.UserText))
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	hash := e.Scope.hash("exchange", text)
	if gone, err := forgotten(ctx, tx, hash); err != nil || gone {
		return nil, err
	}

	exchange, err := s.writeTurns(ctx, tx, e, text, hash)
	if err != nil {
		return nil, err
	}

	var done []learned
	for _, d := range extract(text) {
		d.at, d.source = e.At, SourceUser
		out, n, err := put(ctx, tx, e.Scope, d)
		if err != nil {
			return nil, err
		}
		done = append(done, learned{d.typ, out.Outcome})
		if n != 0 && exchange != 0 {
			if _, err = tx.ExecContext(ctx, insertSource, n, exchange); err != nil {
				return nil, err
			}
		}
	}

	return done, nil
}

// writeTurns stores what was said and returns the exchange's row, or 0 when
// turns aren't captured.
func (s *Store) writeTurns(ctx context.Context, tx *txn, e Exchange, text string, hash []byte) (int64, error) {
	if s.cfg.Capture != CaptureTurns {
		return 0, nil
	}
	res, err := tx.ExecContext(ctx, insertExchange, e.Scope.tenant, e.Scope.agent, e.Scope.user,
		toText(e.Session), toText(e.Channel), toText(e.RequestID), e.At.UnixMilli(), hash)
	if err != nil {
		return 0, err
	}
	n, err := res.LastInsertId()
	if err != nil {
		return 0, err
	}
	if _, err = tx.ExecContext(ctx, insertTurn, n, "user", Redact(text)); err != nil {
		return 0, err
	}
	if answer := cleanText(stripInjected(e.AssistantText)); answer != "" {
		_, err = tx.ExecContext(ctx, insertTurn, n, "assistant", Redact(answer))
	}

	return n, err
}
