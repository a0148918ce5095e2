package memory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	deleteTombstone = `DELETE FROM tombstones WHERE hash IN (?, ?)`
	selectSame      = `SELECT n, id, status FROM memories WHERE hash = ? AND valid_to IS NULL`
	updateHits      = `UPDATE memories SET hits = hits + 1, stated_at = max(stated_at, ?) WHERE n = ? RETURNING hits`
	insertMemory    = `INSERT INTO memories (id, external_id, tenant, agent, user, type, content, subject, attribute, value,
		importance, source, status, hash, created_at, valid_from, stated_at, valid_to, superseded_by, session, name, hits)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertText = `INSERT INTO memories_fts (rowid, scope, text) VALUES (?, ?, ?)`
)

// newRow is what a draft is written with.
type newRow struct {
	scope  Scope
	draft  draft
	id     string // "": a new one
	hash   []byte
	status string

	// Unix milliseconds, and a count: not those of the draft only for a row that
	// comes back from an export.
	from, stated int64
	hits         int

	// Set for what is history from the start: when it ended, and by which
	// memory.
	ended        sql.NullInt64
	supersededBy string
}

// put stores a draft unless the scope knows it, and returns the outcome and
// the row that now holds it, 0 when skipped. The same words count a hit. The
// same value in the same slot does, too; another value ends the old one.
func put(ctx context.Context, tx *txn, scope Scope, d draft) (Outcome, int64, error) {
	r := rowOf(scope, d)
	verdict, skip, err := r.admit(ctx, tx)
	if err != nil || skip != "" {
		return Outcome{Outcome: Skipped, Reason: skip}, 0, err
	}
	if out, n, err := mergeSame(ctx, tx, r); err != nil || n != 0 {
		return out, n, err
	}

	return r.settle(ctx, tx, verdict)
}

// rowOf makes a new row of a draft.
func rowOf(scope Scope, d draft) newRow {
	d.content = prepare(d.content)
	at := d.at.UnixMilli()

	return newRow{scope: scope, draft: d, hash: scope.hash(hashMemory, d.content), status: StatusActive, from: at, stated: at, hits: 1}
}

// raise lets a statement that was forgotten be stored again.
func raise(ctx context.Context, tx *txn, scope Scope, content string) error {
	_, err := tx.ExecContext(ctx, deleteTombstone, scope.hash(hashMemory, content), scope.hash(hashMemory, undated(content)))

	return err
}

// admit scans the row and says why it can't be stored, or "".
func (r newRow) admit(ctx context.Context, tx *txn) (verdict Verdict, skip string, err error) {
	verdict = Scan(cmp.Or(r.draft.whole, r.draft.content))
	switch {
	case verdict.Action == Reject:
		return verdict, verdict.Reason, nil
	case r.draft.typ.personal() && r.scope.user == "":
		return verdict, "personal memory needs a user", nil
	}
	gone, err := tx.forgotten(ctx, r.hash)
	if plain := undated(r.draft.content); !gone && err == nil && plain != r.draft.content {
		gone, err = tx.forgotten(ctx, r.scope.hash(hashMemory, plain))
	}
	if gone {
		skip = "was forgotten"
	}

	return verdict, skip, err
}

// settle stores a row that the scope doesn't know: in quarantine, in its slot,
// or beside the others.
func (r newRow) settle(ctx context.Context, tx *txn, verdict Verdict) (Outcome, int64, error) {
	switch {
	case verdict.Action == Quarantine:
		r.status = StatusQuarantined
		return r.store(ctx, tx, Quarantined, verdict.Reason)
	case r.draft.value != "":
		return putSlot(ctx, tx, r)
	default:
		return r.store(ctx, tx, Stored, "new")
	}
}

// mergeSame counts a hit for a memory with the same words, if there is one.
func mergeSame(ctx context.Context, tx *txn, r newRow) (Outcome, int64, error) {
	var n int64
	var id, status string
	err := tx.QueryRowContext(ctx, selectSame, r.hash).Scan(&n, &id, &status)
	if errors.Is(err, sql.ErrNoRows) {
		return Outcome{}, 0, nil
	}
	if err != nil {
		return Outcome{}, 0, err
	}
	reason := "same words"
	if status == StatusQuarantined {
		reason = "same words, in quarantine"
	}

	return r.merge(ctx, tx, n, id, reason)
}

// merge counts a hit for the memory of row n instead of storing the new row.
func (r newRow) merge(ctx context.Context, tx *txn, n int64, id, reason string) (Outcome, int64, error) {
	var hits int
	if err := tx.QueryRowContext(ctx, updateHits, r.draft.at.UnixMilli(), n).Scan(&hits); err != nil {
		return Outcome{}, 0, err
	}
	tx.note(change{scope: r.scope, kind: changeHits, row: n, hits: hits})

	return Outcome{ID: id, Outcome: Merged, Reason: reason}, n, nil
}

// store writes the row and its search text.
func (r newRow) store(ctx context.Context, tx *txn, outcome, reason string) (Outcome, int64, error) {
	if r.id == "" {
		key, err := uuid.NewV7()
		if err != nil {
			return Outcome{}, 0, err
		}
		r.id = key.String()
	}
	scope, d := r.scope, r.draft
	res, err := tx.ExecContext(ctx, insertMemory, r.id, d.externalID, scope.tenant, scope.agent, scope.user, d.typ, d.content,
		d.subject, d.attribute, d.value, d.typ.importance(), d.source, r.status, r.hash, d.at.UnixMilli(), r.from, r.stated,
		r.ended, r.supersededBy, d.session, d.name, r.hits)
	if err != nil {
		return Outcome{}, 0, err
	}
	n, err := res.LastInsertId()
	if err != nil {
		return Outcome{}, 0, err
	}

	search, words := scope.historyKey(), tokens(d.content)
	if r.status == StatusActive && !r.ended.Valid {
		search = scope.key()
		tx.note(change{scope: scope, kind: changePut, row: n, item: r.item(), words: words})
	}
	tx.texts = append(tx.texts, statementArgs{insertText, []any{n, search, strings.Join(words, " ")}})
	if r.status == StatusActive {
		if err = connect(ctx, tx, scope, n, d.content); err != nil {
			return Outcome{}, 0, err
		}
	}

	return Outcome{ID: r.id, Outcome: outcome, Reason: reason}, n, nil
}

// item is the row as it will be read.
func (r newRow) item() Item {
	d := r.draft

	return Item{
		ID: r.id, ExternalID: d.externalID, Agent: r.scope.agent, User: r.scope.user, Type: d.typ, Content: d.content,
		Subject: d.subject, Attribute: d.attribute, Session: d.session, Name: d.name,
		Importance: d.typ.importance(), Source: d.source, Status: r.status,
		CreatedAt: time.UnixMilli(d.at.UnixMilli()).UTC(), ValidFrom: time.UnixMilli(r.from).UTC(), Hits: r.hits,
	}
}
