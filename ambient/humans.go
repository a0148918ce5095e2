package ambient

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What callers can mend.
var (
	ErrNotFound = errors.New("there is nobody with this id")
	ErrLink     = errors.New("these two can't be linked")
	ErrCursor   = errors.New("no page has the cursor")
)

// HumanPage is one page of a list of humans.
type HumanPage struct {
	Items      []Human `json:"items"`       // never nil
	NextCursor string  `json:"next_cursor"` // "" on the last page
}

// Pages of lists.
const (
	defaultPage = 50
	maxPage     = 500
)

// selectHumans lists those last seen first; ?2 narrows by name or handle, ?3 and ?4 are the last of the page before.
const selectHumans = `SELECT ` + humanColumns + ` FROM humans h WHERE h.tenant = ?1
	AND (?2 = '' OR instr(h.folded, ?2) > 0)
	AND (?3 = 0 OR h.last_seen < ?3 OR h.last_seen = ?3 AND h.id > ?4)
	ORDER BY h.last_seen DESC, h.id LIMIT ?5`

// Humans lists the humans of a tenant, whoever was seen last first. find, unless "", is part of their name or of what
// their platform calls them; limit 0 means 50, at most 500; cursor is the page before's. It errs with [ErrCursor].
func (s *Store) Humans(ctx context.Context, tenant, find string, limit int, cursor string) (page HumanPage, err error) {
	var before int64
	var id string
	if cursor != "" {
		text, err := base64.RawURLEncoding.DecodeString(cursor)
		at, rest, ok := strings.Cut(string(text), "/")
		before, id = 0, rest
		if n, numErr := strconv.ParseInt(at, 10, 64); err == nil && ok && numErr == nil && n > 0 {
			before = n
		} else {
			return page, fmt.Errorf("listing humans: %w %q", ErrCursor, clip(cursor, maxHumanName))
		}
	}
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	rows, err := s.db.Reader.QueryContext(ctx, selectHumans, tenant, strings.ToLower(find), before, id, limit+1)
	if err != nil {
		return page, fmt.Errorf("listing humans: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	page.Items = []Human{}
	for rows.Next() {
		h, err := scanHuman(rows.Scan)
		if err != nil {
			return page, fmt.Errorf("listing humans: %w", err)
		}
		if len(page.Items) == limit {
			last := page.Items[limit-1]
			page.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(last.LastSeen.UnixMilli(), 10) + "/" + last.ID))
			break
		}
		page.Items = append(page.Items, h)
	}
	return page, rows.Err()
}

const selectHumanOf = selectHuman + ` AND h.tenant = ?`

// Human returns one of a tenant's humans. It errs with [ErrNotFound].
func (s *Store) Human(ctx context.Context, tenant, id string) (Human, error) {
	return findHuman(ctx, s.db.Reader, tenant, id)
}

// querier is a database or a transaction of it.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func findHuman(ctx context.Context, db querier, tenant, id string) (Human, error) {
	h, err := scanHuman(db.QueryRowContext(ctx, selectHumanOf, id, tenant).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Human{}, ErrNotFound
	}
	if err != nil {
		return Human{}, fmt.Errorf("looking for a human: %w", err)
	}
	return h, nil
}

const (
	linkHumans     = `UPDATE humans SET person = ?2 WHERE person = ?1`
	unlinkHuman    = `UPDATE humans SET person = id WHERE id = ?`
	deleteProfiles = `DELETE FROM profiles WHERE person IN (?, ?)`
)

// Link says that one human is the same person as another on another platform: prompts tell of them once. What one of
// them may read does not become the other's. Those that were linked to the first come along. It errs with [ErrNotFound],
// or with [ErrLink] when both are the same person already, as they are when they would be linked in a circle.
func (s *Store) Link(ctx context.Context, tenant, id, to string) (Human, error) {
	return s.relink(ctx, tenant, id, func(ctx context.Context, tx *sql.Tx, h Human) (string, error) {
		other, err := findHuman(ctx, tx, tenant, to)
		if err != nil {
			return "", err
		}
		if other.Person == h.Person {
			return "", fmt.Errorf("%w: they are the same person already", ErrLink)
		}
		_, err = tx.ExecContext(ctx, linkHumans, h.Person, other.Person)
		return other.Person, err
	})
}

// Unlink takes a link back. It errs with [ErrNotFound], or with [ErrLink] when the human isn't linked to another.
func (s *Store) Unlink(ctx context.Context, tenant, id string) (Human, error) {
	return s.relink(ctx, tenant, id, func(ctx context.Context, tx *sql.Tx, h Human) (string, error) {
		if h.Person == h.ID {
			return "", fmt.Errorf("%w: it is linked to no other", ErrLink)
		}
		_, err := tx.ExecContext(ctx, unlinkHuman, h.ID)
		return h.ID, err
	})
}

// relink changes whose identity a human is. What was told of both persons is made anew when they speak again.
func (s *Store) relink(ctx context.Context, tenant, id string, change func(context.Context, *sql.Tx, Human) (string, error)) (h Human, err error) {
	var was, is string
	err = s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if h, err = findHuman(ctx, tx, tenant, id); err != nil {
			return err
		}
		was = h.Person
		if is, err = change(ctx, tx, h); err != nil {
			return err
		}
		h.Person = is
		_, err = tx.ExecContext(ctx, deleteProfiles, was, is)
		return err
	}, func() { s.forgetRooms(tenant, was, is) })
	if err != nil {
		return Human{}, err
	}
	return h, nil
}
