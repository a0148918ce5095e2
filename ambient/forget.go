package ambient

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Erased says what was erased of somebody, so that prompts which told of it can be ended, too.
type Erased struct {
	Rows     int64
	sessions map[string]bool
	lines    map[string]bool // parts of the IDs of lines
}

// Told reports whether a conversation is one that the user took part in, or whose prompt shows lines with such IDs.
func (e *Erased) Told(session string, lines []string) bool {
	if e.sessions[session] {
		return true
	}
	for _, id := range lines {
		if e.lines[id] {
			return true
		}
		for part := range strings.SplitSeq(id, "/") {
			if e.lines[part] {
				return true
			}
		}
	}
	return false
}

// graves remembers who was erased when, so that a request that had begun before doesn't bring anything back. The zero
// value is empty.
type graves struct {
	mu sync.Mutex
	at map[grave]time.Time
}

// grave is a user of one agent, or with agent "" of all.
type grave struct{ tenant, agent, user string }

// A request takes less than maxRequest; what is older need not be remembered.
const maxRequest = time.Hour

func (g *graves) add(key grave, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nil {
		g.at = map[grave]time.Time{}
	}
	for old, at := range g.at {
		if now.Sub(at) > maxRequest {
			delete(g.at, old)
		}
	}
	g.at[key] = now
}

// hold reports whether the scope's user was erased after a time.
func (g *graves) hold(scope Scope, at time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, agent := range []string{scope.agent, ""} {
		if erased, ok := g.at[grave{scope.tenant, agent, scope.user}]; ok && !at.After(erased) {
			return true
		}
	}
	return false
}

const selectErased = `SELECT id, platform, name FROM humans WHERE tenant = ? AND handle = ? AND by_name = 0`

// What is erased of a human (?3) with one agent, or with agent "" all.
const ofHuman = ` WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND `

var eraseHuman = []string{
	`DELETE FROM participants` + ofHuman + `human = ?3`,
	`DELETE FROM sayings` + ofHuman + `human = ?3`,
	`DELETE FROM profiles` + ofHuman + `person IN (?3, (SELECT person FROM humans WHERE id = ?3))`,
	`UPDATE channels SET human = '', speaker = '', topic = ''` + ofHuman + `human = ?3`,
}

// What only the user was told (?3 is their audience).
var eraseAudience = []string{
	`DELETE FROM participants` + ofHuman + `audience = ?3`,
	`DELETE FROM sayings` + ofHuman + `audience = ?3`,
	`DELETE FROM profiles` + ofHuman + `audience = ?3`,
}

const (
	selectTheirSessions = `SELECT DISTINCT session FROM participants` + ofHuman + `human = ?3`
	selectTheirEvents   = `SELECT id FROM events` + ofHuman + `(user = ?3 OR audience = 'u/' || ?3)`
	selectTheirRuns     = `SELECT session FROM runs` + ofHuman + `(user = ?3 OR audience = 'u/' || ?3)`
	selectNobodys       = `SELECT seq, id, agent, audience, day, name FROM events WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND user = '' AND name <> ''`
	selectNamed         = `SELECT seq, name FROM transcripts WHERE tenant = ?1 AND (?2 = '' OR agent = ?2) AND name <> ''`
	deleteUttered       = `DELETE FROM transcripts WHERE seq = ?`
	selectHeir          = `SELECT coalesce(min(id), '') FROM humans WHERE person = ?1 AND id <> ?1`
	// A briefing that a model wrote doesn't say what it was made of: when anything they did is erased (?4), all go.
	ofBriefings     = ofHuman + `(?4 OR user = ?3 OR audience = 'u/' || ?3)`
	selectBriefed   = `SELECT session FROM briefings` + ofBriefings
	deleteBriefings = `DELETE FROM briefings` + ofBriefings
	deleteSyntheses = `DELETE FROM syntheses` + ofHuman + `user = ?3`

	deleteHuman = `DELETE FROM humans WHERE id = ?`
)

// EraseUser erases all that is known of a user of the tenant with one agent, or with agent "" everywhere: what they said
// and did, their profiles, and, everywhere, who they are. Once it returns, the bytes are gone from the file.
func (s *Store) EraseUser(ctx context.Context, tenant, user, agent string) (Erased, error) {
	if tenant == "" || user == "" {
		return Erased{}, fmt.Errorf("erasing user: %w", errNoTenant)
	}
	s.graves.add(grave{tenant, agent, user}, s.cfg.Clock())
	var e *eraser
	err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		e = &eraser{s: s, tx: tx, tenant: tenant, agent: agent, user: user, Erased: Erased{sessions: map[string]bool{}, lines: map[string]bool{}}}
		return e.run(ctx)
	}, func() { e.done() })
	if err != nil {
		return Erased{}, fmt.Errorf("erasing user: %w", err)
	}
	s.wipe(ctx)
	return e.Erased, nil
}

// eraser erases a user in one transaction.
type eraser struct {
	s                   *Store
	tx                  *sql.Tx
	tenant, agent, user string
	Erased
	after func() // of events
}

func (e *eraser) run(ctx context.Context) error {
	ids, names := map[string]bool{}, map[string]bool{}
	if err := eachRow(ctx, e.tx, selectErased, []any{e.tenant, e.user}, func(scan func(...any) error) error {
		var id, platform, name string
		err := scan(&id, &platform, &name)
		if ids[id] = true; name != "" {
			// Whoever is known by that name alone on the same platform is taken for the user.
			name = strings.ToLower(name)
			names[name], ids[humanID(e.tenant, platform, name, true)] = true, true
		}
		return err
	}); err != nil {
		return err
	}
	e.s.wiped.Add(1)
	if err := e.events(ctx, names); err != nil {
		return err
	}
	for id := range ids {
		if err := e.human(ctx, id); err != nil {
			return err
		}
	}
	if err := e.words(ctx, names); err != nil {
		return err
	}
	for _, query := range eraseAudience {
		if err := e.exec(ctx, query, e.tenant, e.agent, userAudience(e.user)); err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) human(ctx context.Context, id string) error {
	e.lines[id] = true
	who := []any{e.tenant, e.agent, id}
	if err := e.collect(ctx, selectTheirSessions, who, e.sessions, ""); err != nil {
		return err
	}
	for _, query := range eraseHuman {
		if err := e.exec(ctx, query, who...); err != nil {
			return err
		}
	}
	if e.agent != "" {
		return nil // the others still know who they are
	}
	if err := e.exec(ctx, deleteHuman, id); err != nil {
		return err
	}
	heir := "" // whom those are linked to from now on that were linked to this one
	if err := e.tx.QueryRowContext(ctx, selectHeir, id).Scan(&heir); err != nil {
		return err
	}
	_, err := e.tx.ExecContext(ctx, linkHumans, id, heir)
	return err
}

// words erases what transcripts have of those who are called so.
func (e *eraser) words(ctx context.Context, names map[string]bool) error {
	var theirs []int64
	err := eachRow(ctx, e.tx, selectNamed, []any{e.tenant, e.agent}, func(scan func(...any) error) error {
		var seq int64
		var name string
		err := scan(&seq, &name)
		if names[strings.ToLower(name)] {
			theirs = append(theirs, seq)
		}
		return err
	})
	for _, seq := range theirs {
		if err == nil {
			e.lines[earlierID+strconv.FormatInt(seq, 10)] = true
			err = e.exec(ctx, deleteUttered, seq)
		}
	}
	return err
}

// events erases what they did, and what was made of it; digests are worded anew.
func (e *eraser) events(ctx context.Context, names map[string]bool) error {
	who := []any{e.tenant, e.agent, e.user}
	if err := e.collect(ctx, selectTheirEvents, who, e.lines, ""); err != nil {
		return err
	}
	if err := e.collect(ctx, selectTheirRuns, who, e.lines, ""); err != nil {
		return err
	}
	digests, err := digestsOf(ctx, e.tx, e.tenant, e.agent, e.user)
	if err != nil {
		return err
	}
	for _, d := range digests {
		e.lines[d.line()] = true
	}
	n, after, err := e.s.eraseEvents(ctx, e.tx, e.tenant, e.agent, e.user)
	if e.Rows, e.after = e.Rows+n, after; err != nil {
		return err
	}
	more, err := e.named(ctx, names)
	if err != nil {
		return err
	}
	who = append(who, n > 0 || more)
	if err := e.collect(ctx, selectBriefed, who, e.sessions, ""); err != nil {
		return err
	}
	if err := e.exec(ctx, deleteBriefings, who...); err != nil {
		return err
	}
	return e.exec(ctx, deleteSyntheses, who[:3]...)
}

// named erases what those did who are called so, where only their name is known. It reports whether there was anything.
func (e *eraser) named(ctx context.Context, names map[string]bool) (bool, error) {
	var theirs []told
	err := eachRow(ctx, e.tx, selectNobodys, []any{e.tenant, e.agent}, func(scan func(...any) error) error {
		t := told{hall: hall{tenant: e.tenant}}
		err := scan(&t.seq, &t.ID, &t.hall.agent, &t.hall.audience, &t.day, &t.Name)
		if names[strings.ToLower(t.Name)] {
			theirs = append(theirs, t)
		}
		return err
	})
	for _, t := range theirs {
		if err != nil {
			return false, err
		}
		e.lines[t.ID] = true
		if err = e.exec(ctx, deleteEvent, t.seq); err != nil {
			return false, err
		}
		var list []oldDigest
		list, err = digestsWith(ctx, e.tx, hallDay{t.hall, t.day}, t.seq)
		for i := 0; i < len(list) && err == nil; i++ {
			e.lines[list[i].line()] = true
			err = e.s.remake(ctx, e.tx, list[i])
		}
	}
	return len(theirs) > 0, err
}

// done brings RAM up to it.
func (e *eraser) done() {
	e.after()
	e.s.forgetMade()
	e.s.lately.forget()
	mine := func(tenant, agent string) bool { return tenant == e.tenant && (e.agent == "" || agent == e.agent) }
	e.s.rooms.drop(func(key roomKey, _ *room) bool { return mine(key.tenant, key.agent) })
	e.s.streets.drop(func(key agentKey, _ *street) bool { return mine(key.tenant, key.agent) })
}

func (e *eraser) exec(ctx context.Context, query string, args ...any) error {
	res, err := e.tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	e.Rows += n
	return err
}

// collect adds a query's only column to a set.
func (e *eraser) collect(ctx context.Context, query string, args []any, into map[string]bool, prefix string) error {
	return eachRow(ctx, e.tx, query, args, func(scan func(...any) error) error {
		var value string
		err := scan(&value)
		into[prefix+value] = true
		return err
	})
}

// wipe takes deleted bytes off the disk, even if who asked for it has gone. When a reader is in the way for long, or the
// disk full, the deletion stands all the same, and the next one finishes it.
func (s *Store) wipe(ctx context.Context) {
	if err := s.db.Wipe(context.WithoutCancel(ctx)); err != nil {
		s.cfg.Logger.Warn("deleted bytes stay in the file for now", "error", err)
	}
}
