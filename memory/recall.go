package memory

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"
)

const (
	// defaultRecall and maxRecall bound the items that a search returns.
	defaultRecall = 10
	maxRecall     = 50

	// The budget of what is pinned: it goes into every prompt, so it has to
	// stay small. About 600 tokens. Of a scope's standing memories the first
	// pinCandidates are tried.
	maxPinned      = 16
	maxPinnedChars = 2400
	pinCandidates  = 2 * maxPinned
)

// Query asks for what bears on a text.
type Query struct {
	// Text is what somebody said. A question that only asks where the
	// conversation was left ("where were we?") is answered by what is
	// important and recent; any other text by the words it shares.
	Text string

	Limit   int     // Items at most; 0: 10, at most 50
	Floor   float64 // least Score of Items, in [0, 1]
	Profile string  // balanced (default), recent, important or connected

	// NoGate lets everything through that matches at all, best first, up to
	// Limit: for measuring, and for who looks for something himself. Nothing is
	// pinned and nothing caught up with.
	NoGate bool
}

// Recalled is what a query brought back. No memory is in both lists.
type Recalled struct {
	// Pinned holds who the user is, then the standing instructions, then the
	// preferences, the newest of each first, within a small budget. They are
	// there whatever the query says, since it shares no words with them.
	Pinned []Item `json:"pinned"`

	// Items holds what the query's words find, best first; often nothing.
	Items []Item `json:"items"`
}

// Values of [Item.Why], where no words are shared.
const (
	whyIdentity   = "pinned identity"
	whyPreference = "pinned preference"
	whyCatchUp    = "important or recent"
)

// recallRequest is a query, read.
type recallRequest struct {
	Query
	words   []string // to search for, without repeats
	catchUp bool
	plain   bool // nothing is pinned
	profile profile
	now     time.Time

	outer    func() outer // the query's vector by the embedder's model; nil: there is no embedder
	minOuter float32      // the cosine of it from which on a memory passes
}

func (s *Store) parse(q Query) recallRequest {
	return recallRequest{
		Query: q, words: queryTokens(q.Text), plain: q.NoGate, catchUp: !q.NoGate && catchesUp(q.Text),
		profile: profileNamed(q.Profile), now: s.cfg.Clock(),
	}
}

// Recall returns what the scope remembers that bears on the query: from the
// workspace and from that user alone. Quarantined memories, history, and what
// [Scan] no longer allows are left out. The answer comes from an index in RAM;
// while a scope's index loads, and for a scope too large for one, it comes
// from the file, where scores may differ a little. It reads only, ends with
// ctx, and errs with ctx's error, [ErrScope], or what the file says.
func (s *Store) Recall(ctx context.Context, scope Scope, q Query) (Recalled, error) {
	if err := scope.check(); err != nil {
		return Recalled{}, fmt.Errorf("recalling: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Recalled{}, fmt.Errorf("recalling: %w", err)
	}

	return s.answer(ctx, scope, s.parse(q))
}

// Search is Recall with its results in one list: of what is pinned, only the
// answer to a question about oneself. It waits for the scope's index. It errs
// with [ErrScope] or [ErrProfile], or what the file says.
func (s *Store) Search(ctx context.Context, scope Scope, q Query) ([]Item, error) {
	if err := scope.check(); err != nil {
		return nil, fmt.Errorf("searching memories: %w", err)
	}
	switch q.Profile {
	case "", "balanced", "recent", "important", "connected":
	default:
		return nil, fmt.Errorf("searching memories: %w %q", ErrProfile, clip(q.Profile, maxLabel))
	}

	r := s.parse(q)
	r.plain = true
	s.index.await(ctx, scope)
	got, err := s.answer(ctx, scope, r)
	attributes := askedOf(q.Text)
	if err != nil || q.NoGate || len(attributes) == 0 {
		return got.Items, err
	}
	r.plain = false
	standing, err := s.answer(ctx, scope, r)

	return answersFirst(attributes, standing.Pinned, got.Items, q.limit()), err
}

func (s *Store) answer(ctx context.Context, scope Scope, r recallRequest) (Recalled, error) {
	if !s.opened.Load() {
		return Recalled{}, fmt.Errorf("recalling: %w", errUnopened)
	}
	if e := s.embedder; e != nil {
		r.minOuter, r.outer = float32(e.MinCosine), func() outer { return e.query(scope, r.Text) }
	}
	got, indexed := s.index.recall(scope, r)
	s.cfg.OnIndex(indexed)
	var err error
	if !indexed {
		got, err = s.recallFile(ctx, scope, r)
	}
	if err == nil && r.Profile == "connected" && !r.catchUp {
		err = s.connected(ctx, scope, r, &got)
	}
	s.readFailed(err)

	return got, err
}

// pins collects what is pinned, within the budget.
type pins struct {
	items []Item
	chars int
}

func (p *pins) full() bool { return len(p.items) == maxPinned }

// add takes an item if there is room for it.
func (p *pins) add(item *Item) bool {
	size := utf8.RuneCountInString(item.Content)
	if p.full() || p.chars+size > maxPinnedChars {
		return false
	}
	p.chars += size
	why := whyPreference
	if item.Type == Identity {
		why = whyIdentity
	}
	p.items = append(p.items, *item)
	last := &p.items[len(p.items)-1]
	last.Score, last.Why = 1, why

	return true
}
