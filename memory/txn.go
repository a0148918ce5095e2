package memory

import (
	"context"
	"database/sql"
	"errors"
)

const (
	selectTombstones = `SELECT EXISTS (SELECT 1 FROM tombstones)`
	selectTombstone  = `SELECT EXISTS (SELECT 1 FROM tombstones WHERE hash = ?)`
)

// txn is a writing transaction that notes its changes.
type txn struct {
	*sql.Tx
	changes []change

	prepared map[string]*sql.Stmt // of the store
	own      map[string]*sql.Stmt // those of prepared that this transaction has used

	// texts are the statements on search text. They run last: FTS5 writes out
	// what it has gathered at every other statement that can fail by itself.
	texts []statementArgs

	graves sql.NullBool // Are there tombstones at all? Not valid: not yet known.
}

// write runs f in a transaction, and once that is committed brings the index
// up to it. Writes wait for their turn, so that both happen in the same order.
func (s *Store) write(ctx context.Context, f func(context.Context, *txn) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if err := s.ready(ctx); err != nil {
		return err
	}

	inner, err := s.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx := &txn{Tx: inner, prepared: s.prepared, own: map[string]*sql.Stmt{}}
	if err = f(ctx, tx); err == nil {
		err = execAll(ctx, tx, tx.texts)
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err = tx.Commit(); err != nil {
		s.index.void(tx.changes)
		s.outdate(tx.changes)
		return err
	}
	s.index.apply(tx.changes)
	s.embedder.hear(tx.changes)
	s.outdate(tx.changes)

	return nil
}

func (tx *txn) note(c change) { tx.changes = append(tx.changes, c) }

// hot returns the statements of learning, which are worth preparing: parsing
// one costs as much as running it.
func hot() []string {
	return []string{
		selectTombstones, selectTombstone, insertExchange, insertTurn, insertTurns, insertSource,
		selectSame, updateHits, insertMemory, insertText, selectCurrent,
		insertEntity, insertMention, insertEdge, insertEdges,
	}
}

// statement returns the prepared statement of a query, or nil.
func (tx *txn) statement(ctx context.Context, query string) *sql.Stmt {
	st := tx.own[query]
	if st == nil && tx.prepared[query] != nil {
		st = tx.StmtContext(ctx, tx.prepared[query])
		tx.own[query] = st
	}

	return st
}

// ExecContext is that of [sql.Tx].
func (tx *txn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if st := tx.statement(ctx, query); st != nil {
		return st.ExecContext(ctx, args...)
	}

	return tx.Tx.ExecContext(ctx, query, args...)
}

// QueryRowContext is that of [sql.Tx].
func (tx *txn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if st := tx.statement(ctx, query); st != nil {
		return st.QueryRowContext(ctx, args...)
	}

	return tx.Tx.QueryRowContext(ctx, query, args...)
}

// forgotten reports whether hash has a tombstone. Most stores have none.
func (tx *txn) forgotten(ctx context.Context, hash []byte) (gone bool, err error) {
	if !tx.graves.Valid {
		if err = tx.QueryRowContext(ctx, selectTombstones).Scan(&tx.graves); err != nil {
			return false, err
		}
	}
	if !tx.graves.Bool {
		return false, nil
	}
	err = tx.QueryRowContext(ctx, selectTombstone, hash).Scan(&gone)

	return gone, err
}
