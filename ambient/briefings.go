package ambient

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// briefingTTL is how long a session's briefing is kept. A worker that is away for longer begins anew.
const briefingTTL = 7 * 24 * time.Hour

// maxBriefings bounds the bytes of the briefings in RAM: some thousands.
const maxBriefings = 8 << 20

// briefKey is whose briefing it is. It holds the audience, too: what was found for a private channel stays there when the
// session goes on elsewhere.
type briefKey struct {
	tenant, agent, user string
	audience            Audience
	session             string
}

// briefings keeps the briefings that are in use. Those who find none in RAM look into the file.
type briefings struct {
	mu     sync.Mutex
	kept   map[briefKey][]Group // empty ones, too: there was nothing to say
	bytes  int
	making map[briefKey]chan struct{} // closed when it is made
}

// once runs f unless somebody runs it for the same key: then it waits for that, and f isn't run.
func (b *briefings) once(ctx context.Context, key briefKey, f func() (string, error)) (string, error) {
	b.mu.Lock()
	if made := b.making[key]; made != nil {
		b.mu.Unlock()
		select {
		case <-made:
			return "", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	made := make(chan struct{})
	if b.making == nil {
		b.making = map[briefKey]chan struct{}{}
	}
	b.making[key] = made
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.making, key)
		b.mu.Unlock()
		close(made)
	}()
	return f()
}

func (b *briefings) get(key briefKey) ([]Group, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	groups, ok := b.kept[key]
	return groups, ok
}

// put keeps a briefing. When there is no room the cache starts over.
func (b *briefings) put(key briefKey, groups []Group) {
	const overhead = 512
	size := overhead
	for i := range groups {
		for _, l := range groups[i].Lines {
			size += len(l.Text) + len(l.ID) + len(l.Label) + 96
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil || b.bytes+size > maxBriefings {
		b.kept, b.bytes = map[briefKey][]Group{}, 0
	}
	b.kept[key] = groups
	b.bytes += size
}

// clear forgets all that is in RAM.
func (b *briefings) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept, b.bytes = nil, 0
}

const (
	selectBriefing = `SELECT body FROM briefings WHERE tenant = ? AND agent = ? AND user = ? AND audience = ? AND session = ? AND at > ?`
	insertBriefing = `INSERT OR REPLACE INTO briefings (tenant, agent, user, audience, session, body, at) VALUES (?, ?, ?, ?, ?, ?, ?)`
	oldBriefings   = `DELETE FROM briefings WHERE at <= ?`
)

// briefing returns what a session was told before it began.
func (s *Store) briefing(ctx context.Context, key briefKey) (groups []Group, found bool, err error) {
	if groups, found = s.briefings.get(key); found {
		return groups, true, nil
	}
	var body []byte
	since := s.cfg.Clock().Add(-briefingTTL)
	err = s.db.Reader.QueryRowContext(ctx, selectBriefing, key.tenant, key.agent, key.user, key.audience, key.session, since.UnixMilli()).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &groups)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading a briefing: %w", err)
	}
	s.briefings.put(key, groups)
	return groups, true, nil
}

// keepBriefing keeps what a session is told. It holds from now on, and over a restart once the writer got to it.
func (s *Store) keepBriefing(key briefKey, groups []Group, at time.Time) {
	s.briefings.put(key, groups)
	body, err := json.Marshal(groups)
	if err != nil { // texts and flags always marshal
		return
	}
	s.later(func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertBriefing, key.tenant, key.agent, key.user, key.audience, key.session, body, at.UnixMilli())
		return err
	}, nil)
}

// showBriefing adds a session's briefing to a view.
func (s *Store) showBriefing(ctx context.Context, v *View, scope Scope, m *Moment) (err error) {
	if m.Mode != "briefed" || !m.Opening {
		return nil
	}
	v.Briefing, _, err = s.briefing(ctx, briefKey{scope.tenant, scope.agent, scope.user, scope.Audience(), m.Session})
	return err
}
