package memory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// selectCorrected finds the newest memory of the scope alone that matches; ?2
// bounds it to what came before the correction.
const selectCorrected = `SELECT m.n, m.id, m.content FROM memories_fts f JOIN memories m ON m.n = f.rowid
	WHERE memories_fts MATCH ?1 AND m.n < ?2 AND m.tenant = ?3 AND m.agent = ?4 AND m.user = ?5 AND m.status = 'active' AND m.valid_to IS NULL
	ORDER BY m.n DESC LIMIT 1`

// correct ends the memory that a correction, just stored in row n, takes the
// place of: the newest that holds what was wrong, if both are about the same
// thing. Without one it does nothing.
func correct(ctx context.Context, tx *txn, scope Scope, d draft, n int64, out *Outcome) error {
	wrong := queryTokens(d.corrects)
	if len(wrong) == 0 || out.Outcome != Stored {
		return nil
	}
	match := `scope : "` + scope.key() + `"`
	for _, token := range wrong {
		match += ` AND text : "` + token + `"`
	}
	var old int64
	var id, content string
	err := tx.QueryRowContext(ctx, selectCorrected, match, n, scope.tenant, scope.agent, scope.user).Scan(&old, &id, &content)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	said := tokens(d.content)
	shared := slices.ContainsFunc(tokens(content), func(token string) bool {
		return !slices.Contains(wrong, token) && slices.Contains(said, token)
	})
	if !shared {
		return nil
	}

	*out = Outcome{ID: out.ID, Outcome: Superseded, Reason: "corrects " + id}
	tx.note(change{scope: scope, kind: changeRemove, row: old})
	tx.texts = append(tx.texts, statementArgs{updateText, []any{scope.historyKey(), old}})
	if _, err = tx.ExecContext(ctx, updateEnded, d.at.UnixMilli(), out.ID, old); err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, insertEdge, n, old, edgeUpdates)

	return err
}
