package ambient

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// This file is for a model that words digests better than rules do.

// DueDigest is a paragraph or a day that is worded by rules alone.
type DueDigest struct {
	Tenant, Agent string
	Day           string    // in the agent's zone: 2026-03-18
	Daily         bool      // the whole day, else a paragraph of it
	First, Last   time.Time // of its events, in the agent's zone
	Events        int       // how many
	Told          []string  // the most important of them, by time: "14:52 decision, Sarah: …"
	Text          string    // by rules
	Words         int       // at most

	id, lastSeq int64
	hall        hall
	wiped       int64 // when it was read, see Store
}

const selectDue = `SELECT id, tenant, agent, audience, kind, day, first_at, last_at, first_seq, last_seq, events, text FROM digests
	WHERE due = 1 AND id > ? ORDER BY id LIMIT ?`

// DueDigests lists digests that a model may word, the oldest first: days, and paragraphs of days that aren't over. Each
// is of one audience alone.
func (s *Store) DueDigests(ctx context.Context, limit int) ([]DueDigest, error) {
	return s.dueDigests(ctx, limit, func(int64) bool { return true })
}

func (s *Store) dueDigests(ctx context.Context, limit int, wanted func(id int64) bool) (out []DueDigest, err error) {
	wiped := s.wiped.Load()
	tx, err := s.db.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("looking for digests: %w", err)
	}
	defer func() { err = endReading(tx, err) }()
	for after := int64(0); len(out) < limit; {
		page, err := duePage(ctx, tx, after, limit)
		if err != nil {
			return nil, fmt.Errorf("looking for digests: %w", err)
		}
		for _, p := range page {
			after = p.id
			if (p.Daily || p.Day >= s.today(p.Agent)) && len(out) < limit && wanted(p.id) {
				p.wiped = wiped
				if err := s.fillDue(ctx, tx, &p); err != nil {
					return nil, fmt.Errorf("looking for digests: %w", err)
				}
				out = append(out, p.DueDigest)
			}
		}
		if len(page) < limit {
			break
		}
	}
	return out, nil
}

// endReading ends a transaction that only read. It may have ended with its context.
func endReading(tx *sql.Tx, err error) error {
	if endErr := tx.Rollback(); err == nil && !errors.Is(endErr, sql.ErrTxDone) {
		err = endErr
	}
	return err
}

// dueRow is a digest whose events aren't read yet.
type dueRow struct {
	DueDigest
	firstSeq int64
}

func duePage(ctx context.Context, tx *sql.Tx, after int64, limit int) (out []dueRow, err error) {
	rows, err := tx.QueryContext(ctx, selectDue, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d dueRow
		var kind string
		var first, last int64
		if err := rows.Scan(&d.id, &d.Tenant, &d.Agent, &d.hall.audience, &kind, &d.Day, &first, &last, &d.firstSeq, &d.lastSeq, &d.Events, &d.Text); err != nil {
			return nil, err
		}
		d.First, d.Last, d.Daily = time.UnixMilli(first), time.UnixMilli(last), kind == wholeDay
		d.hall.tenant, d.hall.agent = d.Tenant, d.Agent
		out = append(out, d)
	}
	return out, rows.Err()
}

// fillDue adds what a model is told.
func (s *Store) fillDue(ctx context.Context, tx *sql.Tx, d *dueRow) error {
	t, err := gather(ctx, tx, hallDay{d.hall, d.Day}, d.firstSeq, d.lastSeq)
	if err != nil {
		return err
	}
	zone := s.zone(d.Agent)
	d.First, d.Last, d.Words = d.First.In(zone), d.Last.In(zone), paragraphWords
	if d.Daily {
		d.Words = dayWords
	}
	d.Told = t.told(zone)
	return nil
}

const setDigest = `UPDATE digests SET text = ?, source = 'model', due = 0 WHERE id = ? AND due = 1 AND last_seq = ? AND events = ?`

// SetDigest has a digest worded as a model did, cut to its words. What is empty, or refused by the scanner, leaves the
// rules' words, for good. It is false when the digest has changed meanwhile, or something was forgotten that the model may
// have been told: then it is due again.
func (s *Store) SetDigest(ctx context.Context, d DueDigest, text string) (bool, error) {
	text, ok := s.cfg.Clean(oneLine(text))
	if text = shorten(firstWords(text, d.Words), d.Words*charsPerWord); !ok || text == "" {
		return false, s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "UPDATE digests SET due = 0 WHERE id = ?", d.id)
			return err
		}, nil)
	}
	var changed int64
	err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if s.wiped.Load() != d.wiped {
			return nil
		}
		res, err := tx.ExecContext(ctx, setDigest, text, d.id, d.lastSeq, d.Events)
		if err == nil {
			changed, err = res.RowsAffected()
		}
		return err
	}, func() { s.void(d.hall) })
	if err != nil {
		return false, fmt.Errorf("setting a digest: %w", err)
	}
	return changed > 0, nil
}
