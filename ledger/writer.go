package ledger

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// maxBatch bounds a transaction. A row takes some 10 µs and a commit some
// hundreds, so that more would only hold the lock longer.
const maxBatch = 512

// write is the writer's: it writes a batch, and keeps house when that is due.
func (l *Ledger) write(batch []*Entry) {
	if len(batch) > 0 || l.failure.Load() != nil {
		l.flush(batch)
	}
	l.keepHouse()
	l.house.Reset(foldEvery)
}

// keepHouse rolls up what has been written, and looks for what is old, when it
// is time to.
func (l *Ledger) keepHouse() {
	now := l.clock()
	if len(l.pending.counts) >= maxPending || now.Sub(l.folded) >= foldEvery {
		l.folded = now
		l.complain(l.fold())
	}
	if now.Sub(l.tended) >= tendEvery {
		l.complain(l.tend(now))
	}
}

// complain logs what does not keep entries from being written, and will be
// tried again: once, until it has gone well.
func (l *Ledger) complain(err error) {
	switch {
	case err == nil:
		l.complained = false
	case !l.complained:
		l.complained = true
		l.logger.Error("ledger cannot roll up", "error", err)
	}
	if err != nil {
		l.db.Failed(err)
	}
}

// flush writes batch, and tries for as long as the ledger is open. Each batch
// gets one whole attempt after Close has begun. Without a batch it waits for a
// file that can't be used. Of entries that the file refuses it gives up those
// that it refuses alone.
func (l *Ledger) flush(batch []*Entry) {
	var err error
	l.queue.Retry(func() bool {
		if err = l.insert(batch); sqlite.Refused(err) {
			return true
		}
		l.report(err)
		return err == nil
	})
	switch {
	case err == nil:
	case sqlite.Refused(err) && len(batch) > 1:
		for i := range batch {
			l.flush(batch[i : i+1])
		}
	case sqlite.Refused(err):
		l.dropped.Add(1)
		l.logger.Error("ledger entry lost", "request_id", batch[0].ID, "error", err)
	default:
		l.lost, l.lostBy = l.lost+len(batch), err
	}
}

// fault notes that the file can't be used, and has the writer try until it can.
func (l *Ledger) fault(err error) {
	l.report(err)
	l.queue.Hurry()
}

// report keeps err for Check, and logs the change from good to bad and back,
// not each attempt.
func (l *Ledger) report(err error) {
	if err == nil {
		if l.failure.Swap(nil) != nil {
			l.logger.Info("ledger writes again")
		}
		return
	}
	l.db.Failed(err)
	if l.failure.Swap(&err) == nil {
		l.logger.Error("ledger cannot write, entries wait", "error", err)
	}
}

// insert writes batch and counts it for the roll-ups. Its time is bounded by
// SQLite's busy timeout.
func (l *Ledger) insert(batch []*Entry) error {
	if err := l.db.Ready(context.Background()); err != nil || len(batch) == 0 {
		return err
	}
	l.values = l.values[:0]
	for _, e := range batch {
		e.sane()
		l.values = appendValues(l.values, e)
	}
	set := columnSet(0)
	for row := range slices.Chunk(l.values, width) {
		set |= used(row)
	}
	set |= alwaysWritten
	stmts, err := l.statements(context.Background(), set)
	if err != nil {
		return err
	}
	fresh, upto := batch, int64(0)
	err = l.transact("inserting", func(ctx context.Context, tx *sql.Tx) (err error) {
		upto, err = l.insertAll(ctx, tx, stmts, set)
		return err
	})
	if errors.Is(err, errRepeated) {
		err = l.transact("inserting", func(ctx context.Context, tx *sql.Tx) (err error) {
			fresh, upto, err = l.insertEach(ctx, tx, stmts, set, batch)
			return err
		})
	}
	if err == nil && len(fresh) > 0 {
		l.pending.count(fresh, upto)
	}

	return err
}

// rowsAtOnce are how many rows a statement writes, the most first.
var rowsAtOnce = [...]int{32, 8, 1}

const (
	// maxStatements bounds the sets of columns that statements are kept for.
	// A deployment uses a few: what it never uses is in none of them.
	maxStatements = 16

	// alwaysWritten are columns that have no default, or one that isn't 0: id
	// and at_us; warm, cost and baseline, where 0 is known and NULL is not.
	alwaysWritten columnSet = 1<<0 | 1<<1 | 1<<32 | 1<<35 | 1<<36
)

// statements returns those that write a set of columns, one for each of
// rowsAtOnce.
func (l *Ledger) statements(ctx context.Context, set columnSet) (*[len(rowsAtOnce)]*sql.Stmt, error) {
	if stmts := l.inserts[set]; stmts != nil {
		return stmts, nil
	}
	if len(l.inserts) >= maxStatements {
		for _, stmts := range l.inserts {
			for _, s := range stmts {
				if err := s.Close(); err != nil {
					return nil, err
				}
			}
		}
		clear(l.inserts)
	}
	var stmts [len(rowsAtOnce)]*sql.Stmt
	for i, n := range rowsAtOnce {
		var err error
		if stmts[i], err = l.db.Writer.PrepareContext(ctx, insertSQL(set, n)); err != nil {
			return nil, err
		}
	}
	l.inserts[set] = &stmts

	return &stmts, nil
}

// errRepeated says that a batch has rows that are there already.
var errRepeated = errors.New("row is there already")

// insertAll writes the rows of l.values, which are all new, and returns the
// last one's rowid.
func (l *Ledger) insertAll(ctx context.Context, tx *sql.Tx, stmts *[len(rowsAtOnce)]*sql.Stmt, set columnSet) (last int64, err error) {
	rest := l.values
	for i, n := range rowsAtOnce {
		if len(rest) < n*width {
			continue
		}
		stmt := tx.StmtContext(ctx, stmts[i])
		for ; len(rest) >= n*width; rest = rest[n*width:] {
			written, rowid, err := l.execute(ctx, stmt, rest[:n*width], set)
			if err != nil {
				return 0, err
			}
			if written < int64(n) {
				return 0, errRepeated
			}
			last = rowid
		}
	}

	return last, nil
}

// insertEach writes what is not there yet of rows, and returns that.
func (l *Ledger) insertEach(ctx context.Context, tx *sql.Tx, stmts *[len(rowsAtOnce)]*sql.Stmt, set columnSet, rows []*Entry) (fresh []*Entry, last int64, err error) {
	stmt := tx.StmtContext(ctx, stmts[len(rowsAtOnce)-1])
	for i := range rows {
		written, rowid, err := l.execute(ctx, stmt, l.values[i*width:(i+1)*width], set)
		if err != nil {
			return nil, 0, err
		}
		if written > 0 {
			fresh, last = append(fresh, rows[i]), rowid
		}
	}

	return fresh, last, nil
}

// execute writes rows of values, of which set says the columns.
func (l *Ledger) execute(ctx context.Context, stmt *sql.Stmt, values []any, set columnSet) (written, last int64, err error) {
	l.args = l.args[:0]
	for i, v := range values {
		if set&(1<<(i%width)) != 0 {
			l.args = append(l.args, v)
		}
	}
	result, err := stmt.ExecContext(ctx, l.args...)
	if err != nil {
		return 0, 0, err
	}
	if written, err = result.RowsAffected(); err != nil {
		return 0, 0, err
	}
	last, err = result.LastInsertId()

	return written, last, err
}
