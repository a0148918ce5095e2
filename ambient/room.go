package ambient

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// room is what RAM holds of the people of one conversation. It is loaded from the file when it is first asked for; from
// then on the writer keeps it up to date. Both hold mu while they do, and what the writer tells can be told twice.
type room struct {
	key roomKey

	mu       sync.Mutex
	loaded   bool
	tried    time.Time            // when loading failed
	there    map[presence]int64   // when they spoke last, in Unix milliseconds
	humans   map[string]Human     // by ID; those that the file knows nothing of, too
	profiles map[string][]profile // by person
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

// Bounds of what RAM holds, and of the people of one conversation. Two generations of rooms are kept.
const (
	maxRooms      = 4096
	maxRoomBytes  = 8 << 20
	maxPresent    = 200
	presenceBytes = 300
	sessionIdle   = 24 * time.Hour // after this long somebody takes part no more
	retryLoad     = time.Second
)

// rooms are the rooms in use: those asked for since the last turn of generations, and those of the generation before. The
// zero value is empty.
type rooms struct {
	mu           sync.Mutex
	fresh, stale map[roomKey]*room
	bytes        int // of fresh, by estimate
}

// find returns a room, nil when there is none and it isn't to be made.
func (r *rooms) find(key roomKey, create bool) *room {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.fresh[key]
	if ok {
		return found
	}
	if found = r.stale[key]; found == nil {
		if !create {
			return nil
		}
		found = &room{key: key}
	}
	delete(r.stale, key)
	if r.fresh == nil {
		r.fresh = map[roomKey]*room{}
	}
	r.fresh[key] = found
	r.grow(presenceBytes)
	return found
}

// grow counts bytes, and turns the generations when there are too many. mu is held.
func (r *rooms) grow(bytes int) {
	if r.bytes += bytes; r.bytes > maxRoomBytes || len(r.fresh) > maxRooms {
		r.fresh, r.stale, r.bytes = nil, r.fresh, 0
	}
}

// grew counts the bytes that a room has grown by.
func (r *rooms) grew(bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grow(bytes)
}

// forget drops the rooms of a tenant that a person, or a human, is in or was asked for, so that they are loaded anew.
func (r *rooms) forget(tenant string, who ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, generation := range []map[roomKey]*room{r.fresh, r.stale} {
		for key, room := range generation {
			if key.tenant == tenant && room.knows(who) {
				delete(generation, key)
			}
		}
	}
}

func (r *room) knows(who []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.humans {
		for _, id := range who {
			if h.ID == id || h.Person == id {
				return true
			}
		}
	}
	return false
}

// errNotLoaded says that loading failed a moment ago.
var errNotLoaded = errors.New("the ambient store can't be read for now")

// room returns a conversation's room, loaded and locked. The caller must unlock it.
func (s *Store) room(ctx context.Context, scope Scope, session string) (*room, error) {
	r := s.rooms.find(roomKey{scope.tenant, scope.agent, session}, true)
	r.mu.Lock()
	if r.loaded {
		return r, nil
	}
	err := errNotLoaded
	if now := s.cfg.Clock(); now.Sub(r.tried) >= retryLoad {
		if err = r.load(ctx, s.db.Reader, now); err != nil {
			r.tried = now
		}
	}
	if err != nil {
		r.mu.Unlock()
		return nil, err
	}
	r.loaded = true
	return r, nil
}

const (
	humanColumns  = `h.id, h.platform, h.handle, h.by_name, h.name, h.person, h.first_seen, h.last_seen`
	selectPresent = `SELECT p.audience, p.at, ` + humanColumns + ` FROM participants p JOIN humans h ON h.id = p.human
		WHERE p.tenant = ? AND p.agent = ? AND p.session = ? AND p.at > ? ORDER BY p.at DESC LIMIT ?`
	selectHuman    = `SELECT ` + humanColumns + ` FROM humans h WHERE h.id = ?`
	selectProfiles = `SELECT audience, text FROM profiles WHERE tenant = ? AND agent = ? AND person = ?`
)

func (r *room) load(ctx context.Context, db *sql.DB, now time.Time) (err error) {
	r.there, r.humans, r.profiles = map[presence]int64{}, map[string]Human{}, map[string][]profile{}
	rows, err := db.QueryContext(ctx, selectPresent, r.key.tenant, r.key.agent, r.key.session, now.Add(-sessionIdle).UnixMilli(), maxPresent)
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
		r.there[p], r.humans[h.ID] = at, h
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

// person completes a human, and loads their profiles, from the file where RAM doesn't have them.
func (r *room) person(ctx context.Context, db *sql.DB, h Human) (Human, []profile, error) {
	known, ok := r.humans[h.ID]
	if !ok {
		var err error
		known, err = scanHuman(db.QueryRowContext(ctx, selectHuman, h.ID).Scan)
		if errors.Is(err, sql.ErrNoRows) {
			known = h
		} else if err != nil {
			return h, nil, err
		}
		r.humans[h.ID] = known
	}
	profiles, ok := r.profiles[known.Person]
	if !ok {
		var err error
		if profiles, err = readProfiles(ctx, db, r.key, known.Person); err != nil {
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

// enter notes that humans spoke.
func (r *room) enter(audience Audience, humans []Human, at time.Time) (grown int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		return 0
	}
	for _, h := range humans {
		p := presence{audience, h.ID}
		if r.there[p] == 0 {
			grown += presenceBytes
		}
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
	return grown
}
