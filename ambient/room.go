package ambient

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"
)

// room is what RAM holds of the people of one conversation.
type room struct {
	key roomKey

	lazy
	there    map[presence]int64   // when they spoke last, in Unix milliseconds
	humans   map[string]Human     // by ID; those that the file knows nothing of, too
	profiles map[string][]profile // by person
	doings   map[doingsKey]doings
	bytes    int // as counted by the cache
}

type roomKey struct{ tenant, agent, session string }

// presence is somebody's part in a conversation, as far as an audience knows of it.
type presence struct {
	audience Audience
	human    string
}

// profile is what an audience may be told of a person.
type profile struct {
	audience Audience
	text     string
}

// Bounds of the people of one conversation.
const (
	maxPresent    = 200
	presenceBytes = 300
	sessionIdle   = 24 * time.Hour // after this long somebody takes part no more
)

// forgetRooms drops the rooms of a tenant that a person, or a human, is in or was asked for.
func (s *Store) forgetRooms(tenant string, who ...string) {
	s.rooms.drop(func(key roomKey, r *room) bool { return key.tenant == tenant && r.knows(who) })
}

func (r *room) knows(who []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.humans {
		if slices.Contains(who, h.ID) || slices.Contains(who, h.Person) {
			return true
		}
	}
	return false
}

// room returns a conversation's room, loaded and locked. The caller must unlock it.
func (s *Store) room(ctx context.Context, scope Scope, session string) (*room, error) {
	key := roomKey{scope.tenant, scope.agent, session}
	r := s.rooms.find(key, func() room { return room{key: key} })
	return r, r.lock(ctx, s, func(ctx context.Context, db *sql.DB) error {
		err := r.load(ctx, s, db)
		s.rooms.grew(key, r.grown())
		return err
	})
}

const (
	humanColumns  = `h.id, h.platform, h.handle, h.by_name, h.name, h.person, h.first_seen, h.last_seen`
	selectPresent = `SELECT p.audience, p.at, ` + humanColumns + ` FROM participants p JOIN humans h ON h.id = p.human
		WHERE p.tenant = ? AND p.agent = ? AND p.session = ? AND p.at > ? ORDER BY p.at DESC LIMIT ?`
	selectHuman    = `SELECT ` + humanColumns + ` FROM humans h WHERE h.id = ?`
	selectProfiles = `SELECT audience, text FROM profiles WHERE tenant = ? AND agent = ? AND person = ?`
)

// grown returns by how many bytes the room has grown since it was last asked. r is locked.
func (r *room) grown() int {
	by := (len(r.there)+len(r.humans)+len(r.profiles)+len(r.doings))*presenceBytes - r.bytes
	r.bytes += by
	return by
}

func (r *room) load(ctx context.Context, s *Store, db *sql.DB) (err error) {
	r.there, r.humans, r.profiles, r.doings = map[presence]int64{}, map[string]Human{}, map[string][]profile{}, map[doingsKey]doings{}
	rows, err := db.QueryContext(ctx, selectPresent, r.key.tenant, r.key.agent, r.key.session, s.cfg.Clock().Add(-sessionIdle).UnixMilli(), maxPresent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p presence
		var at int64
		h, err := scanHuman(rows.Scan, &p.audience, &at)
		if err != nil {
			return err
		}
		p.human = h.ID
		r.there[p], r.humans[h.ID] = at, s.presentable(h)
	}
	return rows.Err()
}

// scanHuman reads humanColumns after others.
func scanHuman(scan func(...any) error, before ...any) (h Human, err error) {
	var first, last int64
	err = scan(append(before, &h.ID, &h.Platform, &h.Handle, &h.ByName, &h.Name, &h.Person, &first, &last)...)
	h.FirstSeen, h.LastSeen = time.UnixMilli(first).UTC(), time.UnixMilli(last).UTC()
	return h, err
}

// person completes a human as they may be shown, and loads their profiles, from the file where RAM doesn't have them.
func (r *room) person(ctx context.Context, s *Store, h Human) (Human, []profile, error) {
	known, ok := r.humans[h.ID]
	if !ok {
		var err error
		known, err = scanHuman(s.db.Reader.QueryRowContext(ctx, selectHuman, h.ID).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			known = h
		} else if err != nil {
			return h, nil, err
		}
		known = s.presentable(known)
		r.humans[h.ID] = known
	}
	profiles, ok := r.profiles[known.Person]
	if !ok {
		var err error
		if profiles, err = readProfiles(ctx, s.db.Reader, r.key, known.Person); err != nil {
			return h, nil, err
		}
		r.profiles[known.Person] = profiles
	}
	return known, profiles, nil
}

func readProfiles(ctx context.Context, db *sql.DB, key roomKey, person string) (out []profile, err error) {
	rows, err := db.QueryContext(ctx, selectProfiles, key.tenant, key.agent, person)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p profile
		if err := rows.Scan(&p.audience, &p.text); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, rows.Err()
}

// hear notes that humans spoke again, before the writer does. It is false, and nothing noted, where one of them has just
// come or is called another name: the file may know more of them.
func (r *room) hear(audience Audience, all []said, at time.Time) bool {
	if !r.mu.TryLock() {
		return false // it may be being loaded
	}
	defer r.mu.Unlock()
	if !r.loaded {
		return false
	}
	for i := range all {
		h := &all[i].human
		if _, ok := r.there[presence{audience, h.ID}]; !ok || h.Name != "" && h.Name != r.humans[h.ID].Name {
			return false
		}
	}
	for i := range all {
		p := presence{audience, all[i].human.ID}
		r.there[p] = max(r.there[p], at.UnixMilli())
	}
	return true
}

// enter notes that humans spoke.
func (r *room) enter(audience Audience, humans []Human, at time.Time) (grown int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		return 0
	}
	for _, h := range humans {
		p := presence{audience, h.ID}
		r.there[p] = max(r.there[p], at.UnixMilli())
		r.humans[h.ID] = h
	}
	for len(r.there) > maxPresent {
		oldest, when := presence{}, int64(0)
		for p, at := range r.there {
			if when == 0 || at < when {
				oldest, when = p, at
			}
		}
		delete(r.there, oldest)
	}
	if len(r.humans) > 2*maxPresent {
		r.loaded = false // it is loaded again, without those who have left
	}
	return r.grown()
}
