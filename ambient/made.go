package ambient

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file forgets what was made of things that are to be forgotten.

// forgetMade forgets what RAM holds of it.
func (s *Store) forgetMade() {
	s.briefings.clear()
	s.syntheses.clear()
}

// MadeOfMany reports whether a line with such an ID may tell of any memory: a model's words, a digest, a profile, the words that
// a channel was told.
func MadeOfMany(line string) bool {
	for _, prefix := range []string{Made, "p/", "d/", "human/", "channel/"} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

const (
	selectTold  = `SELECT seq, audience, day, at FROM events WHERE id = ? AND tenant = ? AND agent = ?`
	deleteEvent = `DELETE FROM events WHERE seq = ?`
	selectHolds = `SELECT id, kind, first_seq, last_seq, last_at FROM digests
		WHERE tenant = ? AND agent = ? AND audience = ? AND day = ? AND ? BETWEEN first_seq AND last_seq`
)

// EraseMade erases what was made of one of an agent's memories, since it is forgotten: its event, the words that it was learned
// from, what the event of the memory that took its place has of it, and texts that may tell of it. Once it returns, the
// bytes are gone from the file. What rules make is made again: digests at once, the others when they are asked for. It
// returns the IDs of the events that had words of it beside its own.
func (s *Store) EraseMade(ctx context.Context, tenant, agent string, f Forgotten) (others []string, err error) {
	if tenant == "" {
		return nil, errNoTenant
	}
	err = s.do(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		s.wiped.Add(1)
		for _, table := range []string{"briefings", "syntheses", "profiles"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE tenant = ? AND agent = ?", tenant, agent); err != nil {
				return err
			}
		}
		gone := f
		at, err := s.eraseEvent(ctx, tx, tenant, agent, f.ID)
		if err != nil {
			return err
		}
		if !at.IsZero() {
			gone.Said = append(slices.Clone(f.Said), at)
		}
		if err := unsay(ctx, tx, tenant, agent, &gone); err != nil {
			return err
		}
		others, err = s.unsayBefore(ctx, tx, tenant, agent, &f)
		return err
	}, func() {
		s.forgetMade()
		s.rooms.drop(func(key roomKey, _ *room) bool { return key.tenant == tenant && key.agent == agent })
		s.streets.drop(func(key agentKey, _ *street) bool { return key.tenant == tenant && key.agent == agent })
		s.feeds.drop(func(h hall, _ *feed) bool { return h.tenant == tenant && h.agent == agent })
	})
	if err != nil {
		return nil, fmt.Errorf("erasing what was made of memories: %w", err)
	}
	s.wipe(ctx)
	return others, nil
}

// eraseEvent deletes an event, if it is there, and words the digests that may hold it anew. It returns when it was.
func (s *Store) eraseEvent(ctx context.Context, tx *sql.Tx, tenant, agent, id string) (time.Time, error) {
	d, seq, at := hallDay{hall: hall{tenant: tenant, agent: agent}}, int64(0), int64(0)
	err := tx.QueryRowContext(ctx, selectTold, id, tenant, agent).Scan(&seq, &d.audience, &d.day, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	if _, err := tx.ExecContext(ctx, deleteEvent, seq); err != nil {
		return time.Time{}, err
	}
	clear(s.books)
	return time.UnixMilli(at), s.remakeWith(ctx, tx, d, seq)
}

// remakeWith words the digests of a day anew that may hold an event.
func (s *Store) remakeWith(ctx context.Context, tx *sql.Tx, d hallDay, seq int64) error {
	list, err := digestsWith(ctx, tx, d, seq)
	for i := 0; i < len(list) && err == nil; i++ {
		err = s.remake(ctx, tx, list[i])
	}
	return err
}

// digestsWith lists the digests of a day that may hold an event.
func digestsWith(ctx context.Context, tx *sql.Tx, d hallDay, seq int64) (out []oldDigest, err error) {
	rows, err := tx.QueryContext(ctx, selectHolds, d.tenant, d.agent, d.audience, d.day, seq)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		old, lastAt := oldDigest{day: d}, int64(0)
		if err := rows.Scan(&old.id, &old.kind, &old.first, &old.last, &lastAt); err != nil {
			return nil, err
		}
		old.lastAt = time.UnixMilli(lastAt)
		out = append(out, old)
	}
	return out, rows.Err()
}
