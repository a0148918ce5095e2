package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Values of [Outcome.Outcome].
const (
	Stored      = "stored"
	Merged      = "merged"      // it was known; its hits grew
	Superseded  = "superseded"  // stored, and an older value became history
	Quarantined = "quarantined" // stored, never recalled
	Skipped     = "skipped"     // not stored
)

// Outcome says what became of a statement.
type Outcome struct {
	ID      string `json:"id"` // the memory that now holds it; "" when skipped
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// NewItem is a memory to add. Only Content is required.
type NewItem struct {
	ExternalID string
	Type       Type // "": by the rules of learning, else a fact
	Content    string

	// Subject and Attribute, when both are given, name what can have only one
	// value at a time: a later content replaces an earlier one.
	Subject, Attribute string

	Source    string    // "": SourceImported
	CreatedAt time.Time // zero: now
}

// Add stores one memory in the scope, if it is new there, and says what it did.
// Unlike learning it brings back what was forgotten. It errs with [ErrType],
// [ErrScope], or what the file says.
func (s *Store) Add(ctx context.Context, scope Scope, item NewItem) (Outcome, error) {
	if err := scope.check(); err != nil {
		return Outcome{}, fmt.Errorf("adding memory: %w", err)
	}
	if item.Type != "" && item.Type.importance() == 0 {
		return Outcome{}, fmt.Errorf("adding memory: %w %q", ErrType, item.Type)
	}

	d := s.draft(item)
	var out Outcome
	err := s.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if _, err = tx.ExecContext(ctx, deleteTombstone, scope.hash("memory", d.content)); err != nil {
			return err
		}
		out, _, err = put(ctx, tx, scope, d)

		return err
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("adding memory: %w", err)
	}
	s.cfg.OnLearned(d.typ, out.Outcome)

	return out, nil
}

// draft reads an item as learning would, as far as the caller left it open.
func (s *Store) draft(item NewItem) draft {
	content := prepare(item.Content)
	d := classify(content)
	if d.typ == "" || item.Type != "" && d.typ != item.Type {
		d = draft{typ: Fact}
	}
	if item.Type != "" {
		d.typ = item.Type
	}
	d.content = content
	if item.Subject != "" && item.Attribute != "" {
		d.subject, d.attribute, d.value = toText(item.Subject), toText(item.Attribute), fold(content)
	}
	d.externalID, d.source, d.at = toText(item.ExternalID), toText(item.Source), item.CreatedAt
	if d.source == "" {
		d.source = SourceImported
	}
	if d.at.IsZero() {
		d.at = s.cfg.Clock()
	}

	return d
}

// prepare makes content of a text: one clean line, secrets redacted, at most
// maxContent characters.
func prepare(text string) string {
	return cut(strings.Join(strings.Fields(Redact(cleanText(text))), " "))
}

const (
	selectTombstone = `SELECT EXISTS (SELECT 1 FROM tombstones WHERE hash = ?)`
	deleteTombstone = `DELETE FROM tombstones WHERE hash = ?`
	selectSame      = `SELECT n, id, status FROM memories WHERE hash = ? AND valid_to IS NULL`
	selectSlot      = `SELECT n, id, value FROM memories
		WHERE tenant = ? AND agent = ? AND user = ? AND subject = ? AND attribute = ?
		AND value <> '' AND valid_to IS NULL AND status = 'active'`
	updateHits   = `UPDATE memories SET hits = hits + 1 WHERE n = ?`
	updateEnded  = `UPDATE memories SET valid_to = ?, superseded_by = ? WHERE n = ?`
	insertMemory = `INSERT INTO memories (id, external_id, tenant, agent, user, type, content, subject, attribute, value,
		importance, source, status, hash, created_at, valid_from) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateText = `UPDATE memories_fts SET scope = ? WHERE rowid = ?`
	insertText = `INSERT INTO memories_fts (rowid, scope, text) VALUES (?, ?, ?)`
)

// forgotten reports whether hash has a tombstone.
func forgotten(ctx context.Context, tx *sql.Tx, hash []byte) (gone bool, err error) {
	err = tx.QueryRowContext(ctx, selectTombstone, hash).Scan(&gone)

	return gone, err
}

// put stores a draft unless the scope knows it, and returns the outcome and
// the row that now holds it, 0 when skipped. The same words count a hit. The
// same value in the same slot does, too; another value ends the old one.
func put(ctx context.Context, tx *sql.Tx, scope Scope, d draft) (Outcome, int64, error) {
	d.content = prepare(d.content)
	verdict := Scan(d.content)
	switch {
	case verdict.Action == Reject:
		return Outcome{Outcome: Skipped, Reason: verdict.Reason}, 0, nil
	case d.typ.personal() && scope.user == "":
		return Outcome{Outcome: Skipped, Reason: "personal memory needs a user"}, 0, nil
	}

	hash := scope.hash("memory", d.content)
	if gone, err := forgotten(ctx, tx, hash); err != nil {
		return Outcome{}, 0, err
	} else if gone {
		return Outcome{Outcome: Skipped, Reason: "was forgotten"}, 0, nil
	}
	if out, n, err := mergeSame(ctx, tx, hash); err != nil || n != 0 {
		return out, n, err
	}
	if verdict.Action == Quarantine {
		id, n, err := insert(ctx, tx, scope, d, StatusQuarantined, hash)

		return Outcome{ID: id, Outcome: Quarantined, Reason: verdict.Reason}, n, err
	}
	if d.value != "" {
		return putSlot(ctx, tx, scope, d, hash)
	}
	id, n, err := insert(ctx, tx, scope, d, StatusActive, hash)

	return Outcome{ID: id, Outcome: Stored, Reason: "new"}, n, err
}

// mergeSame counts a hit for a memory with the same words, if there is one.
func mergeSame(ctx context.Context, tx *sql.Tx, hash []byte) (Outcome, int64, error) {
	var n int64
	var id, status string
	err := tx.QueryRowContext(ctx, selectSame, hash).Scan(&n, &id, &status)
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
	_, err = tx.ExecContext(ctx, updateHits, n)

	return Outcome{ID: id, Outcome: Merged, Reason: reason}, n, err
}

// putSlot stores a draft whose subject and attribute hold one value at a time.
func putSlot(ctx context.Context, tx *sql.Tx, scope Scope, d draft, hash []byte) (Outcome, int64, error) {
	var old int64
	var oldID, oldValue string
	err := tx.QueryRowContext(ctx, selectSlot, scope.tenant, scope.agent, scope.user, d.subject, d.attribute).
		Scan(&old, &oldID, &oldValue)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		id, n, err := insert(ctx, tx, scope, d, StatusActive, hash)

		return Outcome{ID: id, Outcome: Stored, Reason: "new"}, n, err
	case err != nil:
		return Outcome{}, 0, err
	case oldValue == d.value:
		_, err = tx.ExecContext(ctx, updateHits, old)

		return Outcome{ID: oldID, Outcome: Merged, Reason: "same " + d.attribute}, old, err
	}

	id, n, err := insert(ctx, tx, scope, d, StatusActive, hash)
	if err != nil {
		return Outcome{}, 0, err
	}
	if _, err = tx.ExecContext(ctx, updateEnded, d.at.UnixMilli(), id, old); err != nil {
		return Outcome{}, 0, err
	}
	_, err = tx.ExecContext(ctx, updateText, scope.historyKey(), old)

	return Outcome{ID: id, Outcome: Superseded, Reason: "new " + d.attribute + " in place of " + oldID}, n, err
}

// insert writes the row and its search text, and returns its id and number.
func insert(ctx context.Context, tx *sql.Tx, scope Scope, d draft, status string, hash []byte) (string, int64, error) {
	key, err := uuid.NewV7()
	if err != nil {
		return "", 0, err
	}
	id, at := key.String(), d.at.UnixMilli()
	res, err := tx.ExecContext(ctx, insertMemory, id, d.externalID, scope.tenant, scope.agent, scope.user, d.typ, d.content,
		d.subject, d.attribute, d.value, d.typ.importance(), d.source, status, hash, at, at)
	if err != nil {
		return "", 0, err
	}
	n, err := res.LastInsertId()
	if err != nil {
		return "", 0, err
	}
	search := scope.key()
	if status != StatusActive {
		search = scope.historyKey()
	}
	_, err = tx.ExecContext(ctx, insertText, n, search, strings.Join(tokens(d.content), " "))

	return id, n, err
}
