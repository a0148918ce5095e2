package journal

import (
	"context"
	"time"
)

// maxRow is how many bytes of a snapshot go into one row.
const maxRow = 1 << 20

// run is the writer.
func (j *Journal) run() {
	defer close(j.done)
	for {
		select {
		case <-j.wake:
			if !j.pause() {
				continue // the next round sees why
			}
			j.report(j.flush())
		case answer := <-j.rewrite:
			err := j.rewriteAll()
			j.report(err)
			answer <- err
		case <-j.closing:
			j.report(j.flush())
			return
		}
	}
}

// pause lets records gather. It is false when there is something better to do
// than to wait; the records stay due.
func (j *Journal) pause() bool {
	timer := time.NewTimer(j.cfg.FlushEvery)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-j.closing:
	case answer := <-j.rewrite:
		err := j.rewriteAll() // which writes what waits, too
		j.report(err)
		answer <- err
	}

	return false
}

// flush writes what waits as one row. What can't be written goes on waiting, as
// far as the buffer has room. A log that has grown too long is rewritten.
func (j *Journal) flush() error {
	batch := j.take()
	if len(batch) == 0 {
		return nil
	}
	ctx := context.Background() // bounded by SQLite's busy timeout
	err := j.db.Ready(ctx)
	if err == nil {
		_, err = j.db.Writer.ExecContext(ctx, "INSERT INTO log (data) VALUES (?)", batch)
	}
	if err != nil {
		j.db.Failed(err)
		j.putBack(batch)
		return err
	}
	j.mu.Lock()
	j.spare = batch
	j.mu.Unlock()
	if j.size += int64(len(batch)); j.size > j.limit {
		return j.rewriteAll()
	}

	return nil
}

// take empties the buffer.
func (j *Journal) take() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	batch := j.buffer
	j.buffer, j.spare = j.spare[:0], nil

	return batch
}

// putBack puts a batch before what came after it.
func (j *Journal) putBack(batch []byte) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(batch)+len(j.buffer) > j.cfg.Buffer {
		for range split(batch) {
			j.lost.Add(1)
		}
		return
	}
	j.buffer = append(batch, j.buffer...)
}

// rewriteAll puts a snapshot in the place of the whole log, and takes the old
// bytes off the disk. What waits is part of the snapshot: whoever appends has
// changed the state before. What comes meanwhile may be, too, and then tells
// the same twice.
func (j *Journal) rewriteAll() error {
	waiting := j.take()
	ctx := context.Background()
	err := j.db.Ready(ctx)
	var size int64
	if err == nil {
		size, err = j.replace(ctx)
	}
	if err != nil {
		j.db.Failed(err)
		j.putBack(waiting)
		return err
	}
	j.size, j.limit = size, max(j.cfg.Limit, 3*size) // with twice its size, writing it anew takes 5 % of a busy proxy's time

	return j.db.Checkpoint(ctx)
}

// replace writes a snapshot in the place of all rows and returns its size.
func (j *Journal) replace(ctx context.Context) (size int64, err error) {
	tx, err := j.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // nothing to do, and an error to ignore, after Commit
	if _, err := tx.ExecContext(ctx, "DELETE FROM log"); err != nil {
		return 0, err
	}
	var row []byte
	put := func() error {
		_, err := tx.ExecContext(ctx, "INSERT INTO log (data) VALUES (?)", row)
		size += int64(len(row))
		row = row[:0]
		return err
	}
	for record := range j.cfg.Snapshot() {
		if row = appendRecord(row, record); len(row) >= maxRow {
			if err := put(); err != nil {
				return 0, err
			}
		}
	}
	if len(row) > 0 {
		if err := put(); err != nil {
			return 0, err
		}
	}

	return size, tx.Commit()
}

// report keeps err for Check and logs the change from good to bad and back, not
// each attempt.
func (j *Journal) report(err error) {
	switch {
	case err != nil && j.broken.Swap(&err) == nil:
		j.cfg.Logger.Error("journal cannot be written", "path", j.cfg.Path, "error", err)
	case err == nil && j.broken.Swap(nil) != nil:
		j.cfg.Logger.Info("journal is written again", "path", j.cfg.Path)
	}
}
