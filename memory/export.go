package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// exportPage is how many rows are read before they are written: a reading
// connection must not wait for whoever takes them.
const exportPage = 500

const selectExport = `SELECT ` + columns + `, m.value, m.stated_at FROM memories m
	WHERE m.tenant = ? AND m.agent = ? AND m.user = ? AND m.n > ? ORDER BY m.n LIMIT ?`

// Export writes the memories of the scope itself, those of the workspace only
// when the scope is one, as JSONL that [Store.Import] takes: history and
// quarantine included, oldest first. It returns how many there were, and errs
// with [ErrScope], the error of out, of ctx, or of the file.
func (s *Store) Export(ctx context.Context, scope Scope, out io.Writer) (int, error) {
	count, err := s.export(ctx, scope, out)
	if err != nil {
		return count, fmt.Errorf("exporting memories: %w", err)
	}

	return count, nil
}

func (s *Store) export(ctx context.Context, scope Scope, out io.Writer) (count int, err error) {
	if err = scope.check(); err != nil {
		return 0, err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for last := int64(0); ; {
		var page []Row
		if page, last, err = s.exportPage(ctx, scope, last); err != nil || len(page) == 0 {
			return count, err
		}
		for i := range page {
			if err = encoder.Encode(&page[i]); err != nil {
				return count, err
			}
			count++
		}
	}
}

// exportPage reads the rows that follow the one called after.
func (s *Store) exportPage(ctx context.Context, scope Scope, after int64) (page []Row, last int64, err error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectExport, scope.tenant, scope.agent, scope.user, after, exportPage)
	if err != nil {
		return nil, after, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var value string
		var stated int64
		var item Item
		if item, last, err = scanItem(rows, &value, &stated); err != nil {
			return nil, after, err
		}
		page = append(page, item.row(value, time.UnixMilli(stated).UTC()))
	}

	return page, last, rows.Err()
}
