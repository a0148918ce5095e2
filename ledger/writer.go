package ledger

import (
	"context"
	"time"
)

const (
	// maxBatch bounds a transaction. A row takes some 30 µs and a commit some
	// hundreds, so that more would only hold the lock longer.
	maxBatch = 512

	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// write is the writer: it alone receives from the queue and writes the file.
func (l *Ledger) write() {
	defer close(l.done)
	batch := make([]Entry, 0, maxBatch)
	l.awaitFile()
	for open := true; open; {
		var flushed chan struct{}
		batch, flushed, open = l.collect(batch[:0])
		l.flush(batch)
		if flushed != nil {
			close(flushed)
		}
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
// waited for the flush interval, a Sync wants it flushed, or the queue ends.
func (l *Ledger) collect(batch []Entry) (_ []Entry, flushed chan struct{}, open bool) {
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

// insert writes batch in one transaction. Its time is bounded by SQLite's busy
// timeout.
func (l *Ledger) insert(batch []Entry) error {
	ctx := context.Background() // The writer outlives every request.
	if err := l.db.Ready(ctx); err != nil {
		return err
	}
	tx, err := l.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // Nothing to do, and an error to ignore, after Commit.

	stmt, err := tx.PrepareContext(ctx, insertSQL)
	if err != nil {
		return err
	}
	defer stmt.Close() // The transaction's end closes it too.
	for i := range batch {
		if _, err = stmt.ExecContext(ctx, values(&batch[i])...); err != nil {
			return err
		}
	}

	return tx.Commit()
}
