package memory

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// User is what is held about a user with one agent.
type User struct {
	ID        string    `json:"id"`
	Agent     string    `json:"agent"`
	Memories  int       `json:"memories"`  // history and quarantine included
	Exchanges int       `json:"exchanges"` // that are still kept as turns
	LastSeen  time.Time `json:"last_seen"` // when the last of either was said
}

// UserPage is one page of a list of users.
type UserPage struct {
	Items      []User `json:"items"`       // never nil
	NextCursor string `json:"next_cursor"` // "" on the last page
}

// selectUsers lists users by name, then agent; ?2 and ?3 narrow, ?4 and ?5 are
// the last of the page before.
const selectUsers = `SELECT user, agent, sum(memory), sum(1 - memory), max(at) FROM (
		SELECT user, agent, 1 AS memory, max(created_at, stated_at) AS at, tenant FROM memories
		UNION ALL SELECT user, agent, 0, at, tenant FROM exchanges)
	WHERE tenant = ?1 AND user <> '' AND (?2 = '' OR user = ?2) AND (?3 = '' OR agent = ?3) AND (user, agent) > (?4, ?5)
	GROUP BY user, agent ORDER BY user, agent LIMIT ?6`

// Users lists the users of a tenant of whom something is held, by name, one
// item for each of their agents. user and agent narrow the list, unless "";
// limit and cursor are as in [Filter]. It errs with [ErrScope] without a
// tenant, or with [ErrCursor].
func (s *Store) Users(ctx context.Context, tenant, user, agent string, limit int, cursor string) (UserPage, error) {
	page, err := s.users(ctx, tenant, user, agent, limit, cursor)
	if err != nil {
		return UserPage{}, fmt.Errorf("listing users: %w", err)
	}

	return page, nil
}

func (s *Store) users(ctx context.Context, tenant, user, agent string, limit int, cursor string) (page UserPage, err error) {
	if tenant == "" {
		return page, fmt.Errorf("%w: the tenant is required", ErrScope)
	}
	after, afterAgent, err := parseUserCursor(cursor)
	if err != nil {
		return page, err
	}
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)
	rows, err := s.db.Reader.QueryContext(ctx, selectUsers, tenant, user, agent, after, afterAgent, limit+1)
	if err != nil {
		return page, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	page.Items = []User{}
	for rows.Next() {
		var u User
		var at int64
		if err = rows.Scan(&u.ID, &u.Agent, &u.Memories, &u.Exchanges, &at); err != nil {
			return page, err
		}
		if len(page.Items) == limit {
			last := page.Items[limit-1]
			page.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(last.ID + "\x00" + last.Agent))
			break
		}
		u.LastSeen = time.UnixMilli(at).UTC()
		page.Items = append(page.Items, u)
	}

	return page, rows.Err()
}

// parseUserCursor returns the user and agent that a page ended with.
func parseUserCursor(cursor string) (user, agent string, err error) {
	if cursor == "" {
		return "", "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	user, agent, ok := strings.Cut(string(text), "\x00")
	if err != nil || !ok {
		return "", "", fmt.Errorf("%w %q", ErrCursor, clip(cursor, maxLabel))
	}

	return user, agent, nil
}
