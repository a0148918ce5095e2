package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// candidates is how many of the best word matches in the file, or of the
// newest memories for a catch-up question, are looked at closely.
const candidates = 64

const (
	recallable = ` AND m.status = 'active' AND m.valid_to IS NULL `

	selectPinned = `SELECT ` + columns + ` FROM memories m
		WHERE m.tenant = ? AND m.agent = ? AND m.user = ? AND m.type IN ('identity', 'preference')` + recallable + `
		ORDER BY m.type = 'identity' DESC, m.attribute IN ('language', 'instruction') DESC, m.n DESC LIMIT ?`

	selectMatches = `SELECT ` + columns + `, f.relevance, f.text
		FROM (SELECT rowid AS n, -rank AS relevance, text FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rank LIMIT ?) f
		JOIN memories m ON m.n = f.n
		WHERE m.tenant = ? AND m.agent = ? AND m.user IN ('', ?)` + recallable + `
		ORDER BY f.relevance DESC, m.n DESC`

	selectNewest = `SELECT ` + columns + `, 0.0, '' FROM memories m
		WHERE m.tenant = ? AND m.agent = ? AND m.user IN ('', ?)` + recallable + `
		ORDER BY m.n DESC LIMIT ?`
)

// recallFile recalls from the file.
func (s *Store) recallFile(ctx context.Context, scope Scope, r recallRequest) (Recalled, error) {
	pinned, err := s.pinnedInFile(ctx, scope, r)
	if err != nil {
		return Recalled{}, fmt.Errorf("recalling what is pinned: %w", err)
	}
	ranker, err := s.candidatesInFile(ctx, scope, r)
	if err != nil {
		return Recalled{}, fmt.Errorf("recalling from the file: %w", err)
	}

	return Recalled{Pinned: pinned, Items: ranker.best(pinned)}, nil
}

// pinnedInFile returns the user's standing memories within their budget.
func (s *Store) pinnedInFile(ctx context.Context, scope Scope, r recallRequest) ([]Item, error) {
	if scope.user == "" || r.plain {
		return nil, nil
	}
	rows, err := s.pinnedStmt.QueryContext(ctx, scope.tenant, scope.agent, scope.user, pinCandidates)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var p pins
	for rows.Next() && !p.full() {
		item, _, err := scanItem(rows)
		if err != nil {
			return nil, err
		}
		if Scan(item.Content).Action == Allow {
			p.add(&item)
		}
	}

	return p.items, rows.Err()
}

// candidatesInFile reads what may answer the request.
func (s *Store) candidatesInFile(ctx context.Context, scope Scope, r recallRequest) (*ranker, error) {
	ranker := &ranker{recallRequest: r}
	var rows *sql.Rows
	var err error
	switch {
	case r.catchUp:
		rows, err = s.db.Reader.QueryContext(ctx, selectNewest, scope.tenant, scope.agent, scope.user, candidates)
	case len(r.words) == 0:
		return ranker, nil
	default:
		rows, err = s.matchesStmt.QueryContext(ctx, matchQuery(scope.visible(), r.words), candidates,
			scope.tenant, scope.agent, scope.user)
	}
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	for rows.Next() {
		var m match
		var text string
		if m.item, _, err = scanItem(rows, &m.relevance, &text); err != nil {
			return nil, err
		}
		have := strings.Fields(text)
		for i, w := range r.words {
			if slices.Contains(have, w) {
				m.shared |= 1 << i
			}
		}
		ranker.matches = append(ranker.matches, m)
	}

	return ranker, rows.Err()
}

// ranker gates and scores what the file found.
type ranker struct {
	recallRequest
	matches []match
}

type match struct {
	item      Item
	relevance float64 // BM25, more is better
	shared    uint64  // words of the query
}

// best returns the best matches without those in pinned, within the query's
// limit and floor, that are still safe to recall.
func (r *ranker) best(pinned []Item) []Item {
	r.matches = slices.DeleteFunc(r.matches, func(m match) bool {
		return slices.ContainsFunc(pinned, func(item Item) bool { return item.ID == m.item.ID })
	})
	if r.catchUp {
		r.catchUpScores()
	} else {
		r.searchScores()
	}
	slices.SortStableFunc(r.matches, func(a, b match) int { return cmp.Compare(b.item.Score, a.item.Score) })

	var out []Item
	for _, m := range r.matches {
		if len(out) == r.limit() || m.item.Score < r.Floor {
			break
		}
		if Scan(m.item.Content).Action == Allow {
			out = append(out, m.item)
		}
	}

	return out
}

func (r *ranker) catchUpScores() {
	for i := range r.matches {
		item := &r.matches[i].item
		item.Score, item.Why = catchUpScore(item.Importance, r.now.Sub(item.CreatedAt)), whyCatchUp
	}
}

// searchScores drops the matches that share too little with the query and
// scores the others.
func (r *ranker) searchScores() {
	count := make([]int, len(r.words))
	for _, m := range r.matches {
		for i := range r.words {
			count[i] += int(m.shared >> i & 1)
		}
	}
	gate := newGate(r.words, count, len(r.matches))
	gate.open = r.NoGate
	r.matches = slices.DeleteFunc(r.matches, func(m match) bool { return !gate.passes(m.shared, m.shared, false) })

	top, coverage := 0.0, 0.0
	for _, m := range r.matches {
		top, coverage = max(top, m.relevance), max(coverage, gate.coverage(m.shared))
	}
	if !gate.open && len(r.matches) > 2 { // The best comes first.
		bar := min(top*minFused, r.matches[1].relevance)
		r.matches = slices.DeleteFunc(r.matches, func(m match) bool { return m.relevance < bar })
	}
	for i := range r.matches {
		m := &r.matches[i]
		m.item.Score = r.profile.score(fit(m.relevance, top, coverage), m.item.Importance, decay(r.now.Sub(m.item.CreatedAt), halfLife))
		m.item.Why = explain(r.words, hit{shared: m.shared})
	}
}
