package memory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
)

const (
	insertExchange = `INSERT INTO exchanges (tenant, agent, user, session, channel, request_id, at, hash)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	insertTurn     = `INSERT INTO turns (exchange, role, text) VALUES (?1, 'user', ?2)`
	insertTurns    = `INSERT INTO turns (exchange, role, text) VALUES (?1, 'user', ?2), (?1, 'assistant', ?3)`
	selectExchange = `SELECT n FROM exchanges WHERE at = ? AND hash = ? LIMIT 1`
	insertSource   = `INSERT OR IGNORE INTO sources (memory, exchange) VALUES (?, ?)`
)

// lesson is what an exchange leaves behind. All that needs no transaction is
// done before there is one.
type lesson struct {
	exchange Exchange
	hash     []byte // of the user's words
	drafts   []draft

	// again says that the exchange has been learned before: its turns are there.
	again bool

	news bool // somebody wants to hear what took the place of what

	// What was said, secrets redacted; "" unless turns are captured.
	userTurn, assistantTurn string
}

// read returns the lesson of an exchange, and whether it holds anything.
func (s *Store) read(e Exchange) (lesson, bool) {
	text := cleanText(stripInjected(e.UserText))
	if e.Scope.check() != nil || strings.TrimSpace(text) == "" {
		return lesson{}, false
	}
	l := lesson{exchange: e, drafts: extractAfter(e.BeforeText, text), news: s.cfg.OnNews != nil}
	s.complete(l.drafts, e, text)
	if s.cfg.Capture == CaptureTurns {
		l.userTurn, l.assistantTurn = Redact(text), Redact(cleanText(stripInjected(e.AssistantText)))
	}
	if l.userTurn == "" && len(l.drafts) == 0 {
		return lesson{}, false
	}
	l.hash = e.Scope.hash("exchange", text)

	return l, true
}

// complete fills in what drafts have of the exchange and its text.
func (s *Store) complete(drafts []draft, e Exchange, text string) {
	for i := range drafts {
		d := &drafts[i]
		d.claim()
		d.at, d.source, d.session = e.At, SourceUser, toText(e.Session)
		if d.typ.timely() {
			d.content = dated(d.content, s.local(e), tenseOf(d.typ, d.content))
		}
		if d.subject == subjectAnswers {
			d.whole = d.content + "\n" + text // An order to the model: the rest of the message says what it serves.
		}
	}
}

// local returns when an exchange was, in the zone of its agent.
func (s *Store) local(e Exchange) time.Time {
	if zone := s.cfg.Zone(e.Scope.agent); zone != nil {
		return e.At.In(zone)
	}

	return e.At.UTC()
}

// write stores the lesson's turns and memories. One that was forgotten leaves
// nothing.
func (l *lesson) write(ctx context.Context, tx *txn) ([]learned, error) {
	gone, err := tx.forgotten(ctx, l.hash)
	if err == nil && !gone {
		gone, err = tx.forgottenPast(ctx, &l.exchange)
	}
	if err != nil || gone {
		return nil, err
	}
	exchange, err := l.writeTurns(ctx, tx)
	if err != nil {
		return nil, err
	}

	var done []learned
	var before int64 // the row of the memory before
	for _, d := range l.drafts {
		out, n, err := put(ctx, tx, l.exchange.Scope, d)
		if err != nil {
			return nil, err
		}
		if d.changes && n == 0 {
			continue
		}
		if n != 0 && d.corrects != "" {
			if err = correct(ctx, tx, l.exchange.Scope, d, n, &out); err != nil {
				return nil, err
			}
		}
		became := learned{Outcome: out, exchange: &l.exchange, typ: d.typ}
		if l.news {
			if err = became.describe(ctx, tx, d); err != nil {
				return nil, err
			}
		}
		done = append(done, became)
		if before != 0 && n > before && follows(d.content) {
			if _, err = tx.ExecContext(ctx, insertEdge, n, before, edgeResult); err != nil {
				return nil, err
			}
		}
		before = n
		if n != 0 && exchange != 0 {
			if _, err = tx.ExecContext(ctx, insertSource, n, exchange); err != nil {
				return nil, err
			}
		}
	}

	return done, nil
}

const selectWas = `SELECT content FROM memories WHERE tenant = ? AND agent = ? AND user = ? AND status = 'active' AND superseded_by <> '' AND superseded_by = ?
	ORDER BY valid_to DESC LIMIT 1`

// describe adds what news tell of a memory.
func (l *learned) describe(ctx context.Context, tx *txn, d draft) error {
	l.content = prepare(d.content)
	if l.Outcome.Outcome != Superseded {
		return nil
	}
	scope := l.exchange.Scope
	err := tx.QueryRowContext(ctx, selectWas, scope.tenant, scope.agent, scope.user, l.ID).Scan(&l.was)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}

	return err
}

// writeTurns stores what was said and returns the exchange's row, or 0 when
// turns aren't captured.
func (l *lesson) writeTurns(ctx context.Context, tx *txn) (int64, error) {
	if l.again {
		return l.findTurns(ctx, tx)
	}
	if l.userTurn == "" {
		return 0, nil
	}
	e := &l.exchange
	res, err := tx.ExecContext(ctx, insertExchange, e.Scope.tenant, e.Scope.agent, e.Scope.user,
		toText(e.Session), toText(e.Channel), toText(e.RequestID), e.At.UnixMilli(), l.hash)
	if err != nil {
		return 0, err
	}
	n, err := res.LastInsertId()
	if err != nil {
		return 0, err
	}
	if l.assistantTurn == "" {
		_, err = tx.ExecContext(ctx, insertTurn, n, l.userTurn)
	} else {
		_, err = tx.ExecContext(ctx, insertTurns, n, l.userTurn, l.assistantTurn)
	}

	return n, err
}

// findTurns returns the row of an exchange whose turns have been stored, or 0.
func (l *lesson) findTurns(ctx context.Context, tx *txn) (n int64, err error) {
	err = tx.QueryRowContext(ctx, selectExchange, l.exchange.At.UnixMilli(), l.hash).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}

	return n, err
}
