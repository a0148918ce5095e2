package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
)

// ErrOlder says that a file was last written by an older build than this one,
// and has to be opened for writing once.
var ErrOlder = errors.New("written by an older version of this program")

// OpenReader opens a file that is there for reading alone, also while another
// process writes it. The error wraps [fs.ErrNotExist], [ErrOlder] or [ErrNewer]
// where that is why. The caller must close the result.
func OpenReader(ctx context.Context, path string, migrations fs.FS) (*sql.DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("opening store: %w", err)
	}
	pool, err := connect(path, 1, url.Values{"mode": {"ro"}, "_pragma": {"query_only(1)"}})
	if err == nil {
		err = sameVersion(ctx, pool, migrations)
	}
	if err != nil {
		if pool != nil {
			err = errors.Join(err, pool.Close())
		}
		return nil, fmt.Errorf("opening store %q: %w", path, err)
	}

	return pool, nil
}

func sameVersion(ctx context.Context, db *sql.DB, migrations fs.FS) error {
	names, err := fs.Glob(migrations, "[0-9][0-9][0-9][0-9]_*.sql")
	if err != nil {
		return fmt.Errorf("listing migrations: %w", err)
	}
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	switch {
	case version < len(names):
		return fmt.Errorf("schema version %d, want %d: %w", version, len(names), ErrOlder)
	case version > len(names):
		return fmt.Errorf("schema version %d, want %d: %w", version, len(names), ErrNewer)
	}

	return nil
}
