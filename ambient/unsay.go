package ambient

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

// This file takes back what was noted of the words that a forgotten memory was learned from.

// Forgotten is a memory that was forgotten, as far as others may have words of it.
type Forgotten struct {
	ID           string
	Words        string      // its content, without the date behind it
	SupersededBy string      // the memory that took its place, "" for none
	Said         []time.Time // when it was said, each time that is known
}

// leastWords is how many words a memory must have for what says them at any time to be that memory's: "yes" tells nothing.
const leastWords = 3

// unsaying takes words from what was said to an agent.
type unsaying struct {
	tenant, agent string
	words         string         // folded; "" for none
	said          map[int64]bool // moments, in Unix milliseconds
	texts         map[saidBy]bool
}

// saidBy is what a human said, of whom a client that tries again repeats the words at another moment.
type saidBy struct{ human, text string }

const (
	selectSaidAt  = `SELECT human, text FROM sayings WHERE at = ? AND tenant = ? AND agent = ?`
	selectSayings = `SELECT seq, human, text, at FROM sayings WHERE tenant = ? AND agent = ?`
	deleteSaying  = `DELETE FROM sayings WHERE seq = ?`
	selectTopics  = `SELECT channel, human, topic, at FROM channels WHERE tenant = ? AND agent = ? AND topic <> ''`
	clearTopic    = `UPDATE channels SET human = '', speaker = '', topic = '' WHERE channel = ? AND tenant = ? AND agent = ?`
)

// unsay deletes what people said at the moments when a memory was said, the same words of the same people at others, and
// what says the memory itself; channels whose last words those are lose them.
func unsay(ctx context.Context, tx *sql.Tx, tenant, agent string, f *Forgotten) error {
	u := &unsaying{tenant: tenant, agent: agent, said: map[int64]bool{}, texts: map[saidBy]bool{}}
	if words := strings.Fields(strings.ToLower(f.Words)); len(words) >= leastWords {
		u.words = strings.TrimRight(strings.Join(words, " "), ". ")
	}
	for _, at := range f.Said {
		u.said[at.UnixMilli()] = true
	}
	for at := range u.said {
		if err := u.hear(ctx, tx, at); err != nil {
			return err
		}
	}
	if err := u.sayings(ctx, tx); err != nil {
		return err
	}
	return u.topics(ctx, tx)
}

func (u *unsaying) hear(ctx context.Context, tx *sql.Tx, at int64) error {
	return eachRow(ctx, tx, selectSaidAt, []any{at, u.tenant, u.agent}, func(scan func(...any) error) error {
		var by saidBy
		err := scan(&by.human, &by.text)
		u.texts[by] = true
		u.texts[saidBy{by.human, clip(by.text, maxTopic)}] = true
		return err
	})
}

// holds reports whether somebody's words must go.
func (u *unsaying) holds(by saidBy, at int64) bool {
	return u.said[at] || u.texts[by] || u.words != "" && strings.Contains(strings.ToLower(by.text), u.words)
}

func (u *unsaying) sayings(ctx context.Context, tx *sql.Tx) error {
	var gone []any
	err := eachRow(ctx, tx, selectSayings, []any{u.tenant, u.agent}, func(scan func(...any) error) error {
		var seq, at int64
		var by saidBy
		err := scan(&seq, &by.human, &by.text, &at)
		if u.holds(by, at) {
			gone = append(gone, seq)
		}
		return err
	})
	return execEach(ctx, tx, deleteSaying, gone, err)
}

func (u *unsaying) topics(ctx context.Context, tx *sql.Tx) error {
	var gone []any
	err := eachRow(ctx, tx, selectTopics, []any{u.tenant, u.agent}, func(scan func(...any) error) error {
		var channel string
		var by saidBy
		var at int64
		err := scan(&channel, &by.human, &by.text, &at)
		if u.holds(by, at) {
			gone = append(gone, channel)
		}
		return err
	})
	return execEach(ctx, tx, clearTopic, gone, err, u.tenant, u.agent)
}

const (
	// beforeMark stands in an event's summary before what it took the place of.
	beforeMark = " (before: "

	selectRevised = `SELECT seq, id, audience, day, summary FROM events
		WHERE tenant = ? AND agent = ? AND type IN ('` + string(DecisionRevised) + `', '` + string(UserCorrection) + `') AND instr(summary, '` + beforeMark + `') > 0`
	setSummary = `UPDATE events SET summary = ? WHERE seq = ?`
)

// unsayBefore takes a memory's words from the events of what took its place, and words anew the digests that may hold
// them. It returns the events' IDs.
func (s *Store) unsayBefore(ctx context.Context, tx *sql.Tx, tenant, agent string, f *Forgotten) (ids []string, err error) {
	type revised struct {
		day     hallDay
		seq     int64
		summary string
	}
	var list []revised
	err = eachRow(ctx, tx, selectRevised, []any{tenant, agent}, func(scan func(...any) error) error {
		r, id := revised{day: hallDay{hall: hall{tenant: tenant, agent: agent}}}, ""
		err := scan(&r.seq, &id, &r.day.audience, &r.day.day, &r.summary)
		var was string
		r.summary, was, _ = strings.Cut(r.summary, beforeMark)
		if id == f.SupersededBy || begins(was, f.Words) {
			list, ids = append(list, r), append(ids, id)
		}
		return err
	})
	for _, r := range list {
		if err == nil {
			_, err = tx.ExecContext(ctx, setSummary, r.summary, r.seq)
		}
		if err == nil {
			err = s.remakeWith(ctx, tx, r.day, r.seq)
		}
	}
	return ids, err
}

// begins reports whether a text that may have been cut, or may go on, is of the same words.
func begins(text, words string) bool {
	text, words = strings.TrimRight(text, ".… )"), strings.TrimRight(words, ".… )")
	return text != "" && words != "" && (strings.HasPrefix(text, words) || strings.HasPrefix(words, text))
}

// eachRow calls row with what scans a row of a query's.
func eachRow(ctx context.Context, tx *sql.Tx, query string, args []any, row func(scan func(...any) error) error) (err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// execEach executes a statement with each key, and what comes after it, unless there is an error already.
func execEach(ctx context.Context, tx *sql.Tx, query string, keys []any, err error, after ...any) error {
	for _, key := range keys {
		if err == nil {
			_, err = tx.ExecContext(ctx, query, append([]any{key}, after...)...)
		}
	}
	return err
}
