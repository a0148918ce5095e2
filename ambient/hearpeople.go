package ambient

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// lately remembers which humans were noted a moment ago, so that a conversation of one user writes nothing when nothing
// has changed. The zero value is empty.
type lately struct {
	mu   sync.Mutex
	seen map[string]sighting
}

type sighting struct {
	name string
	at   time.Time
}

// What is seen again within seenAgain is not written. maxLately bounds what is remembered; then all of it goes.
const (
	seenAgain = 5 * time.Minute
	maxLately = 8192
)

// news reports whether a human was not noted a moment ago under the same name, and remembers that they are now.
func (l *lately) news(h *Human, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, ok := l.seen[h.ID]
	if ok && last.name == h.Name && at.Sub(last.at) < seenAgain {
		return false
	}
	if l.seen == nil || len(l.seen) >= maxLately {
		l.seen = map[string]sighting{}
	}
	l.seen[h.ID] = sighting{h.Name, at}
	return true
}

func (l *lately) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = nil
}

// said is what a human said in a request.
type said struct {
	human Human
	text  string
}

// hearPeople takes note of who spoke.
func (s *Store) hearPeople(scope Scope, h *Heard) bool {
	if h.Trigger != "" {
		return true // a timetable's words are nobody's
	}
	if !h.Placed || len(h.Voices) == 0 || !byPeople(h.Process) {
		return s.hearUser(scope, h)
	}
	var all []said
	for _, voice := range h.Voices {
		if human, ok := speaker(scope, h.Platform, voice); ok {
			all = append(all, said{human, voice.Text})
		}
	}
	if len(all) == 0 {
		return true
	}
	session, at, audience := h.Session, h.At, scope.Audience()
	var met []Human
	var changed []string // persons whose profile is another now
	key := roomKey{scope.tenant, scope.agent, session}
	queue := s.soon
	if r := s.rooms.find(key, nil); r != nil && r.hear(audience, all, at) {
		queue = s.later
	}
	return queue(func(ctx context.Context, tx *sql.Tx) (err error) {
		if met, err = s.meetAll(ctx, tx, scope, session, all, at); err != nil {
			return err
		}
		if err := s.keepSaid(ctx, tx, scope, all, at); err != nil {
			return err
		}
		changed, err = s.renew(ctx, tx, scope, met, at)
		return err
	}, func() {
		if len(changed) > 0 {
			s.forgetRooms(scope.tenant, changed...)
		}
		if r := s.rooms.find(key, nil); r != nil {
			for i := range met {
				met[i] = s.presentable(met[i])
			}
			s.rooms.grew(key, r.enter(audience, met, at))
		}
	})
}

// byPeople reports whether people speak in a process; in others, such as workers, an agent does.
func byPeople(process string) bool { return process == "channel" || process == "" }

// hearUser takes note that the scope's user was seen.
func (s *Store) hearUser(scope Scope, h *Heard) bool {
	human, ok := speaker(scope, h.Platform, Voice{Name: CleanName(h.UserName), User: true})
	if !ok || human.ByName || !s.lately.news(&human, h.At) {
		return true
	}
	at := h.At
	return s.soon(func(ctx context.Context, tx *sql.Tx) error { return s.meet(ctx, tx, scope.tenant, &human, at) }, nil)
}

const upsertPresent = `INSERT INTO participants (tenant, agent, session, audience, human, at) VALUES (?, ?, ?, ?, ?, ?)
	ON CONFLICT DO UPDATE SET at = max(at, excluded.at)`

// meetAll notes who takes part in a conversation, each once.
func (s *Store) meetAll(ctx context.Context, tx *sql.Tx, scope Scope, session string, all []said, at time.Time) ([]Human, error) {
	met := make([]Human, 0, len(all))
next:
	for _, each := range all {
		for i := range met {
			if met[i].ID == each.human.ID {
				continue next
			}
		}
		h := each.human
		h.FirstSeen, h.LastSeen = at, at
		if err := s.meet(ctx, tx, scope.tenant, &h, at); err != nil {
			return nil, err
		}
		if _, err := s.prepared(ctx, tx, upsertPresent).ExecContext(ctx, scope.tenant, scope.agent, session, scope.Audience(), h.ID, at.UnixMilli()); err != nil {
			return nil, err
		}
		met = append(met, h)
	}
	return met, nil
}

// For how long what isn't asked for is kept.
const (
	sayingsKept  = 30 * 24 * time.Hour
	channelsKept = 30 * 24 * time.Hour
	humansKept   = 365 * 24 * time.Hour
)

// purgePeople deletes what is past its time: who took part in conversations, what people said, channels and transcripts
// that nobody uses, and humans who have not been seen for a year.
func purgePeople(ctx context.Context, tx *sql.Tx, now time.Time) error {
	for _, old := range []struct {
		query string
		kept  time.Duration
	}{
		{"DELETE FROM participants WHERE at < ?", sessionIdle},
		{"DELETE FROM sayings WHERE at < ?", sayingsKept},
		{"DELETE FROM channels WHERE at < ?", channelsKept},
		{"DELETE FROM transcripts WHERE kept < ?", channelsKept},
		{"DELETE FROM profiles WHERE seen < ?", humansKept},
		{"DELETE FROM humans WHERE last_seen < ? AND person = id AND NOT EXISTS (SELECT 1 FROM humans l WHERE l.person = humans.id AND l.id <> humans.id)", humansKept},
	} {
		if _, err := tx.ExecContext(ctx, old.query, now.Add(-old.kept).UnixMilli()); err != nil {
			return err
		}
	}
	return nil
}
