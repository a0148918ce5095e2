package memory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	deleteTombstone = `DELETE FROM tombstones WHERE hash = ?`
	selectSame      = `SELECT n, id, status FROM memories WHERE hash = ? AND valid_to IS NULL`
	updateHits      = `UPDATE memories SET hits = hits + 1, stated_at = max(stated_at, ?) WHERE n = ? RETURNING hits`
	insertMemory    = `INSERT INTO memories (id, external_id, tenant, agent, user, type, content, subject, attribute, value,
		importance, source, status, hash, created_at, valid_from, stated_at, valid_to, superseded_by, session, name)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertText = `INSERT INTO memories_fts (rowid, scope, text) VALUES (?, ?, ?)`
)

// newRow is what a draft is written with.
type newRow struct {
	scope  Scope
	draft  draft
	hash   []byte
	status string

	// Set for what is history from the start: when it ended, and by which
	// memory.
	ended        sql.NullInt64
	supersededBy string
}

// put stores a draft unless the scope knows it, and returns the outcome and
// the row that now holds it, 0 when skipped. The same words count a hit. The
// same value in the same slot does, too; another value ends the old one.
func put(ctx context.Context, tx *txn, scope Scope, d draft) (Outcome, int64, error) {
	d.content = prepare(d.content)
	verdict := Scan(d.content)
	switch {
	case verdict.Action == Reject:
		return Outcome{Outcome: Skipped, Reason: verdict.Reason}, 0, nil
	case d.typ.personal() && scope.user == "":
		return Outcome{Outcome: Skipped, Reason: "personal memory needs a user"}, 0, nil
	}

	r := newRow{scope: scope, draft: d, hash: scope.hash("memory", d.content), status: StatusActive}
	if gone, err := tx.forgotten(ctx, r.hash); err != nil {
		return Outcome{}, 0, err
	} else if gone {
		return Outcome{Outcome: Skipped, Reason: "was forgotten"}, 0, nil
	}
	if out, n, err := mergeSame(ctx, tx, r); err != nil || n != 0 {
		return out, n, err
	}
	if verdict.Action == Quarantine {
		r.status = StatusQuarantined
		return r.store(ctx, tx, Quarantined, verdict.Reason)
	}
	if d.value != "" {
		return putSlot(ctx, tx, r)
	}

	return r.store(ctx, tx, Stored, "new")
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
	key, err := uuid.NewV7()
	if err != nil {
		return Outcome{}, 0, err
	}
	scope, d, at := r.scope, r.draft, r.draft.at.UnixMilli()
	res, err := tx.ExecContext(ctx, insertMemory, key.String(), d.externalID, scope.tenant, scope.agent, scope.user, d.typ, d.content,
		d.subject, d.attribute, d.value, d.typ.importance(), d.source, r.status, r.hash, at, at, at, r.ended, r.supersededBy,
		d.session, d.name)
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
		tx.note(change{scope: scope, kind: changePut, row: n, item: r.item(key.String()), words: words})
	}
	tx.texts = append(tx.texts, statementArgs{insertText, []any{n, search, strings.Join(words, " ")}})
	if r.status == StatusActive {
		if err = connect(ctx, tx, scope, n, d.content); err != nil {
			return Outcome{}, 0, err
		}
	}

	return Outcome{ID: key.String(), Outcome: outcome, Reason: reason}, n, nil
}

// item is the row as it will be read.
func (r newRow) item(id string) Item {
	d := r.draft
	at := time.UnixMilli(d.at.UnixMilli()).UTC()

	return Item{
		ID: id, ExternalID: d.externalID, Agent: r.scope.agent, User: r.scope.user, Type: d.typ, Content: d.content,
		Subject: d.subject, Attribute: d.attribute, Session: d.session, Name: d.name,
		Importance: d.typ.importance(), Source: d.source, Status: r.status,
		CreatedAt: at, ValidFrom: at, Hits: 1,
	}
}
