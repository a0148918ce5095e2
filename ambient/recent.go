package ambient

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"
)

const selectRecent = `SELECT seq, id, type, importance, channel, session, user, name, summary, at FROM events
	WHERE tenant = ?1 AND agent = ?2 AND audience IN (?3, ?4, ?5) AND at >= ?6 AND (?7 = '' OR instr(?7, '/' || type || '/') > 0)
	ORDER BY at DESC, seq DESC LIMIT ?8`

// Recent returns what a scope may know of what happened since a time, the newest first, at most so many: of some types,
// or of all when none is given.
func (s *Store) Recent(ctx context.Context, scope Scope, since time.Time, limit int, types ...EventType) (out []Event, err error) {
	names := ""
	for _, t := range types {
		names += "/" + string(t)
	}
	if names != "" {
		names += "/"
	}
	audiences := append(scope.mayRead(), Everybody, Everybody)
	tx, err := s.db.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	defer func() { err = endReading(tx, err) }()
	events, err := readEvents(ctx, tx, hall{}, selectRecent, scope.tenant, scope.agent, audiences[0], audiences[1], audiences[2],
		since.UnixMilli(), names, limit)
	if err != nil {
		return nil, fmt.Errorf("reading events: %w", err)
	}
	for i := range events {
		out = append(out, events[i].Event)
	}
	return out, nil
}

// told lists a tally's events by time, as a model is told them.
func (t *tally) told(zone *time.Location) []string {
	events := append([]told(nil), t.top...)
	sortByTime(events)
	out := make([]string, len(events))
	for i := range events {
		e := &events[i]
		out[i] = hour(e.At.In(zone)) + " " + e.Type.label() + ", " + strings.TrimSpace(e.line())
	}
	return out
}
