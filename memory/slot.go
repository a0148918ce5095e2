package memory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// A slot is a subject with an attribute that has one value at a time: the
// user's home, whether tea is liked. Its memories, in the order of what was
// said, are its history; the last one is current.

const (
	ofSlot = ` FROM memories WHERE tenant = ?1 AND agent = ?2 AND user = ?3 AND subject = ?4 AND attribute = ?5
		AND value <> '' AND status = 'active'`

	selectCurrent = `SELECT n, id, value, type, stated_at` + ofSlot + ` AND valid_to IS NULL`
	selectHeld    = `SELECT n, id` + ofSlot + ` AND value = ?6 AND valid_from <= ?7 AND valid_to > ?7 LIMIT 1`
	selectNext    = `SELECT id, CASE WHEN valid_from > ?6 THEN valid_from ELSE stated_at END AS next` + ofSlot + ` AND stated_at > ?6
		ORDER BY next LIMIT 1`
	selectUnits = `SELECT attribute FROM memories WHERE tenant = ?1 AND agent = ?2 AND user = ?3 AND subject = ?4
		AND (attribute = ?5 OR attribute GLOB ?5 || ' (*)') AND value <> '' AND status = 'active' AND valid_to IS NULL ORDER BY attribute LIMIT 2`
	updateHeld = `UPDATE memories SET valid_to = ?6, superseded_by = ?7 WHERE n IN
		(SELECT n` + ofSlot + ` AND valid_from <= ?6 AND stated_at <= ?6 AND valid_to > ?6 AND id <> ?7)`

	updateEnded = `UPDATE memories SET valid_to = ?, superseded_by = ? WHERE n = ?`
	updateText  = `UPDATE memories_fts SET scope = ? WHERE rowid = ?`
)

// slot returns the arguments of ofSlot.
func (r newRow) slot() []any {
	return []any{r.scope.tenant, r.scope.agent, r.scope.user, r.draft.subject, r.draft.attribute}
}

// measure finds the slot of a number whose unit was left out now or before: "the
// limit is 200" is of what "the limit is 100 requests" was of, if nothing else
// is known to be limited.
func (r *newRow) measure(ctx context.Context, tx *txn) error {
	noun, unit, _ := strings.Cut(r.draft.attribute, " (")
	if !measures[noun] && noun != "value" || unit == "time)" || unit == "bytes)" || strings.Contains(unit, ") ") {
		return nil
	}
	args := r.slot()
	args[len(args)-1] = noun
	rows, err := tx.QueryContext(ctx, selectUnits, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var known []string
	for rows.Next() {
		var attribute string
		if err = rows.Scan(&attribute); err != nil {
			return err
		}
		known = append(known, attribute)
	}
	if len(known) == 1 && (unit == "" || known[0] == noun) {
		r.draft.attribute = known[0]
	}

	return rows.Err()
}

// putSlot stores a value of a slot. The value that was stated last is current,
// whatever order statements arrive in.
func putSlot(ctx context.Context, tx *txn, r newRow) (Outcome, int64, error) {
	if err := r.measure(ctx, tx); err != nil {
		return Outcome{}, 0, err
	}
	var old, stated int64
	var oldID, oldValue string
	var oldType Type
	err := tx.QueryRowContext(ctx, selectCurrent, r.slot()...).Scan(&old, &oldID, &oldValue, &oldType, &stated)
	at := r.draft.at.UnixMilli()
	if r.draft.changes && (err == nil || errors.Is(err, sql.ErrNoRows)) {
		if err != nil || at < stated || !r.draft.endsValue(oldValue) {
			return Outcome{Outcome: Skipped, Reason: "changes nothing that is known"}, 0, nil
		}
		r.draft.typ = oldType
	}
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r.store(ctx, tx, Stored, "new")
	case err != nil:
		return Outcome{}, 0, err
	case strings.HasPrefix(r.draft.value, gone) && oldValue != r.draft.value[len(gone):]:
		r.draft.value = "" // What is gone has been replaced already.
		return r.store(ctx, tx, Stored, "new")
	case oldValue == r.draft.value:
		return r.merge(ctx, tx, old, oldID, "same "+r.draft.attribute)
	case at < stated:
		return putHistory(ctx, tx, r)
	}

	out, n, err := r.store(ctx, tx, Superseded, "new "+r.draft.attribute+" in place of "+oldID)
	if err != nil {
		return Outcome{}, 0, err
	}
	tx.note(change{scope: r.scope, kind: changeRemove, row: old})
	tx.texts = append(tx.texts, statementArgs{updateText, []any{r.scope.historyKey(), old}})
	if _, err = tx.ExecContext(ctx, updateEnded, at, out.ID, old); err != nil {
		return Outcome{}, 0, err
	}
	kind := edgeUpdates
	if r.draft.attribute == attributeLiking {
		kind = edgeContradicts
	}
	_, err = tx.ExecContext(ctx, insertEdge, n, old, kind)

	return out, n, err
}

// endsValue reports whether a slot's value doesn't hold after d.
func (d *draft) endsValue(value string) bool {
	if not, ok := strings.CutPrefix(d.value, gone); ok {
		return value == not
	}

	return value != d.value
}

// putHistory stores a value that was already out of date when it arrived.
func putHistory(ctx context.Context, tx *txn, r newRow) (Outcome, int64, error) {
	at := r.draft.at.UnixMilli()
	var held int64
	var heldID string
	err := tx.QueryRowContext(ctx, selectHeld, append(r.slot(), r.draft.value, at)...).Scan(&held, &heldID)
	if err == nil {
		return r.merge(ctx, tx, held, heldID, "same "+r.draft.attribute+" in the history")
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return Outcome{}, 0, err
	}

	r.ended.Valid = true
	if err = tx.QueryRowContext(ctx, selectNext, append(r.slot(), at)...).Scan(&r.supersededBy, &r.ended.Int64); err != nil {
		return Outcome{}, 0, err
	}
	out, n, err := r.store(ctx, tx, Stored, "history: a newer "+r.draft.attribute+" is known")
	if err != nil {
		return Outcome{}, 0, err
	}
	_, err = tx.ExecContext(ctx, updateHeld, append(r.slot(), at, out.ID)...)

	return out, n, err
}
