package memory

import (
	"context"
	"fmt"
	"unicode/utf8"
)

const (
	// defaultRecall and maxRecall bound the items that a search returns.
	defaultRecall = 10
	maxRecall     = 50

	// candidates is how many of the best word matches are looked at closely.
	candidates = 64

	// The budget of what is pinned: it goes into every prompt, so it has to
	// stay small. About 600 tokens.
	maxPinned      = 16
	maxPinnedChars = 2400
)

// Query asks for what bears on a text.
type Query struct {
	Text    string
	Limit   int     // Items at most; 0: 10, at most 50
	Floor   float64 // least Score of Items, in [0, 1]
	Profile string  // balanced (default), recent, important or connected
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

const selectPinned = `SELECT ` + columns + ` FROM memories m
	WHERE m.tenant = ? AND m.agent = ? AND m.user = ? AND m.type IN ('identity', 'preference')
	AND m.status = 'active' AND m.valid_to IS NULL
	ORDER BY m.type = 'identity' DESC, m.attribute IN ('language', 'instruction') DESC, m.n DESC LIMIT ?`

const selectMatches = `SELECT ` + columns + `, f.relevance, f.text
	FROM (SELECT rowid AS n, -rank AS relevance, text FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rank LIMIT ?) f
	JOIN memories m ON m.n = f.n
	WHERE m.tenant = ? AND m.agent = ? AND m.user IN ('', ?) AND m.status = 'active' AND m.valid_to IS NULL
	ORDER BY f.relevance DESC, m.n DESC`

// Recall returns what the scope remembers that bears on the query: from the
// workspace and from that user alone. Quarantined memories, history, and what
// [Scan] no longer allows are left out. It reads only, ends with ctx, and errs
// with ctx's error, [ErrScope], or what the file says.
func (s *Store) Recall(ctx context.Context, scope Scope, q Query) (Recalled, error) {
	if err := scope.check(); err != nil {
		return Recalled{}, fmt.Errorf("recalling: %w", err)
	}
	pinned, err := s.pinned(ctx, scope)
	if err != nil {
		return Recalled{}, fmt.Errorf("recalling what is pinned: %w", err)
	}
	items, err := s.search(ctx, scope, q, pinned)
	if err != nil {
		return Recalled{}, fmt.Errorf("recalling by words: %w", err)
	}

	return Recalled{Pinned: pinned, Items: items}, nil
}

// pinned returns the user's standing memories within their budget.
func (s *Store) pinned(ctx context.Context, scope Scope) ([]Item, error) {
	if scope.user == "" {
		return nil, nil
	}
	rows, err := s.pinnedStmt.QueryContext(ctx, scope.tenant, scope.agent, scope.user, 2*maxPinned)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var out []Item
	chars := 0
	for rows.Next() && len(out) < maxPinned {
		item, _, err := scanItem(rows)
		if err != nil {
			return nil, err
		}
		size := utf8.RuneCountInString(item.Content)
		if chars+size > maxPinnedChars || Scan(item.Content).Action != Allow {
			continue
		}
		chars += size
		item.Score, item.Why = 1, "pinned "+string(item.Type)
		out = append(out, item)
	}

	return out, rows.Err()
}

// search returns the items that share enough words with the query, best first,
// without those in pinned.
func (s *Store) search(ctx context.Context, scope Scope, q Query, pinned []Item) ([]Item, error) {
	words := queryTokens(q.Text)
	if len(words) == 0 {
		return nil, nil
	}
	rows, err := s.matchesStmt.QueryContext(ctx, matchQuery(scope.visible(), words), candidates,
		scope.tenant, scope.agent, scope.user)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	ranker := newRanker(q, words, s.cfg.Clock())
	for _, item := range pinned {
		ranker.skip(item.ID)
	}
	for rows.Next() {
		var relevance float64
		var text string
		item, _, err := scanItem(rows, &relevance, &text)
		if err != nil {
			return nil, err
		}
		ranker.add(item, relevance, text)
	}
	if err = rows.Err(); err != nil {
		return nil, err
	}

	return ranker.best(), nil
}
