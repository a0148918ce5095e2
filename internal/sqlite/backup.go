package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// Backup copies the file at path, as it is at this moment, to a new file at
// dest (mode 0600), and checks the copy. The file may be in use, by other
// processes too; they are not held up. tell, unless nil, is called with the
// bytes that there are to copy, about, before it begins. dest appears when it
// is whole. The error wraps [os.ErrExist] when something is there already.
func Backup(ctx context.Context, path, dest string, tell func(bytes int64, partial string)) error {
	if err := backup(ctx, path, dest, tell); err != nil {
		return fmt.Errorf("backing up %q: %w", path, err)
	}

	return nil
}

func backup(ctx context.Context, path, dest string, tell func(int64, string)) (err error) {
	if _, err = os.Stat(path); err != nil {
		return err
	}
	if _, err = os.Lstat(dest); err == nil {
		return fmt.Errorf("%q: %w", dest, os.ErrExist)
	}
	db, err := connect(path, 1, url.Values{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	partial := dest + ".partial"
	f, err := os.OpenFile(partial, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%q is another copy under way, or was left by one that was killed and can be removed: %w", partial, err)
	}
	if err != nil {
		return fmt.Errorf("making the copy: %w", err)
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(partial))
		}
	}()
	if tell != nil {
		var pages, size int64
		if err = db.QueryRowContext(ctx, "SELECT page_count, page_size FROM pragma_page_count, pragma_page_size").Scan(&pages, &size); err != nil {
			return err
		}
		tell(pages*size, partial)
	}
	if _, err = db.ExecContext(ctx, "VACUUM INTO ?", partial); err != nil {
		return err
	}
	if err = checkCopy(ctx, partial); err != nil {
		return fmt.Errorf("checking the copy: %w", err)
	}
	if err = f.Sync(); err != nil {
		return err
	}

	return os.Rename(partial, dest)
}

// checkCopy opens a file that nobody else has.
func checkCopy(ctx context.Context, path string) (err error) {
	db, err := connect(path, 1, url.Values{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	problems, err := integrity(ctx, db)
	if err == nil && len(problems) > 0 {
		err = errors.New(problems[0])
	}

	return err
}

// Integrity reads the whole file and returns what is wrong with it: pages,
// indexes, and references from one table to another. It asks the writing
// connection: in another one, FTS5 compares with what that had read before.
func (db *DB) Integrity(ctx context.Context) ([]string, error) {
	problems, err := integrity(ctx, db.Writer)
	if err != nil {
		return nil, fmt.Errorf("checking integrity: %w", err)
	}

	return problems, nil
}

func integrity(ctx context.Context, db *sql.DB) (problems []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'
		UNION ALL SELECT 'a row of ' || "table" || ' refers to nothing in ' || parent FROM pragma_foreign_key_check`)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var problem string
		if err = rows.Scan(&problem); err != nil {
			return nil, err
		}
		problems = append(problems, problem)
	}

	return problems, rows.Err()
}
