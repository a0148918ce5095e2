package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
)

// ErrNewer says that a file was last written by a newer build than this one.
var ErrNewer = errors.New("written by a newer version of this program")

// Migrate brings db to the newest schema. migrations holds the files
// 0001_name.sql, 0002_name.sql, … at its root; user_version says how many of
// them a file has seen. Each one runs in a transaction of its own. The error
// wraps [ErrNewer] when the file has seen more than there are.
func Migrate(ctx context.Context, db *sql.DB, migrations fs.FS) error {
	names, err := fs.Glob(migrations, "[0-9][0-9][0-9][0-9]_*.sql") // Sorted.
	if err != nil {
		return fmt.Errorf("listing migrations: %w", err)
	}

	var version int
	if err = db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("reading the schema version: %w", err)
	}
	if version > len(names) {
		return fmt.Errorf("schema version %d, known up to %d: %w", version, len(names), ErrNewer)
	}

	for i, name := range names[version:] {
		if err = apply(ctx, db, migrations, name, version+i+1); err != nil {
			return fmt.Errorf("migrating with %s: %w", name, err)
		}
	}

	return nil
}

func apply(ctx context.Context, db *sql.DB, migrations fs.FS, name string, version int) (err error) {
	text, err := fs.ReadFile(migrations, name)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()

	// A pragma takes no parameters.
	stamp := fmt.Sprintf("\n;PRAGMA user_version = %d", version)
	if _, err = tx.ExecContext(ctx, string(text)+stamp); err != nil {
		return err
	}

	return tx.Commit()
}
