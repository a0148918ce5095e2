package memory

import (
	"context"
	"slices"
)

const (
	// maxSources is how many of the best items are followed along their edges,
	// and maxConnected how many memories that adds at most.
	maxSources   = 3
	maxConnected = 3

	// connectedShare is what of an item's score a memory at the other end of an
	// edge has: it was not asked for itself.
	connectedShare = 0.5
)

const selectConnected = `SELECT ` + columns + `, x.kind FROM
	(SELECT e.target AS n, e.kind AS kind FROM edges e JOIN memories s ON s.n = e.source WHERE s.id = ?1
		UNION SELECT e.source, e.kind FROM edges e JOIN memories s ON s.n = e.target WHERE s.id = ?1) x
	JOIN memories m ON m.n = x.n
	WHERE m.tenant = ?2 AND m.agent = ?3 AND m.user IN ('', ?4)` + recallable + `ORDER BY m.n DESC LIMIT 8`

// connected adds, for the profile of that name, what the graph ties to the best
// items, as far as there is room: the reason of a decision, what followed from
// it, what else is known of somebody. It reads the file, and no more of it than
// a few rows.
func (s *Store) connected(ctx context.Context, scope Scope, r recallRequest, got *Recalled) error {
	added := 0
	for _, source := range got.Items[:min(len(got.Items), maxSources)] {
		found, err := s.tiedTo(ctx, scope, source)
		if err != nil {
			return err
		}
		for _, item := range found {
			same := func(other Item) bool { return other.ID == item.ID }
			if added == maxConnected || len(got.Items) == r.limit() || item.Score < r.Floor {
				break
			}
			if slices.ContainsFunc(got.Items, same) || slices.ContainsFunc(got.Pinned, same) || Scan(item.Content).Action != Allow {
				continue
			}
			got.Items = append(got.Items, item)
			added++
		}
	}

	return nil
}

// tiedTo returns the memories at the other ends of an item's edges, the newest
// first.
func (s *Store) tiedTo(ctx context.Context, scope Scope, source Item) ([]Item, error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectConnected, source.ID, scope.tenant, scope.agent, scope.user)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Item
	for rows.Next() {
		var kind string
		item, _, err := scanItem(rows, &kind)
		if err != nil {
			return nil, err
		}
		item.Score, item.Why = source.Score*connectedShare, kind+" of what was found"
		out = append(out, item)
	}

	return out, rows.Err()
}
