package ambient

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"
)

// This file sums up what happened: the writer makes a paragraph of a day's events when there are enough of them, and a
// summary of the day when it is over. Both are there at once by rules; a model may word them better later.

const (
	paragraphEvents = 15            // so many events make a paragraph
	paragraphAge    = 4 * time.Hour // or so long since the first of them
	paragraphWords  = 100
	dayWords        = 300
	// maxParagraphs is how many a day has at most. One more makes one of the two neighbours that hold the fewest
	// events, so that a busy day is told from its beginning.
	maxParagraphs = 6
)

// Kinds of digests.
const (
	paragraph = "paragraph"
	wholeDay  = "day"
)

// hallDay is a day of what was heard somewhere.
type hallDay struct {
	hall
	day string // in the agent's zone
}

// today is the day of the agent's zone that it is now.
func (s *Store) today(agent string) string {
	return s.cfg.Clock().In(s.zone(agent)).Format(time.DateOnly)
}

// book is what the writer knows of a hall, so that it needn't ask the file for each event.
type book struct {
	today string    // of which it is; the days before have their summaries
	open  int       // events of today that no paragraph holds
	first time.Time // the earliest of them
}

// maxBooks bounds the books. Forgetting them costs two queries for each hall.
const maxBooks = 20_000

// summing is the work on digests in one transaction.
type summing struct {
	s       *Store
	changed []hall // whose digests are others now
}

// done brings RAM up to what was written.
func (w *summing) done() {
	for _, h := range w.changed {
		w.s.void(h)
	}
}

// sumUp makes the digests that are due after so many events of a day came in, the earliest at a time.
func (w *summing) sumUp(ctx context.Context, tx *sql.Tx, d hallDay, events int, first time.Time) error {
	b, fresh, err := w.book(ctx, tx, d.hall)
	if err != nil {
		return err
	}
	switch {
	case d.day < b.today: // they came late
		w.s.late[d] = true
		return nil
	case d.day > b.today: // their day is to come
		return nil
	case !fresh:
		if b.open == 0 || first.Before(b.first) {
			b.first = first
		}
		b.open += events
	}
	return w.paragraphIfDue(ctx, tx, d.hall)
}

const selectOpen = `SELECT count(*), coalesce(min(at), 0) FROM events
	WHERE tenant = ?1 AND agent = ?2 AND audience = ?3 AND day = ?4 AND seq > ` + lastParagraph

// book returns a hall's book of today. fresh says that it was made from the file, with all that is in there.
func (w *summing) book(ctx context.Context, tx *sql.Tx, h hall) (b *book, fresh bool, err error) {
	today := w.s.today(h.agent)
	if b = w.s.books[h]; b != nil && b.today == today {
		return b, false, nil
	}
	days, err := unclosed(ctx, tx, hallDay{h, today})
	if err != nil {
		return nil, false, err
	}
	for _, day := range days {
		if err := w.closeDay(ctx, tx, hallDay{h, day}); err != nil {
			return nil, false, err
		}
	}
	b = &book{today: today}
	var first int64
	if err := tx.QueryRowContext(ctx, selectOpen, h.tenant, h.agent, h.audience, today).Scan(&b.open, &first); err != nil {
		return nil, false, err
	}
	b.first = time.UnixMilli(first)
	if len(w.s.books) >= maxBooks {
		clear(w.s.books)
	}
	w.s.books[h] = b
	return b, true, nil
}

// lastParagraph is up to where the paragraphs of a day go.
const lastParagraph = `(SELECT coalesce(max(last_seq), 0) FROM digests
	WHERE tenant = ?1 AND agent = ?2 AND audience = ?3 AND day = ?4 AND kind = 'paragraph')`

// paragraphIfDue makes a paragraph of today's events that none has, when there are enough or the first is old.
func (w *summing) paragraphIfDue(ctx context.Context, tx *sql.Tx, h hall) error {
	b, _, err := w.book(ctx, tx, h)
	if err != nil || b.open == 0 || b.open < paragraphEvents && w.s.cfg.Clock().Sub(b.first) < paragraphAge {
		return err
	}
	d := hallDay{h, b.today}
	var from int64
	if err := tx.QueryRowContext(ctx, "SELECT "+lastParagraph, d.tenant, d.agent, d.audience, d.day).Scan(&from); err != nil {
		return err
	}
	t, err := gather(ctx, tx, d, from+1, maxSeq)
	if err != nil {
		return err
	}
	b.open = 0
	if t.events == 0 {
		return nil
	}
	if err := insert(ctx, tx, d, paragraph, &t, t.text(paragraphWords)); err != nil {
		return err
	}
	w.changed = append(w.changed, h)
	return mergeParagraphs(ctx, tx, d)
}

// sumUpLate makes the summaries of days that events came late for, once for a transaction.
func (s *Store) sumUpLate(ctx context.Context, tx *sql.Tx) (*summing, error) {
	w := &summing{s: s}
	for d := range s.late {
		if err := w.closeDay(ctx, tx, d); err != nil {
			return nil, err
		}
	}
	clear(s.late)
	return w, nil
}

const maxSeq = 1<<63 - 1

const insertDigest = `INSERT INTO digests (tenant, agent, audience, kind, day, first_at, last_at, first_seq, last_seq, events, users, text, source, due)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'rules', 1)`

func insert(ctx context.Context, tx *sql.Tx, d hallDay, kind string, t *tally, text string) error {
	users, err := json.Marshal(t.users())
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, insertDigest, d.tenant, d.agent, d.audience, kind, d.day, t.firstAt.UnixMilli(), t.lastAt.UnixMilli(),
		t.firstSeq, t.lastSeq, t.events, string(users), text)
	return err
}

const (
	selectParagraphs = `SELECT id, first_seq, last_seq, events FROM digests
		WHERE tenant = ? AND agent = ? AND audience = ? AND day = ? AND kind = 'paragraph' ORDER BY last_seq`
	// What two paragraphs become keeps the newer one's id, by which conversations know it.
	updateDigest = `UPDATE digests SET first_at = ?2, last_at = ?3, first_seq = ?4, last_seq = ?5, events = ?6, users = ?7, text = ?8, source = 'rules', due = min(due, ?9)
		WHERE id = ?1`
	deleteDigest = `DELETE FROM digests WHERE id = ?`
)

// mergeParagraphs makes one of two neighbours while a day has too many.
func mergeParagraphs(ctx context.Context, tx *sql.Tx, d hallDay) error {
	type row struct {
		id, first, last int64
		events          int
	}
	var list []row
	rows, err := tx.QueryContext(ctx, selectParagraphs, d.tenant, d.agent, d.audience, d.day)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.id, &r.first, &r.last, &r.events); err != nil {
			return err
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil || len(list) <= maxParagraphs {
		return err
	}
	at := 1
	for i := range list[1:] {
		if list[i].events+list[i+1].events < list[at-1].events+list[at].events {
			at = i + 1
		}
	}
	t, err := gather(ctx, tx, d, list[at-1].first, list[at].last)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, deleteDigest, list[at-1].id); err != nil {
		return err
	}
	return rewrite(ctx, tx, list[at].id, &t, paragraphWords, false)
}

// rewrite words a digest anew, and says whether a model that hasn't worded it still may.
func rewrite(ctx context.Context, tx *sql.Tx, id int64, t *tally, most int, due bool) error {
	users, err := json.Marshal(t.users())
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, updateDigest, id, t.firstAt.UnixMilli(), t.lastAt.UnixMilli(), t.firstSeq, t.lastSeq, t.events, string(users), t.text(most), due)
	return err
}

// selectUnclosed finds the days of the last month before ?4 that have events and no summary.
const selectUnclosed = `WITH RECURSIVE days(day) AS (
		SELECT date(?4, '-1 day') UNION ALL SELECT date(day, '-1 day') FROM days WHERE day > date(?4, '-31 day'))
	SELECT day FROM days
	WHERE EXISTS (SELECT 1 FROM events e WHERE e.tenant = ?1 AND e.agent = ?2 AND e.audience = ?3 AND e.day = days.day)
		AND NOT EXISTS (SELECT 1 FROM digests d WHERE d.tenant = ?1 AND d.agent = ?2 AND d.audience = ?3 AND d.day = days.day AND d.kind = 'day')
	ORDER BY day`

// unclosed lists the days before today that have events and no summary.
func unclosed(ctx context.Context, tx *sql.Tx, today hallDay) (days []string, err error) {
	rows, err := tx.QueryContext(ctx, selectUnclosed, today.tenant, today.agent, today.audience, today.day)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var day string
		if err := rows.Scan(&day); err != nil {
			return nil, err
		}
		days = append(days, day)
	}
	return days, rows.Err()
}

const (
	selectDay = `SELECT id, source, events FROM digests WHERE tenant = ? AND agent = ? AND audience = ? AND day = ? AND kind = 'day'`
	// A day that is over has its summary worded, and its paragraphs no more.
	settleDay = `UPDATE digests SET due = 0 WHERE tenant = ? AND agent = ? AND audience = ? AND day = ? AND kind = 'paragraph'`
)

// closeDay makes the summary of a day, or makes it anew after an event that came late. A model's stays, and one of more
// events than there still are.
func (w *summing) closeDay(ctx context.Context, tx *sql.Tx, d hallDay) error {
	var id int64
	var source string
	var events int
	err := tx.QueryRowContext(ctx, selectDay, d.tenant, d.agent, d.audience, d.day).Scan(&id, &source, &events)
	if err != nil && !errors.Is(err, sql.ErrNoRows) || source == byModel {
		return err
	}
	t, err := gather(ctx, tx, d, 0, maxSeq)
	if err != nil || t.events == 0 || t.events < events {
		return err
	}
	w.changed = append(w.changed, d.hall)
	if id != 0 {
		return rewrite(ctx, tx, id, &t, dayWords, true)
	}
	if _, err := tx.ExecContext(ctx, settleDay, d.tenant, d.agent, d.audience, d.day); err != nil {
		return err
	}
	return insert(ctx, tx, d, wholeDay, &t, t.text(dayWords))
}
