package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

const (
	// maxBatch bounds a transaction. A row takes some 10 µs and a commit some
	// hundreds, so that more would only hold the lock longer.
	maxBatch = 512

	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// write is the writer: it alone receives from the queue and writes the file.
func (l *Ledger) write() {
	defer close(l.done)
	ticker := time.NewTicker(foldEvery)
	defer ticker.Stop()
	batch := make([]Entry, 0, maxBatch)
	l.awaitFile()
	for open := true; open; {
		var flushed chan struct{}
		batch, flushed, open = l.collect(batch[:0], ticker.C)
		l.flush(batch)
		if flushed != nil {
			close(flushed)
		}
		l.keepHouse(!open)
	}
}

// keepHouse rolls up what has been written, and looks for what is old, when it
// is time to.
func (l *Ledger) keepHouse(closing bool) {
	now := l.clock()
	if closing || len(l.pending.counts) >= maxPending || now.Sub(l.folded) >= foldEvery {
		l.folded = now
		l.complain(l.fold())
	}
	if !closing && now.Sub(l.tended) >= tendEvery {
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

// awaitFile waits until a file that can't be used can be, or the ledger closes.
func (l *Ledger) awaitFile() {
	for wait := firstRetry; l.writeError() != nil && !l.isClosing(); wait = min(2*wait, lastRetry) {
		select {
		case <-l.closing:
		case <-time.After(wait):
		}
		l.report(l.db.Ready(context.Background()))
	}
}

// collect appends entries to batch until it is full, the first of them has
// waited for the flush interval, a Sync wants it flushed, it is time to keep
// house, or the queue ends.
func (l *Ledger) collect(batch []Entry, house <-chan time.Time) (_ []Entry, flushed chan struct{}, open bool) {
	var ripe <-chan time.Time
	for len(batch) < maxBatch {
		select {
		case it, ok := <-l.queue:
			if !ok || it.flushed != nil {
				return batch, it.flushed, ok
			}
			if ripe == nil {
				ripe = time.After(l.flushEvery)
			}
			batch = append(batch, it.entry)
		case <-l.faults:
			if len(batch) == 0 { // else the batch finds out
				l.awaitFile()
			}
		case <-ripe:
			return batch, nil, true
		case <-house:
			return batch, nil, true
		}
	}

	return batch, nil, true
}

// flush writes batch, and tries for as long as the ledger is open. Each batch
// gets one whole attempt after Close has begun.
func (l *Ledger) flush(batch []Entry) {
	for wait := firstRetry; len(batch) > 0; wait = min(2*wait, lastRetry) {
		last := l.isClosing()
		err := l.insert(batch)
		l.report(err)
		if err == nil {
			return
		}
		if last {
			l.lost += len(batch)
			return
		}
		select {
		case <-l.closing:
		case <-time.After(wait):
		}
	}
}

func (l *Ledger) isClosing() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
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
func (l *Ledger) insert(batch []Entry) error {
	for i := range batch {
		batch[i].sane()
	}
	if err := l.prepare(context.Background()); err != nil {
		return err
	}
	fresh, upto := batch, int64(0)
	err := l.transact("inserting", func(ctx context.Context, tx *sql.Tx) (err error) {
		upto, err = l.insertAll(ctx, tx, batch)
		return err
	})
	if errors.Is(err, errRepeated) {
		err = l.transact("inserting", func(ctx context.Context, tx *sql.Tx) (err error) {
			fresh, upto, err = l.insertEach(ctx, tx, batch)
			return err
		})
	}
	if err == nil && len(fresh) > 0 {
		l.pending.count(fresh, upto)
	}

	return err
}

// prepare compiles the statements that write rows, once.
func (l *Ledger) prepare(ctx context.Context) (err error) {
	if err := l.db.Ready(ctx); err != nil {
		return err
	}
	for i, n := range rowsAtOnce {
		if l.inserts[i] != nil {
			continue
		}
		if l.inserts[i], err = l.db.Writer.PrepareContext(ctx, insertSQL(n)); err != nil {
			return err
		}
	}

	return nil
}

// rowsAtOnce are how many rows a statement writes, the most first.
var rowsAtOnce = [...]int{32, 8, 1}

// errRepeated says that a batch has rows that are there already.
var errRepeated = errors.New("row is there already")

// insertAll writes rows that are all new, and returns the last one's rowid.
func (l *Ledger) insertAll(ctx context.Context, tx *sql.Tx, rows []Entry) (last int64, err error) {
	for i, n := range rowsAtOnce {
		if len(rows) < n {
			continue
		}
		stmt := tx.StmtContext(ctx, l.inserts[i])
		for ; len(rows) >= n; rows = rows[n:] {
			l.values = l.values[:0]
			for j := range rows[:n] {
				l.values = appendValues(l.values, &rows[j])
			}
			result, err := stmt.ExecContext(ctx, l.values...)
			if err != nil {
				return 0, err
			}
			if written, err := result.RowsAffected(); err != nil || written < int64(n) {
				return 0, errors.Join(err, errRepeated)
			}
			if last, err = result.LastInsertId(); err != nil {
				return 0, err
			}
		}
	}

	return last, nil
}

// insertEach writes what is not there yet of rows, and returns that.
func (l *Ledger) insertEach(ctx context.Context, tx *sql.Tx, rows []Entry) (fresh []Entry, last int64, err error) {
	stmt := tx.StmtContext(ctx, l.inserts[len(rowsAtOnce)-1])
	for i := range rows {
		result, err := stmt.ExecContext(ctx, appendValues(nil, &rows[i])...)
		if err != nil {
			return nil, 0, err
		}
		written, err := result.RowsAffected()
		if err != nil {
			return nil, 0, err
		}
		if written == 0 {
			continue
		}
		fresh = append(fresh, rows[i])
		if last, err = result.LastInsertId(); err != nil {
			return nil, 0, err
		}
	}

	return fresh, last, nil
}
