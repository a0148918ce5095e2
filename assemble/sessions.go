package assemble

import (
	"container/list"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// TurnKey identifies a human turn of a conversation by its place and its words.
type TurnKey struct {
	index int
	sum   [sha256.Size]byte
}

// KeyOf returns the key of the human message that stands at index in the request's messages. text is the human's own
// text, as the client sent it.
func KeyOf(index int, text string) TurnKey {
	return TurnKey{index: index, sum: sha256.Sum256([]byte(text))}
}

// SessionOptions configure [Sessions]. The zero value is not usable; start from [DefaultSessionOptions].
type SessionOptions struct {
	// CacheTTL is how long after its last use a provider still has a conversation in its prompt cache. Beyond it
	// nothing is gained by resending the same bytes, so an epoch idle for longer has ended.
	CacheTTL time.Duration
	// MaxSessions and MaxBytes bound what is kept; the least recently used conversations go first. Bytes are an
	// estimate of the memory held.
	MaxSessions, MaxBytes int
	// Clock tells the time.
	Clock func() time.Time
}

// DefaultSessionOptions returns the shipped values: five minutes, 10,000 sessions, 32 MiB, the real clock.
func DefaultSessionOptions() SessionOptions {
	return SessionOptions{CacheTTL: 5 * time.Minute, MaxSessions: 10_000, MaxBytes: 32 << 20, Clock: time.Now}
}

// Sessions keeps what was added to each conversation, in epochs. An epoch begins with a system block, which stays as
// it is; each later human turn may get a prefix, which is recorded and comes again wherever that turn does: in the
// requests of later turns, of a tool loop, of a retry or a regenerated answer. An epoch ends when it has been idle for
// longer than the provider's cache lives, when its additions outgrow the assembler's budget, or by [Sessions.Drop].
//
// It is safe for concurrent use: of several requests for the same turn one renders and all get its bytes.
type Sessions struct {
	assembler *Assembler
	opts      SessionOptions

	// mu guards what follows, epochs included. A plan takes some 10 to 60 µs, all of it computing, so one lock is enough.
	mu     sync.Mutex
	byKey  map[string]*list.Element // of *epoch
	recent *list.List               // of *epoch, most recently used first
	bytes  int
	opened int // epochs so far
}

// NewSessions returns an empty Sessions that renders with a. It errs on options that aren't positive.
func NewSessions(a *Assembler, opts SessionOptions) (*Sessions, error) {
	var errs []error
	if opts.CacheTTL <= 0 {
		errs = append(errs, fmt.Errorf("cache TTL is %v, want more than 0", opts.CacheTTL))
	}
	if opts.MaxSessions <= 0 || opts.MaxBytes <= 0 {
		errs = append(errs, fmt.Errorf("bounds are %d sessions and %d bytes, want more than 0",
			opts.MaxSessions, opts.MaxBytes))
	}
	if a == nil || opts.Clock == nil {
		errs = append(errs, errors.New("assembler or clock is missing"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("checking session options: %w", err)
	}
	return &Sessions{assembler: a, opts: opts, byKey: map[string]*list.Element{}, recent: list.New()}, nil
}

// Plan is what to add to one request.
type Plan struct {
	// Assembled is the account of this request: the block and the newest turn's prefix, with frames and characters
	// counted over all prefixes.
	Assembled
	// Prefixes maps indices into the turns of the request to the text that goes before each, followed by
	// [Separator]. Turns without one are absent. The newest turn's is also Assembled.UserPrefix.
	Prefixes map[int]string
	// TextBytes is the size of all sections in all texts, without their containers; ScaffoldBytes is how much of it is
	// response scaffold.
	TextBytes, ScaffoldBytes int
	// Epoch numbers the epoch that the request belongs to; another number means other bytes. It is 0 when nothing is
	// kept.
	Epoch int
}

// Plan returns what to add to a request of the conversation named key, whose human turns are turns, oldest first, the
// newest being the one that in describes.
//
// The key must tell apart everyone who may not see each other's memories: two users who share a session need two keys.
// With an empty key, or in [PlacementSystem], nothing is kept and the prompt is rendered afresh.
func (s *Sessions) Plan(key string, turns []TurnKey, in Input) Plan {
	if key == "" || s.assembler.opts.Placement == PlacementSystem {
		e := s.assembler.open(0, turns, in)
		return e.plan(turns, in)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Clock()
	s.expire(now)

	e := s.find(key)
	if e == nil || !e.extend(s.assembler, turns, in) {
		s.opened++
		fresh := s.assembler.open(s.opened, turns, in)
		s.remove(e)
		e = fresh
		e.key = key
		s.byKey[key] = s.recent.PushFront(e)
	}
	e.used = now
	s.recent.MoveToFront(s.byKey[key])
	s.bytes += e.grown()
	plan := e.plan(turns, in)
	s.evict()
	return plan
}

// Drop ends every epoch that match approves, so that what it holds is never sent again, and returns their number.
// match sees the conversation's key and the IDs of the frames that its additions show; it must not call s.
func (s *Sessions) Drop(match func(key string, frameIDs []string) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	dropped := 0
	for _, element := range s.byKey {
		if e := epochOf(element); match(e.key, e.frameIDs()) {
			s.remove(e)
			dropped++
		}
	}
	return dropped
}

// Len returns the number of conversations kept.
func (s *Sessions) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}

func (s *Sessions) find(key string) *epoch {
	if element := s.byKey[key]; element != nil {
		return epochOf(element)
	}
	return nil
}

// expire removes what has been idle for too long. The list is in order of use, so it looks no further than it has to.
func (s *Sessions) expire(now time.Time) {
	for last := s.recent.Back(); last != nil && now.Sub(epochOf(last).used) > s.opts.CacheTTL; last = s.recent.Back() {
		s.remove(epochOf(last))
	}
}

func (s *Sessions) evict() {
	for len(s.byKey) > s.opts.MaxSessions || s.bytes > s.opts.MaxBytes {
		s.remove(epochOf(s.recent.Back()))
	}
}

func (s *Sessions) remove(e *epoch) {
	if e == nil {
		return
	}
	s.recent.Remove(s.byKey[e.key])
	delete(s.byKey, e.key)
	s.bytes -= e.bytes
}

func epochOf(element *list.Element) *epoch { return element.Value.(*epoch) }
