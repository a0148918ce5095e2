package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const (
	selectForget = `SELECT n, user, content, superseded_by FROM memories WHERE id = ? AND tenant = ? AND agent = ? AND user IN ('', ?)`

	// When a memory was said: where turns aren't kept, the first time and the last.
	selectSaid = `SELECT at FROM exchanges WHERE n IN (SELECT exchange FROM sources WHERE memory = ?1)
		UNION SELECT created_at FROM memories WHERE n = ?1 UNION SELECT stated_at FROM memories WHERE n = ?1`

	// The exchanges that a memory was learned from hold its words.
	buryHash   = `INSERT OR IGNORE INTO tombstones (hash, at) VALUES (?, ?)`
	buryMemory = `INSERT OR IGNORE INTO tombstones SELECT hash, ? FROM memories WHERE n = ?`
	burySource = `INSERT OR IGNORE INTO tombstones SELECT hash, ? FROM exchanges
		WHERE n IN (SELECT exchange FROM sources WHERE memory = ?)`
	deleteSource = `DELETE FROM exchanges WHERE n IN (SELECT exchange FROM sources WHERE memory = ?)`
	deleteText   = `DELETE FROM memories_fts WHERE rowid = ?`
	deleteMemory = `DELETE FROM memories WHERE n = ?`

	// rebuildTexts writes the index of words anew, once texts are deleted: secure
	// deletion takes a word out of it, but not out of the table that says where
	// its pages begin, and takes a millisecond for each memory.
	rebuildTexts = `INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')`
)

// Forgotten is what others may have words of when a memory has been forgotten.
type Forgotten struct {
	ID           string
	Words        string      // its content, without the date behind it
	SupersededBy string      // ID of the memory that took its place, "" for none
	Said         []time.Time // when it was said, each time that is known
}

// Forget deletes a memory of the scope: the row, its search text, its place in
// the index, and the turns it was learned from. Hashes stay behind, by which the same words are
// not learned again, on whatever day. Once it returns, the bytes are gone from the file. It
// errs with [ErrNotFound] for an id that the scope can't see.
func (s *Store) Forget(ctx context.Context, scope Scope, id string) (Forgotten, error) {
	if err := scope.check(); err != nil {
		return Forgotten{}, fmt.Errorf("forgetting memory: %w", err)
	}
	if err := s.Sync(ctx); err != nil {
		return Forgotten{}, fmt.Errorf("forgetting memory: %w", err)
	}

	var gone Forgotten
	err := s.write(ctx, func(ctx context.Context, tx *txn) error {
		var n int64
		var content string
		owner := scope
		gone = Forgotten{ID: id}
		err := tx.QueryRowContext(ctx, selectForget, id, scope.tenant, scope.agent, scope.user).Scan(&n, &owner.user, &content, &gone.SupersededBy)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrNotFound
		}
		if err != nil {
			return err
		}
		gone.Words = undated(content)
		if gone.Said, err = whenSaid(ctx, tx, n); err != nil {
			return err
		}
		now := s.cfg.Clock().UnixMilli()
		tx.note(change{scope: owner, kind: changeRemove, row: n})

		return execAll(ctx, tx, []statementArgs{
			{buryMemory, []any{now, n}},
			{buryHash, []any{owner.hash(hashMemory, gone.Words), now}},
			{burySource, []any{now, n}},
			{deleteSource, []any{n}},
			{deleteText, []any{n}},
			{deleteMemory, []any{n}},
		})
	})
	if err != nil {
		return Forgotten{}, fmt.Errorf("forgetting memory: %w", err)
	}
	s.wipe(ctx)

	return gone, nil
}

// whenSaid lists when the memory of a row was said.
func whenSaid(ctx context.Context, tx *txn, n int64) (out []time.Time, err error) {
	rows, err := tx.QueryContext(ctx, selectSaid, n)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var at int64
		if err := rows.Scan(&at); err != nil {
			return nil, err
		}
		out = append(out, time.UnixMilli(at))
	}

	return out, rows.Err()
}

// The rows of a user of one agent, or with agent ” of all agents.
const (
	ofUser          = ` WHERE tenant = ?1 AND user = ?2 AND (?3 = '' OR agent = ?3)`
	buryUser        = `INSERT OR IGNORE INTO tombstones SELECT hash, ?4 FROM memories` + ofUser
	buryUserTurns   = `INSERT OR IGNORE INTO tombstones SELECT hash, ?4 FROM exchanges` + ofUser
	deleteUserText  = `DELETE FROM memories_fts WHERE rowid IN (SELECT n FROM memories` + ofUser + `)`
	deleteUserTurns = `DELETE FROM exchanges` + ofUser
	selectUserDated = `SELECT agent, content FROM memories` + ofUser + ` AND content LIKE '%(%: %)'`
	selectUserAgent = `SELECT DISTINCT agent FROM memories` + ofUser
	deleteUser      = `DELETE FROM memories` + ofUser

	// What a user said before being forgotten, and is learned later, such as a
	// request whose answer takes its time, stays forgotten.
	buryPast   = `INSERT INTO tombstones (hash, at) VALUES (?, ?) ON CONFLICT DO UPDATE SET at = excluded.at`
	selectPast = `SELECT EXISTS (SELECT 1 FROM tombstones WHERE hash IN (?, ?) AND at > ?)`
)

// ForgetUser deletes all that is known of a user of the tenant, turns
// included, with one agent or with agent "" everywhere, as thoroughly as
// [Store.Forget]. It returns how many memories there were. It never touches
// workspace memory: user "" is refused with [ErrScope].
func (s *Store) ForgetUser(ctx context.Context, tenant, user, agent string) (int, error) {
	if tenant == "" || user == "" {
		return 0, fmt.Errorf("forgetting user: %w: tenant and user are required", ErrScope)
	}
	if err := s.Sync(ctx); err != nil {
		return 0, fmt.Errorf("forgetting user: %w", err)
	}

	var count int64
	err := s.write(ctx, func(ctx context.Context, tx *txn) error {
		who := []any{tenant, user, agent}
		now := append(who[:3:3], s.cfg.Clock().UnixMilli())
		if err := noteUser(ctx, tx, tenant, user, agent); err != nil {
			return err
		}
		dated, err := buryDated(ctx, tx, tenant, user, agent, now[3])
		if err != nil {
			return err
		}
		err = execAll(ctx, tx, append(dated, []statementArgs{
			{buryUser, now},
			{buryUserTurns, now},
			{buryPast, []any{Scope{tenant, agent, user}.past(), now[3]}},
			{deleteUserText, who},
			{deleteUserTurns, who},
		}...))
		if err != nil {
			return err
		}
		res, err := tx.ExecContext(ctx, deleteUser, who...)
		if err != nil {
			return err
		}
		count, err = res.RowsAffected()

		return err
	})
	if err != nil {
		return 0, fmt.Errorf("forgetting user: %w", err)
	}
	s.wipe(ctx)

	return int(count), nil
}

// buryDated returns what buries a user's memories without the dates behind
// them.
func buryDated(ctx context.Context, tx *txn, tenant, user, agent string, now any) (list []statementArgs, err error) {
	rows, err := tx.QueryContext(ctx, selectUserDated, tenant, user, agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		scope, content := Scope{tenant: tenant, user: user}, ""
		if err = rows.Scan(&scope.agent, &content); err != nil {
			return nil, err
		}
		list = append(list, statementArgs{buryHash, []any{scope.hash(hashMemory, undated(content)), now}})
	}

	return list, rows.Err()
}

// past is the tombstone of all that a user has said to an agent, or with agent
// "" to any.
func (s Scope) past() []byte { return s.hash("past", "") }

// forgottenPast reports whether the exchange's user has been forgotten since.
func (tx *txn) forgottenPast(ctx context.Context, e *Exchange) (gone bool, err error) {
	if !tx.graves.Bool || e.Scope.user == "" {
		return false, nil
	}
	anywhere := Scope{tenant: e.Scope.tenant, user: e.Scope.user}
	err = tx.QueryRowContext(ctx, selectPast, e.Scope.past(), anywhere.past(), e.At.UnixMilli()).Scan(&gone)

	return gone, err
}

// noteUser notes that the user's scopes, with one agent or all, will be empty.
func noteUser(ctx context.Context, tx *txn, tenant, user, agent string) error {
	rows, err := tx.QueryContext(ctx, selectUserAgent, tenant, user, agent)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		scope := Scope{tenant: tenant, user: user}
		if err = rows.Scan(&scope.agent); err != nil {
			return err
		}
		tx.note(change{scope: scope, kind: changeClear})
	}

	return rows.Err()
}

// statementArgs is a statement with its arguments.
type statementArgs struct {
	text string
	args []any
}

func execAll(ctx context.Context, tx *txn, list []statementArgs) error {
	for _, st := range list {
		if _, err := tx.ExecContext(ctx, st.text, st.args...); err != nil {
			return err
		}
	}

	return nil
}

// wiping is what takes deleted bytes off the disk, for all who wait for it at
// once: it takes seconds where there are 100,000 memories.
type wiping struct {
	asked atomic.Int64 // deletions so far

	mu   sync.Mutex
	done int64 // of them, those whose bytes are gone
}

// wipe takes deleted bytes off the disk, even if who asked for it has gone. When
// a reader is in the way for long, or the disk full, the deletion stands all the
// same, and the next one finishes it.
func (s *Store) wipe(ctx context.Context) {
	w := &s.wiping
	mine := w.asked.Add(1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done >= mine {
		return // by one that began after the deletion
	}
	upto := w.asked.Load()
	if err := s.rewrite(context.WithoutCancel(ctx)); err != nil {
		s.cfg.Logger.Warn("deleted bytes stay in the file for now", "error", err)
		return
	}
	w.done = upto
}

// rewrite writes the index of words and the file anew.
func (s *Store) rewrite(ctx context.Context) error {
	err := s.write(ctx, func(ctx context.Context, tx *txn) error {
		return execAll(ctx, tx, []statementArgs{{rebuildTexts, nil}})
	})
	if err != nil {
		return err
	}

	return s.db.Wipe(ctx)
}
