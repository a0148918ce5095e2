package ambient

import (
	"context"
	"database/sql"
	"strconv"
	"time"
)

const (
	deleteEventsOf  = `DELETE FROM events WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND (user = ?3 OR audience = 'u/' || ?3)`
	deleteRunsOf    = `DELETE FROM runs WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND (user = ?3 OR audience = 'u/' || ?3)`
	deleteDigestsOf = `DELETE FROM digests WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND audience = 'u/' || ?3`
	selectDigestsOf = `SELECT id, agent, audience, kind, day, first_seq, last_seq, last_at FROM digests
		WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND EXISTS (SELECT 1 FROM json_each(users) WHERE value = ?3)`
)

// eraseEvents deletes what happened by or for a user, runs too, with one agent or, when that is empty, all. Digests that may hold
// their words are made anew of what is left, or deleted when that isn't there any more. done brings RAM up to it.
func (s *Store) eraseEvents(ctx context.Context, tx *sql.Tx, tenant, agent, user string) (n int64, done func(), err error) {
	if user == "" {
		return 0, func() {}, nil
	}
	for i, query := range []string{deleteEventsOf, deleteRunsOf, deleteDigestsOf} {
		res, err := tx.ExecContext(ctx, query, tenant, agent, user)
		if err != nil {
			return 0, nil, err
		}
		if i == 0 {
			if n, err = res.RowsAffected(); err != nil {
				return 0, nil, err
			}
		}
	}
	list, err := digestsOf(ctx, tx, tenant, agent, user)
	if err != nil {
		return 0, nil, err
	}
	for _, d := range list {
		if err := s.remake(ctx, tx, d); err != nil {
			return 0, nil, err
		}
	}
	clear(s.books)
	return n, func() { s.feeds.drop(func(hall, *feed) bool { return true }) }, nil
}

// oldDigest is a digest that must lose somebody's words.
type oldDigest struct {
	id          int64
	day         hallDay
	kind        string
	first, last int64 // seq
	lastAt      time.Time
}

// line is the ID of the line that tells it.
func (d *oldDigest) line() string {
	if d.kind == wholeDay {
		return "d/" + d.day.day + "/" + string(d.day.audience)
	}
	return "p/" + strconv.FormatInt(d.id, 36)
}

func digestsOf(ctx context.Context, tx *sql.Tx, tenant, agent, user string) (out []oldDigest, err error) {
	rows, err := tx.QueryContext(ctx, selectDigestsOf, tenant, agent, user)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		d := oldDigest{day: hallDay{hall: hall{tenant: tenant}}}
		var lastAt int64
		if err := rows.Scan(&d.id, &d.day.agent, &d.day.audience, &d.kind, &d.day.day, &d.first, &d.last, &lastAt); err != nil {
			return nil, err
		}
		d.lastAt = time.UnixMilli(lastAt)
		out = append(out, d)
	}
	return out, rows.Err()
}

// remake words a digest anew from the events that are left, and deletes it when some of its day are gone for their age.
func (s *Store) remake(ctx context.Context, tx *sql.Tx, d oldDigest) error {
	t, err := gather(ctx, tx, d.day, d.first, d.last)
	if err != nil {
		return err
	}
	const aDay = 25 * time.Hour
	if t.events == 0 || s.cfg.Clock().Sub(d.lastAt) > s.cfg.EventsTTL-aDay {
		_, err = tx.ExecContext(ctx, deleteDigest, d.id)
		return err
	}
	most := paragraphWords
	if d.kind == wholeDay {
		most = dayWords
	}
	return rewrite(ctx, tx, d.id, &t, most, true)
}
