package ambient

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// StaleProfile is a profile that a model is to write, and all that it may be made of: what one audience may know.
type StaleProfile struct {
	Tenant, Agent string
	Audience      Audience
	Person        string // ID of the person
	Name          string
	Known         []Known  // what memory holds, the most important first
	Said          []string // what they said last, newest first
	Words         int      // of the profile at most

	made int64 // when the profile was made that is stale
}

// profileKey is whose profile it is, and who may be told.
type profileKey struct {
	tenant, agent, person string
	audience              Audience
}

func (p *StaleProfile) key() profileKey { return profileKey{p.Tenant, p.Agent, p.Person, p.Audience} }

// selectStale lists the profiles of something that no model has made, or made for so long before the person was last seen (?1, in
// milliseconds), of those seen last first.
const selectStale = `SELECT p.tenant, p.agent, p.audience, p.person, p.made FROM profiles p
	WHERE p.text <> '' AND (p.source <> 'model' OR p.seen - p.made > ?1) ORDER BY p.seen DESC`

// StaleProfiles lists profiles for a model to write, as many as [People] allows in one pass. Of what there is nothing to say
// about, Known and Said are empty.
func (s *Store) StaleProfiles(ctx context.Context) ([]StaleProfile, error) {
	return s.staleProfiles(ctx, func(profileKey) bool { return true })
}

func (s *Store) staleProfiles(ctx context.Context, wanted func(profileKey) bool) ([]StaleProfile, error) {
	out, err := s.listStale(ctx, wanted)
	for i := 0; i < len(out) && err == nil; i++ {
		err = s.describe(ctx, &out[i])
	}
	if err != nil {
		return nil, fmt.Errorf("looking for stale profiles: %w", err)
	}
	return out, nil
}

func (s *Store) listStale(ctx context.Context, wanted func(profileKey) bool) (out []StaleProfile, err error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectStale, s.cfg.People.StaleAfter.Milliseconds())
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for len(out) < s.cfg.People.PerPass && rows.Next() {
		p := StaleProfile{Words: s.cfg.People.Words}
		if err := rows.Scan(&p.Tenant, &p.Agent, &p.Audience, &p.Person, &p.made); err != nil {
			return nil, err
		}
		if wanted(p.key()) {
			out = append(out, p)
		}
	}
	return out, rows.Err()
}

const selectIdentities = `SELECT ` + humanColumns + ` FROM humans h WHERE h.person = ? ORDER BY h.last_seen DESC, h.id`

// describe gathers what a profile is to be made of. Of several identities the audience's own counts.
func (s *Store) describe(ctx context.Context, p *StaleProfile) (err error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectIdentities, p.Person)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var chosen Human
	for rows.Next() {
		h, err := scanHuman(rows.Scan)
		if err != nil {
			return err
		}
		if own := !h.ByName && p.Audience == userAudience(h.Handle); chosen.ID == "" || own {
			chosen = h
		}
	}
	if err := rows.Err(); err != nil || chosen.ID == "" {
		return err
	}
	m, err := s.gather(ctx, s.db.Reader, Scope{tenant: p.Tenant, agent: p.Agent}, p.Audience, &chosen)
	p.Name, p.Known, p.Said = s.called(chosen.called()), m.known, m.said
	return err
}

const setProfile = `UPDATE profiles SET text = CASE WHEN ?1 = '' THEN text ELSE ?1 END, source = 'model', made = ?2
	WHERE tenant = ?3 AND agent = ?4 AND person = ?5 AND audience = ?6 AND made = ?7`

// SetProfile puts a model's text in the place of a profile, cleaned and cut. An empty text leaves what the rules made,
// for as long as the model's would have lasted. A profile that was made anew meanwhile stays, and a person who was
// forgotten stays so.
func (s *Store) SetProfile(ctx context.Context, p StaleProfile, text string) error {
	text, ok := s.cfg.Clean(firstWords(oneLine(text), s.cfg.People.Words))
	if !ok {
		text = ""
	}
	now := s.cfg.Clock().UnixMilli()
	err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, setProfile, strings.TrimSpace(text), now, p.Tenant, p.Agent, p.Person, p.Audience, p.made)
		return err
	}, func() { s.forgetRooms(p.Tenant, p.Person) })
	if err != nil {
		return fmt.Errorf("keeping a profile: %w", err)
	}
	return nil
}
