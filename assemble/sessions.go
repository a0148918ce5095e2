package assemble

import (
	"container/list"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"
)

// TurnKey identifies a human turn of a conversation by its place and its words.
type TurnKey struct {
	index int
	sum   [16]byte
}

// KeyOf returns the key of the human message that stands at index in the request's messages. text is the human's own
// text, as the client sent it.
func KeyOf(index int, text string) TurnKey {
	sum := sha256.Sum256([]byte(text))
	return TurnKey{index: index, sum: [16]byte(sum[:16])}
}

// Conversation names a conversation and whose it is. What was recalled for one user must not be shown to another, so two
// users who share a session have two conversations. Two requests that may not see the same memories, because one of them
// asks for none, need two sessions.
type Conversation struct {
	Tenant, Agent, User string
	Session             string // empty: nothing is kept of it
}

// Journal outlives the process: what is appended is handed to [Sessions.Restore] after a restart. Append must neither
// block nor keep the record. Rewrite writes the journal anew from [Sessions.Snapshot], so that what was dropped is gone
// from the disk when it returns.
type Journal interface {
	Append(record []byte)
	Rewrite(context.Context) error
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
// longer than the provider's cache lives, when its additions outgrow the assembler's budget, when the operator's own
// texts change, or by [Sessions.Drop].
//
// It is safe for concurrent use: of several requests for the same turn one renders and all get its bytes.
type Sessions struct {
	assembler *Assembler
	opts      SessionOptions

	// mu guards what follows, epochs included. A plan takes a few µs, all of it computing, so one lock is enough.
	mu      sync.Mutex
	byKey   map[Conversation]*list.Element // of *epoch
	recent  *list.List                     // of *epoch, most recently used first
	bytes   int
	opened  int     // epochs so far
	journal Journal // nil: epochs end with the process
	record  []byte  // of the journal, while it is made
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
	return &Sessions{assembler: a, opts: opts, byKey: map[Conversation]*list.Element{}, recent: list.New()}, nil
}

// Keep has the epochs kept in a journal from now on. It is called once, after what the journal holds was restored.
func (s *Sessions) Keep(j Journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = j
}

// Plan is what to add to one request.
type Plan struct {
	// SystemBlock is appended to the client's system prompt after [Separator].
	SystemBlock string
	// Prefixes are the texts that go before turns, in the order of the turns; turns without one are absent.
	Prefixes []Prefix
	// UserPrefix is the newest turn's text, also the last of Prefixes; empty for none.
	UserPrefix string
	// Scaffold is the response scaffold in use, part of one of the texts; empty for none.
	Scaffold string
	// HeldOut says that there is no scaffold for no other reason than [Input].HeldOut.
	HeldOut bool
	// FramesUsed counts the notes in all texts, Memories those of them that are memories, having an ID, and TotalChars
	// their characters. TextBytes is the size of all sections in all texts, without their containers; ScaffoldBytes is
	// how much of it is response scaffold.
	FramesUsed, Memories, TotalChars, TextBytes, ScaffoldBytes int
	// Epoch numbers the epoch that the request belongs to; another number means other bytes. It is 0 when nothing is
	// kept.
	Epoch int

	in             Input // without its texts and frames
	block, newest  *piece
	key            Conversation
	opened, turned bool // this plan began the epoch, or rendered the newest turn's prefix
	turn           TurnKey
}

// Began reports whether this plan began its epoch, so that whatever was sent in the conversation before is not sent
// again the same.
func (p *Plan) Began() bool { return p.opened }

// Prefix is the text that goes before one turn of a request, followed by [Separator].
type Prefix struct {
	Turn int // index into the turns that were planned for
	Text string

	piece *piece
}

// Blocks lists the sections of the prefix of a turn that isn't the newest, in order. None of them is volatile: what an
// earlier turn was sent with comes again as it was, scaffold included.
func (p *Prefix) Blocks() []Block {
	var out Assembled
	out.list(PartUserPrefix, p.piece)
	for i := range out.Blocks {
		if b := &out.Blocks[i]; b.Stability == volatile {
			b.Stability = frozen
		}
	}
	return out.Blocks
}

// Account tells of the block and the newest turn's prefix in full, with frames and characters counted over all texts;
// [Prefix.Blocks] tells of the earlier turns'.
// Of the zero Plan it tells nothing.
func (p *Plan) Account() Assembled {
	if p.block == nil {
		return Assembled{}
	}
	return account(&p.in, p.block, p.newest, p.Prefixes)
}

// MemoryIDs lists the memories and asides that all texts show.
func (p *Plan) MemoryIDs() []string { return p.Account().FrameIDs }

// Fill completes an input with what memory knows. It is asked only for a turn that nothing was rendered for yet, and
// then for what a search found for the query; with opening also for everything that an epoch opens with.
type Fill func(in *Input, opening bool) error

// need is what a plan needs of memory.
type need int8

const (
	needNothing need = iota
	needRecalled
	needAll
)

// Plan returns what to add to a request of the conversation key, whose human turns are turns, oldest first, the
// newest being the one that in describes. fill is called at most twice, without any lock; nil says that in is complete.
// The only errors are fill's.
//
// Without a session, or in [PlacementSystem], nothing is kept and the prompt is rendered afresh.
func (s *Sessions) Plan(key Conversation, turns []TurnKey, in Input, fill Fill) (Plan, error) {
	have := needNothing
	if fill == nil {
		have = needAll
	}
	if key.Session == "" || s.assembler.opts.Placement == PlacementSystem {
		if have < needAll {
			if err := fill(&in, true); err != nil {
				return Plan{}, err
			}
		}
		plan := s.assembler.open(Conversation{}, 0, turns, &in).plan(turns, &in)
		plan.HeldOut = in.HeldOut && s.assembler.due(&in) != ""
		return plan, nil
	}
	for {
		plan, wants := s.attempt(key, turns, &in, have)
		if wants <= have {
			return plan, nil
		}
		if err := fill(&in, wants == needAll); err != nil {
			return Plan{}, err
		}
		have = wants
	}
}

// attempt plans with what it has of memory, or says what it needs.
func (s *Sessions) attempt(key Conversation, turns []TurnKey, in *Input, have need) (Plan, need) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.opts.Clock()
	s.expire(now)

	e := s.find(key)
	opened, turned := false, false
	if e != nil {
		newest := len(turns) - 1
		switch {
		case e.edition != in.Edition, !e.fits(s.assembler, turns):
			e = nil
		case newest < 0 || e.turns[turns[newest]] != nil:
			e.passOver(turns) // which an edited history can make new
		case have < needRecalled:
			return Plan{}, needRecalled
		case e.extend(s.assembler, turns, in) == nil:
			e = nil
		default:
			turned = true
		}
	}
	if e == nil {
		if have < needAll {
			return Plan{}, needAll
		}
		e, opened = s.begin(key, turns, in), true
	}
	e.used = now
	s.recent.MoveToFront(s.byKey[key])
	s.bytes += e.grown()
	s.log(e, opened)
	plan := e.plan(turns, in)
	plan.key, plan.opened, plan.turned = key, opened, turned
	plan.HeldOut = in.HeldOut && plan.Scaffold == "" && s.assembler.due(in) != ""
	if n := len(turns); n > 0 {
		plan.turn = turns[n-1]
	}
	s.evict()
	return plan, needNothing
}

// begin opens an epoch in the place of the one there is.
func (s *Sessions) begin(key Conversation, turns []TurnKey, in *Input) *epoch {
	s.opened++
	e := s.assembler.open(key, s.opened, turns, in)
	s.remove(s.find(key))
	s.byKey[key] = s.recent.PushFront(e)
	return e
}

// Withdraw takes back what a plan was the first to render, because no model has read it: the next plan for the same
// turn may render it anew, for another model. It does nothing to what an earlier request was answered with.
func (s *Sessions) Withdraw(p *Plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(p.key)
	switch {
	case e == nil || e.number != p.Epoch:
	case p.opened && e.served <= 1:
		s.logWithdrawn(e, nil)
		s.remove(e)
	case p.turned && e.turns[p.turn] != nil:
		e.forget(p.turn)
		s.bytes += e.grown()
		s.logWithdrawn(e, &p.turn)
	}
}

// Drop ends every epoch that match approves, so that what it holds is never sent again, and returns their number.
// Rendered notes that are kept for reuse go, too, and so do the dropped bytes in the journal's file; the error says why
// they could not. match sees whose the conversation is and the IDs of the memories that its additions show; it must not
// call s.
func (s *Sessions) Drop(ctx context.Context, match func(whose Conversation, memories []string) bool) (int, error) {
	dropped, journal := s.drop(match)
	s.assembler.lines.clear()
	if dropped == 0 || journal == nil {
		return dropped, nil
	}
	if err := journal.Rewrite(ctx); err != nil {
		return dropped, fmt.Errorf("taking dropped prompts from the journal: %w", err)
	}
	return dropped, nil
}

func (s *Sessions) drop(match func(Conversation, []string) bool) (dropped int, _ Journal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, element := range s.byKey {
		if e := epochOf(element); match(e.key, e.frameIDs()) {
			s.remove(e)
			dropped++
		}
	}
	return dropped, s.journal
}

// Len returns the number of conversations kept.
func (s *Sessions) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}

func (s *Sessions) find(key Conversation) *epoch {
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
