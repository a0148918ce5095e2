package ambient

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

// Whom asks what memory holds of somebody.
type Whom struct {
	Tenant, Agent string
	User          string   // their own memories; "": the agent's workspace memories that name them
	Names         []string // what they are called
	Limit         int
}

// Known is something that memory holds of somebody.
type Known struct {
	Type    string // as memory calls it
	Content string
}

// What a profile is made of.
const (
	keptSayings   = 20         // of a human, for each audience
	knownLimit    = 8          // memories
	trimEvery     = 8          // messages, in the mean: then those beyond keptSayings go
	knuth         = 2654435761 // multiplier of a hash, from The Art of Computer Programming, 6.4
	maxQuotes     = 2          // sentences that somebody said of themselves
	quoteWords    = 25         // of each
	thin          = 3          // what is made of fewer things is made anew sooner
	knownTimeout  = time.Second
	modelPatience = 24 * time.Hour
)

const (
	insertSaying = `INSERT INTO sayings (tenant, agent, audience, human, text, at) VALUES (?, ?, ?, ?, ?, ?)`
	trimSayings  = `DELETE FROM sayings WHERE human = ?1 AND tenant = ?2 AND agent = ?3 AND audience = ?4 AND seq NOT IN (
		SELECT seq FROM sayings WHERE human = ?1 AND tenant = ?2 AND agent = ?3 AND audience = ?4 ORDER BY seq DESC LIMIT ?5)`
)

// keepSaid keeps the last things that people said, redacted. What a model must not be shown is not kept.
func (s *Store) keepSaid(ctx context.Context, tx *sql.Tx, scope Scope, all []said, at time.Time) error {
	for _, each := range all {
		text, ok := s.cfg.Clean(oneLine(each.text))
		if !ok || text == "" {
			continue
		}
		res, err := s.prepared(ctx, tx, insertSaying).ExecContext(ctx, scope.tenant, scope.agent, scope.Audience(), each.human.ID, clip(text, maxSaid), at.UnixMilli())
		if err != nil {
			return err
		}
		seq, err := res.LastInsertId()
		if err != nil {
			return err
		}
		if uint32(seq)*knuth>>16%trimEvery != 0 { // scattered, so that nobody's turn is always another's
			continue
		}
		if _, err := tx.ExecContext(ctx, trimSayings, each.human.ID, scope.tenant, scope.agent, scope.Audience(), keptSayings); err != nil {
			return err
		}
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

const (
	sawProfile = `UPDATE profiles SET seen = max(seen, ?) WHERE tenant = ? AND agent = ? AND person = ? AND audience = ? RETURNING source, made`
	selectSaid = `SELECT s.text FROM sayings s JOIN humans h ON h.id = s.human
		WHERE h.person = ? AND s.tenant = ? AND s.agent = ? AND s.audience = ? ORDER BY s.seq DESC LIMIT ?`
	upsertProfile = `INSERT INTO profiles (tenant, agent, audience, person, text, source, made, seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
		ON CONFLICT DO UPDATE SET text = excluded.text, source = excluded.source, made = excluded.made, seen = max(seen, excluded.seen)`
)

// Where a profile came from.
const (
	byRules = "rules"
	byThin  = "thin" // by rules, of next to nothing
	byModel = "model"
)

// renew makes by rules the profiles that are stale, of people who just spoke: for the audience that heard them, and of
// the user for themselves. It returns whose it made.
func (s *Store) renew(ctx context.Context, tx *sql.Tx, scope Scope, met []Human, at time.Time) (changed []string, err error) {
	for i := range met {
		h := &met[i]
		audiences := []Audience{scope.Audience()}
		if own := userAudience(scope.user); scope.user != "" && h.Handle == scope.user && !h.ByName && audiences[0] != own {
			audiences = append(audiences, own)
		}
		for _, audience := range audiences {
			made, err := s.renewOne(ctx, tx, scope, audience, h, at)
			if err != nil {
				return nil, err
			}
			if made {
				changed = append(changed, h.Person)
			}
		}
	}
	return changed, nil
}

func (s *Store) renewOne(ctx context.Context, tx *sql.Tx, scope Scope, audience Audience, h *Human, at time.Time) (bool, error) {
	var source string
	var made int64
	err := s.prepared(ctx, tx, sawProfile).QueryRowContext(ctx, at.UnixMilli(), scope.tenant, scope.agent, h.Person, audience).Scan(&source, &made)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	patience := s.cfg.People.StaleAfter
	switch source {
	case byModel:
		patience += modelPatience // a model will see to it, unless there is none any more
	case byThin:
		patience = min(patience, s.cfg.People.Interval)
	}
	if err == nil && at.Sub(time.UnixMilli(made)) <= patience {
		return false, nil
	}
	m, err := s.gather(ctx, tx, scope, audience, h)
	if err != nil {
		return false, err
	}
	text, source := m.byRules(s.cfg.People.Words)
	text, _ = s.cfg.Clean(text)
	_, err = tx.ExecContext(ctx, upsertProfile, scope.tenant, scope.agent, audience, h.Person, text, source, at.UnixMilli(), at.UnixMilli())
	return true, err
}

// material is what a profile is made of: what an audience may know.
type material struct {
	known []Known
	said  []string // newest first
}

// gather looks for what an audience may know of a person, one of whose identities is h.
func (s *Store) gather(ctx context.Context, db querier, scope Scope, audience Audience, h *Human) (m material, err error) {
	whom := Whom{Tenant: scope.tenant, Agent: scope.agent, Limit: knownLimit}
	switch {
	case audience == Everybody && h.called() != "":
		whom.Names = []string{h.called()}
	case !h.ByName && audience == userAudience(h.Handle):
		whom.User = h.Handle
	}
	if whom.User != "" || whom.Names != nil {
		ctx, cancel := context.WithTimeout(ctx, knownTimeout)
		defer cancel()
		m.known = s.cfg.Known(ctx, whom)
	}
	rows, err := db.QueryContext(ctx, selectSaid, h.Person, scope.tenant, scope.agent, audience, keptSayings)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return m, err
		}
		m.said = append(m.said, text)
	}
	return m, rows.Err()
}

// byRules makes a profile of so many words at most: what memory holds, then what the person says of themselves, and when
// there is neither, what they said last.
func (m *material) byRules(words int) (text, source string) {
	var parts []string
	add := func(sentence string) {
		sentence = strings.TrimRight(firstWords(sentence, quoteWords), ".; ")
		for _, known := range parts {
			if sentence == "" || strings.Contains(known, sentence) {
				return
			}
		}
		parts = append(parts, sentence)
	}
	for _, known := range m.known {
		add(oneLine(known.Content))
	}
	var quotes []string
	for _, said := range m.said {
		for sentence := range strings.SplitAfterSeq(said, ". ") {
			quote := "“" + strings.Trim(firstWords(sentence, quoteWords), ".! ") + "”"
			if len(quotes) < maxQuotes && ofThemselves(sentence) && !slices.Contains(quotes, quote) {
				quotes = append(quotes, quote)
			}
		}
	}
	if len(quotes) > 0 {
		parts = append(parts, "says "+strings.Join(quotes, " and "))
	}
	source = byRules
	if len(parts)+len(m.said) < thin {
		source = byThin
	}
	if len(parts) == 0 && len(m.said) > 0 {
		add("last said “" + strings.TrimRight(firstWords(m.said[0], quoteWords), ". ") + "”")
	}
	if len(parts) == 0 {
		return "", byThin
	}
	return firstWords(strings.Join(parts, "; "), words) + ".", source
}

// ofThemselves reports whether a sentence tells something of who says it.
func ofThemselves(sentence string) bool {
	sentence = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(sentence, "’", "'")))
	for _, start := range []string{"i'm ", "i am ", "i work ", "i own ", "i lead ", "i prefer ", "i maintain ", "i use ", "my job ", "my role ", "my team "} {
		if strings.HasPrefix(sentence, start) {
			return true
		}
	}
	return false
}

// firstWords is the beginning of a text, of so many words at most.
func firstWords(text string, n int) string {
	for i, r := range text {
		if r == ' ' {
			if n--; n == 0 {
				return strings.TrimRight(text[:i], " ,;") + "…"
			}
		}
	}
	return text
}
