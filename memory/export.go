package memory

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
)

// exportPage is how many rows are read at once: a reading connection must not
// wait for whoever takes them.
const exportPage = 500

const selectExport = `SELECT ` + columns + `, m.value, m.stated_at FROM memories m
	WHERE m.tenant = ? AND m.agent = ? AND m.user = ? AND m.n > ? ORDER BY m.n LIMIT ?`

// Export yields the memories of the scope itself, those of the workspace only
// when the scope is one, as rows that [Store.Import] takes: history and
// quarantine included, oldest first. It ends with the error of ctx or of the
// file, or with [ErrScope].
func (s *Store) Export(ctx context.Context, scope Scope) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := scope.check()
		for last := int64(0); err == nil; {
			var page []Row
			page, last, err = s.exportPage(ctx, scope, last)
			for i := range page {
				if !yield(page[i], nil) {
					return
				}
			}
			if len(page) == 0 && err == nil {
				return
			}
		}
		yield(Row{}, fmt.Errorf("exporting memories: %w", err))
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
