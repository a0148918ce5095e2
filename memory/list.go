package memory

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultPage and maxPage bound the items of a page.
	defaultPage = 50
	maxPage     = 500
)

// Filter narrows a list. The zero value lists everything, newest first.
type Filter struct {
	Type   Type
	Text   string // items that share a word with it
	Limit  int    // items of a page: 0 means 50; at most 500
	Cursor string // NextCursor of the page before
}

// Page is one page of a list.
type Page struct {
	Items      []Item `json:"items"`       // never nil
	NextCursor string `json:"next_cursor"` // "" on the last page
}

// columns are those of an Item, in the order of scanItem. The table must be
// called m.
const columns = `m.n, m.id, m.external_id, m.agent, m.user, m.type, m.content, m.subject, m.attribute, m.importance, m.source,
	m.status, m.created_at, m.valid_from, m.valid_to, m.superseded_by, m.hits, m.session, m.name`

const (
	selectPage = `SELECT ` + columns + ` FROM memories m
		WHERE m.tenant = ?1 AND m.agent = ?2 AND m.user IN ('', ?3) AND (?4 = '' OR m.type = ?4) AND (?5 = 0 OR m.n < ?5)`
	matching = ` AND m.n IN (SELECT rowid FROM memories_fts WHERE memories_fts MATCH ?7)`
	newest   = ` ORDER BY m.n DESC LIMIT ?6`
)

// List returns the memories that the scope sees, the workspace's and the
// user's own, newest first, history and quarantine included. A text without a
// searchable word finds nothing. It errs with [ErrCursor], [ErrType] or
// [ErrScope].
func (s *Store) List(ctx context.Context, scope Scope, f Filter) (Page, error) {
	page, err := s.list(ctx, scope, f)
	if err != nil {
		return Page{}, fmt.Errorf("listing memories: %w", err)
	}

	return page, nil
}

func (s *Store) list(ctx context.Context, scope Scope, f Filter) (Page, error) {
	if err := scope.check(); err != nil {
		return Page{}, err
	}
	if f.Type != "" && f.Type.importance() == 0 {
		return Page{}, fmt.Errorf("%w %q", ErrType, f.Type)
	}
	before, err := parseCursor(f.Cursor)
	if err != nil {
		return Page{}, err
	}
	limit := f.Limit
	if limit <= 0 {
		limit = defaultPage
	}
	limit = min(limit, maxPage)

	query, args := selectPage, []any{scope.tenant, scope.agent, scope.user, f.Type, before, limit + 1}
	if f.Text != "" {
		words := queryTokens(f.Text)
		if len(words) == 0 {
			return Page{Items: []Item{}}, nil
		}
		query, args = query+matching, append(args, matchQuery(append(scope.visible(), scope.history()...), words))
	}
	rows, err := s.db.Reader.QueryContext(ctx, query+newest, args...)
	if err != nil {
		return Page{}, err
	}
	defer rows.Close()

	return readPage(rows, limit)
}

// readPage reads up to limit items; one more row says that there is a next page.
func readPage(rows *sql.Rows, limit int) (Page, error) {
	page := Page{Items: []Item{}}
	var last int64
	for rows.Next() {
		item, n, err := scanItem(rows)
		if err != nil {
			return Page{}, err
		}
		if len(page.Items) == limit {
			page.NextCursor = strconv.FormatInt(last, 36)
			break
		}
		page.Items, last = append(page.Items, item), n
	}

	return page, rows.Err()
}

func parseCursor(cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(cursor, 36, 64)
	if err != nil || n <= 0 || strings.HasPrefix(cursor, "+") {
		return 0, fmt.Errorf("%w %q", ErrCursor, cursor)
	}

	return n, nil
}

// sees returns the scopes whose memories s sees: the workspace and itself.
func (s Scope) sees() []Scope {
	shared := Scope{tenant: s.tenant, agent: s.agent}
	if s.user == "" {
		return []Scope{shared}
	}

	return []Scope{shared, s}
}

// visible returns the search keys of what s may recall.
func (s Scope) visible() (keys []string) {
	for _, scope := range s.sees() {
		keys = append(keys, scope.key())
	}

	return keys
}

// history returns the search keys of what s may list beyond that.
func (s Scope) history() (keys []string) {
	for _, scope := range s.sees() {
		keys = append(keys, scope.historyKey())
	}

	return keys
}

// scanItem reads columns, and after them what extra points to.
func scanItem(rows *sql.Rows, extra ...any) (Item, int64, error) {
	var item Item
	var n, created, from int64
	var to sql.NullInt64
	err := rows.Scan(append([]any{
		&n, &item.ID, &item.ExternalID, &item.Agent, &item.User, &item.Type, &item.Content, &item.Subject, &item.Attribute,
		&item.Importance, &item.Source, &item.Status, &created, &from, &to, &item.SupersededBy, &item.Hits,
		&item.Session, &item.Name,
	}, extra...)...)
	if err != nil {
		return Item{}, 0, err
	}
	item.CreatedAt, item.ValidFrom = time.UnixMilli(created).UTC(), time.UnixMilli(from).UTC()
	if to.Valid {
		end := time.UnixMilli(to.Int64).UTC()
		item.ValidTo = &end
	}

	return item, n, nil
}
