package ambient

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// doings are what somebody did of late, as far as some audiences know.
type doings struct {
	asked time.Time // when the file was
	text  string    // "" for nothing
}

// doingsKey says whose doings, and by whose knowledge.
type doingsKey struct {
	handle   string
	audience Audience // beside everybody; what a room's scopes may read differs in their own user and in privacy
	user     string
}

const (
	doingsKept  = 5 * time.Minute // what a participant did is known so much later at most
	doingsSince = 7 * 24 * time.Hour
	maxDoings   = 2
	doingWords  = 12
	leastDoing  = 0.5 // importance of what is told of somebody: not that they started something
)

const selectDoings = `SELECT summary, at FROM events WHERE tenant = ?1 AND user = ?2 AND agent = ?3 AND audience IN (?4, ?5, ?6)
	AND at BETWEEN ?7 AND ?8 AND importance >= ?9 AND type <> 'error' ORDER BY at DESC LIMIT ?10`

// doings tells what a human did last: "shipped the fix (14:05); wrote a test (2026-03-17 10:00)". r is locked.
func (r *room) doingsOf(ctx context.Context, s *Store, scope Scope, h *Human, at time.Time) (string, error) {
	if h.ByName {
		return "", nil
	}
	key := doingsKey{h.Handle, scope.Audience(), scope.user}
	if known, ok := r.doings[key]; ok && at.Sub(known.asked) < doingsKept {
		return known.text, nil
	}
	readable := append(scope.mayRead(), Everybody, Everybody)
	rows, err := s.db.Reader.QueryContext(ctx, selectDoings, scope.tenant, h.Handle, scope.agent, readable[0], readable[1], readable[2],
		at.Add(-doingsSince).UnixMilli(), at.UnixMilli(), leastDoing, maxDoings)
	if err != nil {
		return "", err
	}
	text, err := listDoings(rows, at, s.zone(scope.agent))
	if err != nil {
		return "", err
	}
	if len(r.doings) >= 2*maxPresent {
		clear(r.doings)
	}
	r.doings[key] = doings{at, text}
	return text, nil
}

func listDoings(rows *sql.Rows, now time.Time, zone *time.Location) (_ string, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	var parts []string
	for rows.Next() {
		var summary string
		var at int64
		if err := rows.Scan(&summary, &at); err != nil {
			return "", err
		}
		parts = append(parts, strings.TrimRight(firstWords(summary, doingWords), ". ")+" ("+clockTime(time.UnixMilli(at), now, zone)+")")
	}
	return strings.Join(parts, "; "), rows.Err()
}
