package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"time"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// Reader answers questions about what is in a ledger's file. It is safe for
// concurrent use.
type Reader struct {
	db *sql.DB
}

// ErrOlder says that a file was last written by an older build, and has to be
// opened by [Open] once.
var ErrOlder = sqlite.ErrOlder

// OpenReader opens a ledger's file for reading alone, also while a [Ledger]
// writes it. The error wraps [fs.ErrNotExist], [ErrOlder] or
// [sqlite.ErrNewer] where that is why. The caller must Close it.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}
	db, err := sqlite.OpenReader(ctx, path, files)
	if err != nil {
		return nil, fmt.Errorf("opening ledger: %w", err)
	}

	return &Reader{db}, nil
}

// Close closes the file.
func (r *Reader) Close() error { return r.db.Close() }

// ErrNotFound says that a tenant has no entry of the wanted ID.
var ErrNotFound = errors.New("no such request in the ledger")

// Get returns the tenant's entry of that ID, or [ErrNotFound]. Entries that
// still wait to be written aren't found; Sync first where that matters.
func (r *Reader) Get(ctx context.Context, tenant, id string) (Entry, error) {
	const query = `SELECT ` + columns + ` FROM requests WHERE id = ? AND tenant = ?`
	e, err := scan(r.db.QueryRowContext(ctx, query, id, tenant))
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("reading request %q: %w", id, err)
	}

	return e, nil
}

// Recent returns the tenant's newest entries, at most limit of them, the
// newest first. Like Get it sees what has been written.
func (r *Reader) Recent(ctx context.Context, tenant string, limit int) (_ []Entry, err error) {
	const query = `SELECT ` + columns + ` FROM requests
		WHERE tenant = ? ORDER BY at_us DESC, rowid DESC LIMIT ?`
	rows, err := r.db.QueryContext(ctx, query, tenant, max(0, limit))
	if err != nil {
		return nil, fmt.Errorf("reading recent requests: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	var entries []Entry
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("reading recent requests: %w", err)
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading recent requests: %w", err)
	}

	return entries, nil
}

// Selection says which entries [Reader.Entries] gives. A zero Since, Until or
// Agent selects all.
type Selection struct {
	Tenant       string    // Always its own entries alone.
	Since, Until time.Time // Since ≤ Entry.At < Until.
	Agent        string
}

// Entries returns the selected entries, the oldest first. It reads them page
// by page, so that it may take its time; what is written meanwhile may be
// among them. An error ends the sequence.
func (r *Reader) Entries(ctx context.Context, s Selection) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		since, until := bounds(s.Since, s.Until)
		after := int64(math.MinInt64) // The rowid, among rows of the same microsecond.
		for {
			page, last, err := r.page(ctx, s, since, until, after)
			if err != nil {
				yield(Entry{}, fmt.Errorf("reading entries: %w", err))
				return
			}
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if len(page) < slice {
				return
			}
			since, after = page[len(page)-1].At.UnixMicro(), last
		}
	}
}

// page reads entries from the row after one of time since on.
func (r *Reader) page(ctx context.Context, s Selection, since, until, after int64) (page []Entry, last int64, err error) {
	query := `SELECT rowid, ` + columns + ` FROM requests
		WHERE tenant = ? AND at_us >= ? AND at_us < ? AND (at_us > ? OR rowid > ?)`
	args := []any{s.Tenant, since, until, since, after}
	if s.Agent != "" {
		query += " AND agent = ?"
		args = append(args, s.Agent)
	}
	rows, err := r.db.QueryContext(ctx, query+" ORDER BY at_us, rowid LIMIT ?", append(args, slice)...)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e, err := scan(rows, &last)
		if err != nil {
			return nil, 0, err
		}
		page = append(page, e)
	}

	return page, last, rows.Err()
}

// bounds are two times in Unix microseconds, those of all time when zero.
func bounds(since, until time.Time) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !since.IsZero() {
		from = since.UnixMicro()
	}
	if !until.IsZero() {
		to = until.UnixMicro()
	}

	return from, to
}
