package ambient

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Filter narrows a list of events. The zero value lists everything, newest first.
type Filter struct {
	User, Channel string
	Type          EventType
	Since, Until  time.Time // the first included, the second not
	Limit         int       // items of a page: 0 means 50; at most 500
	Cursor        string    // NextCursor of the page before
}

// Listed is an event in a list.
type Listed struct {
	ID         string    `json:"id"`
	Agent      string    `json:"agent"`
	Audience   string    `json:"audience"` // everybody, channel or user
	User       string    `json:"user"`
	Name       string    `json:"name"`
	Channel    string    `json:"channel"`
	Session    string    `json:"session"`
	Type       EventType `json:"type"`
	Importance float64   `json:"importance"`
	Summary    string    `json:"summary"`
	At         time.Time `json:"at"`
	Day        string    `json:"day"` // of At, in the agent's zone
}

// Page is one page of a list.
type Page struct {
	Items      []Listed `json:"items"`       // never nil
	NextCursor string   `json:"next_cursor"` // empty on the last page
}

const selectListed = `SELECT seq, id, audience, type, importance, channel, session, user, name, summary, at, day FROM events
	WHERE tenant = ?1 AND agent = ?2 AND (?3 = '' OR user = ?3) AND (?4 = '' OR channel = ?4) AND (?5 = '' OR type = ?5)
		AND at >= ?6 AND at < ?7 AND (at < ?8 OR at = ?8 AND seq < ?9)
	ORDER BY at DESC, seq DESC LIMIT ?10`

// Events lists what happened around an agent, for all audiences: it is for whoever runs the instance. It errs with
// [ErrCursor].
func (s *Store) Events(ctx context.Context, tenant, agent string, f Filter) (Page, error) {
	at, seq, err := parseCursor(f.Cursor)
	if err != nil {
		return Page{}, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	since, until := int64(0), int64(maxSeq)
	if !f.Since.IsZero() {
		since = f.Since.UnixMilli()
	}
	if !f.Until.IsZero() {
		until = f.Until.UnixMilli()
	}
	rows, err := s.db.Reader.QueryContext(ctx, selectListed, tenant, agent, f.User, f.Channel, f.Type, since, until, at, seq, limit+1)
	if err != nil {
		return Page{}, fmt.Errorf("listing events: %w", err)
	}
	defer rows.Close()
	page := Page{Items: []Listed{}}
	for rows.Next() {
		e := Listed{Agent: agent}
		var audience Audience
		var n, when int64
		if err := rows.Scan(&n, &e.ID, &audience, &e.Type, &e.Importance, &e.Channel, &e.Session, &e.User, &e.Name, &e.Summary, &when, &e.Day); err != nil {
			return Page{}, fmt.Errorf("listing events: %w", err)
		}
		if len(page.Items) == limit {
			page.NextCursor = strconv.FormatInt(at, 36) + "." + strconv.FormatInt(seq, 36)
			break
		}
		e.At, e.Audience = time.UnixMilli(when).UTC(), audience.kind()
		page.Items, at, seq = append(page.Items, e), when, n
	}
	if err := rows.Err(); err != nil {
		return Page{}, fmt.Errorf("listing events: %w", err)
	}
	return page, nil
}

// parseCursor returns the time and seq that a page begins before.
func parseCursor(cursor string) (at, seq int64, err error) {
	if cursor == "" {
		return maxSeq, maxSeq, nil
	}
	first, second, ok := strings.Cut(cursor, ".")
	at, err1 := strconv.ParseInt(first, 36, 64)
	seq, err2 := strconv.ParseInt(second, 36, 64)
	if !ok || err1 != nil || err2 != nil {
		return 0, 0, ErrCursor
	}
	return at, seq, nil
}
