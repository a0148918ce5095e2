package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

const (
	// tendEvery is how often the writer looks for what is too old.
	tendEvery = time.Minute

	// hoursKept is how long roll-ups stay hours before they become days: a
	// month's stats are then exact to the hour, a year's are quick.
	hoursKept = 35 * 24 * time.Hour
)

// tend deletes rows that are older than the retention, a slice at a time so
// that entries don't wait long, and turns hours of long ago into days.
func (l *Ledger) tend(now time.Time) error {
	more, err := l.expire(now)
	if err != nil {
		return err
	}
	if !more {
		l.tended = now
	}
	if today := now.Truncate(24 * time.Hour); today.After(l.compacted) {
		if err := l.compact(now); err != nil {
			return err
		}
		l.compacted = today
	}

	return nil
}

// expire deletes a slice of the oldest rows; more: there may be others. Rows
// are written in the order of their ends, so the oldest are the first.
func (l *Ledger) expire(now time.Time) (more bool, err error) {
	if l.retention <= 0 || l.pending.behind {
		return false, nil
	}
	err = l.transact("deleting old rows", func(ctx context.Context, tx *sql.Tx) error {
		before := now.Add(-l.retention).UnixMicro()
		const first = `DELETE FROM requests WHERE at_us < ? AND rowid IN (SELECT rowid FROM requests ORDER BY rowid LIMIT ?)`
		result, err := tx.ExecContext(ctx, first, before, slice)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil || n == 0 {
			return err
		}
		more = n == slice
		// An empty table begins its rowids anew.
		_, err = tx.ExecContext(ctx, `UPDATE rolled SET upto = min(upto, (SELECT coalesce(max(rowid), 0) FROM requests)), gone_us = max(gone_us, ?)`, before)
		return err
	})

	return more, err
}

// compact turns the hours of every day that is long over into days.
func (l *Ledger) compact(now time.Time) error {
	before := now.Add(-hoursKept).Truncate(24 * time.Hour).Unix()
	for {
		var first sql.Null[int64]
		const oldest = `SELECT min(start) FROM rollups WHERE span = ? AND start < ?`
		if err := l.db.Writer.QueryRowContext(context.Background(), oldest, hour, before).Scan(&first); err != nil {
			return fmt.Errorf("reading old roll-ups: %w", err)
		}
		if !first.Valid {
			return nil
		}
		if err := l.compactDay(first.V - mod(first.V, day)); err != nil {
			return err
		}
	}
}

func (l *Ledger) compactDay(start int64) error {
	return l.transact("rolling up a day", func(ctx context.Context, tx *sql.Tx) error {
		const hours = `FROM rollups WHERE span = ? AND start >= ? AND start < ?`
		rolls, err := readRollups(ctx, tx, "SELECT tenant, dimension, agent, key, sums "+hours, hour, start, start+day)
		if err != nil {
			return err
		}
		if err := addRollups(ctx, tx, rolls, start, day); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "DELETE "+hours, hour, start, start+day); err != nil {
			return err
		}
		// A part of the day can't be told from it any more: its rows, where they
		// are still there, must not be added to the whole.
		_, err = tx.ExecContext(ctx, "UPDATE rolled SET gone_us = max(gone_us, ?)", (start+day)*1e6)
		return err
	})
}

// readRollups adds up what a query finds by its key.
func readRollups(ctx context.Context, tx *sql.Tx, query string, args ...any) (_ map[rollKey]*sums, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	rolls := make(map[rollKey]*sums)
	for rows.Next() {
		var k rollKey
		var data []byte
		if err := rows.Scan(&k.tenant, &k.dimension, &k.agent, &k.key, &data); err != nil {
			return nil, err
		}
		if rolls[k] == nil {
			rolls[k] = new(sums)
		}
		if err := addEncoded(rolls[k].counters(), data); err != nil {
			return nil, err
		}
	}

	return rolls, rows.Err()
}
