package memory

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/google/uuid"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

const (
	// importBatch is the rows of one transaction: exchanges that are learned
	// meanwhile wait for one at most.
	importBatch = 256

	// maxRow bounds a line of an import, in bytes. A memory is far shorter;
	// what is longer holds something else.
	maxRow = 1 << 20

	// maxRowErrors is how many bad lines a report names.
	maxRowErrors = 20
)

// ImportOptions say how to import. The zero value is usable.
type ImportOptions struct {
	// Restore brings back what was forgotten. Otherwise such rows are skipped,
	// as when an old export would undo a deletion.
	Restore bool

	// Progress, if set, is told of what is done so far, after each batch. It
	// must not call the store.
	Progress func(ImportReport)
}

// ImportReport counts rows by what became of them.
type ImportReport struct {
	Rows        int `json:"rows"` // the sum of the others
	Stored      int `json:"stored"`
	Merged      int `json:"merged"`
	Superseded  int `json:"superseded"`
	Quarantined int `json:"quarantined"`
	Skipped     int `json:"skipped"`
	Invalid     int `json:"invalid"` // could not be read as a row

	// Reasons counts why rows were quarantined or skipped.
	Reasons map[string]int `json:"reasons"`

	// Errors names the first twenty invalid rows.
	Errors []RowError `json:"errors,omitempty"`
}

// RowError says what is wrong with a line, counted from 1.
type RowError struct {
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// Import adds the rows of a JSONL text to the scope. A row that can't be read,
// or that is refused, takes no other with it. What the report counts is in the
// file and found by searches when Import returns, even with an error: that of
// the reader, of ctx, of the file, or [ErrScope].
func (s *Store) Import(ctx context.Context, scope Scope, in io.Reader, opts ImportOptions) (ImportReport, error) {
	im := importer{store: s, scope: scope, opts: opts, report: ImportReport{Reasons: map[string]int{}}}
	err := scope.check()
	if err == nil {
		err = im.run(ctx, in)
	}
	if err != nil {
		return im.report, fmt.Errorf("importing memories: %w", err)
	}

	return im.report, nil
}

// importer is one import under way.
type importer struct {
	store  *Store
	scope  Scope
	opts   ImportOptions
	report ImportReport
}

// run writes one batch while the next is read.
func (im *importer) run(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	batches := make(chan []imported)
	read := make(chan error, 1)
	go func() {
		defer close(batches)
		read <- im.read(ctx, in, batches)
	}()

	var err error
	for batch := range batches {
		if err == nil {
			if err = im.write(ctx, batch); err != nil {
				stop()
			}
		}
	}
	readErr := <-read
	stop()
	if err != nil {
		return err
	}

	return readErr
}

// imported is a line, read.
type imported struct {
	line  int
	row   Row
	draft draft
	err   error // why it is no row
}

// read sends the lines in batches until there are no more.
func (im *importer) read(ctx context.Context, in io.Reader, out chan<- []imported) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	var batch []imported
	send := func() error {
		if len(batch) == 0 {
			return nil
		}
		select {
		case out <- batch:
			batch = nil
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for n := 1; ; n++ {
		line, err := readLine(lines)
		if n == 1 { // Windows' programs mark UTF-8.
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) > 0 || errors.Is(err, errLongLine) {
			batch = append(batch, im.decode(n, line, err))
		}
		if err != nil && !errors.Is(err, errLongLine) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(send(), err)
		}
		if len(batch) == importBatch {
			if err := send(); err != nil {
				return err
			}
		}
	}
}

// decode makes a memory of a line, as far as that needs no transaction.
func (im *importer) decode(n int, line []byte, err error) (row imported) {
	row.line = n
	defer func() {
		if p := recover(); p != nil { // This goroutine is nobody else's to guard.
			im.store.cfg.Logger.Error("reading a row", "line", n, "panic", p, "stack", string(debug.Stack()))
			row.err = errors.New("the row can't be read: a fault of ours")
		}
	}()
	if row.err = err; errors.Is(err, io.EOF) {
		row.err = nil
	}
	if row.err == nil {
		row.row, row.err = decodeRow(line)
	}
	if row.err == nil {
		row.draft = im.store.rowDraft(&row.row)
	}

	return row
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxRow)

// readLine reads a line without the white space around it. It errs with
// [io.EOF] at the end, which may come with a last line, and with errLongLine,
// after which it goes on with the next.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= maxRow {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		line = bytes.TrimSpace(line)
		if len(line) > maxRow {
			return nil, errors.Join(errLongLine, err)
		}
		return line, err
	}
}

// write stores a batch in one transaction. When that doesn't go through, each
// row is tried alone.
func (im *importer) write(ctx context.Context, batch []imported) error {
	err := im.writeAll(ctx, batch)
	if err != nil && len(batch) > 1 && ctx.Err() == nil && !sqlite.Unavailable(err) {
		for i := range batch {
			if err = im.writeAll(ctx, batch[i:i+1]); err != nil {
				break
			}
		}
	}
	if err == nil && im.opts.Progress != nil {
		im.opts.Progress(im.report)
	}

	return err
}

func (im *importer) writeAll(ctx context.Context, batch []imported) error {
	outcomes := make([]Outcome, len(batch))
	err := im.store.write(ctx, func(ctx context.Context, tx *txn) (err error) {
		for i := range batch {
			if batch[i].err != nil {
				continue
			}
			if outcomes[i], err = im.put(ctx, tx, &batch[i]); err != nil {
				return fmt.Errorf("line %d: %w", batch[i].line, err)
			}
		}

		return nil
	})
	if err != nil {
		return err
	}
	for i := range batch {
		im.count(&batch[i], outcomes[i])
	}

	return nil
}

// put stores a row.
func (im *importer) put(ctx context.Context, tx *txn, in *imported) (out Outcome, err error) {
	switch in.row.Role {
	case "", "user", "assistant":
	default:
		return Outcome{Outcome: Skipped, Reason: "nobody said it: role " + clip(in.row.Role, maxLabel)}, nil
	}
	if im.opts.Restore {
		if err = raise(ctx, tx, im.scope, in.draft.content); err != nil {
			return out, err
		}
	}
	if in.row.exported() {
		return im.restore(ctx, tx, in)
	}
	out, _, err = put(ctx, tx, im.scope, in.draft)

	return out, err
}

// restore stores a memory as it was when it was exported, unless it is there.
func (im *importer) restore(ctx context.Context, tx *txn, in *imported) (Outcome, error) {
	r := rowOf(im.scope, in.draft)
	verdict, skip, err := r.admit(ctx, tx)
	if err != nil || skip != "" {
		return Outcome{Outcome: Skipped, Reason: skip}, err
	}
	var known bool
	if r.id, known, err = im.identify(ctx, tx, in.row.ID); err != nil || known {
		return Outcome{ID: r.id, Outcome: Merged, Reason: "same memory"}, err
	}
	r.hits = max(in.row.Hits, 1)
	if from := in.row.ValidFrom; !from.IsZero() {
		r.from = from.UnixMilli()
	}
	if r.stated = r.from; !in.row.StatedAt.IsZero() {
		r.stated = in.row.StatedAt.UnixMilli()
	}
	if verdict.Action == Allow && in.row.Status == StatusQuarantined {
		verdict = Verdict{Action: Quarantine, Reason: "was in quarantine"}
	}

	var out Outcome
	if in.row.ValidTo == nil {
		var n int64
		if out, n, err = mergeSame(ctx, tx, r); err == nil && n == 0 {
			out, _, err = r.settle(ctx, tx, verdict)
		}
		return out, err
	}
	r.ended = sql.NullInt64{Int64: in.row.ValidTo.UnixMilli(), Valid: true}
	if r.supersededBy, _, err = im.identify(ctx, tx, in.row.SupersededBy); err != nil {
		return Outcome{}, err
	}
	if verdict.Action == Quarantine {
		r.status = StatusQuarantined
	}
	out, _, err = r.store(ctx, tx, Stored, "history")

	return out, err
}

const selectOwner = `SELECT tenant, agent, user FROM memories WHERE id = ?`

// identify returns the id under which the scope has, or will have, a memory
// that was exported with the given one: the same, or, when another scope has
// that, one that is made of both, so that what refers to it finds it.
func (im *importer) identify(ctx context.Context, tx *txn, id string) (own string, known bool, err error) {
	if uuid.Validate(id) != nil {
		return "", false, nil
	}
	for range 2 {
		var owner Scope
		err = tx.QueryRowContext(ctx, selectOwner, id).Scan(&owner.tenant, &owner.agent, &owner.user)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return id, false, nil
		case err != nil:
			return "", false, err
		case owner == im.scope:
			return id, true, nil
		}
		sum := sha256.Sum256([]byte(im.scope.key() + id))
		id = uuid.NewHash(sha256.New(), uuid.Nil, sum[:], 8).String()
	}

	return "", false, nil
}

// count notes what became of a row.
func (im *importer) count(in *imported, out Outcome) {
	r := &im.report
	r.Rows++
	if in.err != nil {
		r.Invalid++
		if len(r.Errors) < maxRowErrors {
			r.Errors = append(r.Errors, RowError{Line: in.line, Error: in.err.Error()})
		}
		return
	}
	switch out.Outcome {
	case Stored:
		r.Stored++
	case Merged:
		r.Merged++
	case Superseded:
		r.Superseded++
	case Quarantined:
		r.Quarantined++
	case Skipped:
		r.Skipped++
	}
	if out.Outcome == Quarantined || out.Outcome == Skipped {
		r.Reasons[out.Reason]++
	}
	im.store.cfg.OnLearned(in.draft.typ, out.Outcome)
}
