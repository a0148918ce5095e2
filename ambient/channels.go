package ambient

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

// street is what RAM holds of an agent's channels.
type street struct {
	key agentKey

	lazy
	channels map[string]channel // by ID
	earlier  map[string]claim   // the transcripts there are, by channel
	bytes    int                // as counted by the cache
}

type agentKey struct{ tenant, agent string }

// channel is a place where people talk to an agent.
type channel struct {
	id, name, platform string
	private            bool   // it was called so, once: then nobody else hears of it
	human              string // who spoke last
	speaker, topic     string // what they are called, and said
	at                 int64  // when, in Unix milliseconds
}

// Bounds of what is told of channels.
const (
	maxChannels  = 10  // in a prompt
	keptChannels = 200 // in RAM, for each agent
	channelIdle  = 24 * time.Hour
	maxTopic     = 120 // bytes
	channelBytes = 400
	timeOfDay    = "15:04"
	dayAndTime   = "2006-01-02 15:04"
)

// street returns what is known of an agent's channels, loaded and locked. The caller must unlock it.
func (s *Store) street(ctx context.Context, scope Scope) (*street, error) {
	key := agentKey{scope.tenant, scope.agent}
	st := s.streets.find(key, func() street { return street{key: key} })
	return st, st.lock(ctx, s, func(ctx context.Context, db *sql.DB) error {
		err := st.load(ctx, db, s.cfg.Clock())
		s.streets.grew(key, st.grown())
		return err
	})
}

const selectChannels = `SELECT channel, name, platform, private, human, speaker, topic, at FROM channels
	WHERE tenant = ? AND agent = ? AND at > ? ORDER BY at DESC LIMIT ?`

// grown returns by how many bytes the street has grown since it was last asked. st is locked.
func (st *street) grown() int {
	by := (len(st.channels)+len(st.earlier))*channelBytes - st.bytes
	st.bytes += by
	return by
}

func (st *street) load(ctx context.Context, db *sql.DB, now time.Time) (err error) {
	st.channels = map[string]channel{}
	rows, err := db.QueryContext(ctx, selectChannels, st.key.tenant, st.key.agent, now.Add(-channelIdle).UnixMilli(), keptChannels)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var c channel
		if err := rows.Scan(&c.id, &c.name, &c.platform, &c.private, &c.human, &c.speaker, &c.topic, &c.at); err != nil {
			return err
		}
		st.channels[c.id] = c
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return st.loadClaims(ctx, db)
}

// upsertChannel never makes a private channel open again, and of one keeps nothing that was said.
const upsertChannel = `INSERT INTO channels (tenant, agent, channel, name, platform, private, human, speaker, topic, at)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
	ON CONFLICT DO UPDATE SET name = excluded.name, platform = excluded.platform, private = max(private, excluded.private),
		human = iif(private OR excluded.private, '', excluded.human), speaker = iif(private OR excluded.private, '', excluded.speaker),
		topic = iif(private OR excluded.private, '', excluded.topic), at = max(at, excluded.at)
	RETURNING private, human, speaker, topic, at`

// hearChannel takes note of what was said in a channel.
func (s *Store) hearChannel(scope Scope, h *Heard) bool {
	if scope.channel == "" || !h.NewTurn || len(h.Voices) == 0 || !byPeople(h.Process) || h.Trigger != "" {
		return true
	}
	c := channel{id: scope.channel, name: cmp.Or(s.place(h.ChannelName), s.place(scope.channel), "a channel"), platform: h.Platform, private: scope.private, at: h.At.UnixMilli()}
	if last := h.Voices[len(h.Voices)-1]; !c.private {
		if human, ok := speaker(scope, h.Platform, last); ok {
			c.human, c.speaker = human.ID, s.called(human.called())
		}
		if text, ok := s.cfg.Clean(oneLine(last.Text)); ok {
			c.topic = clip(text, maxTopic)
		}
	}
	key := agentKey{scope.tenant, scope.agent}
	queue := s.soon
	if st := s.streets.find(key, nil); st != nil && st.hear(c) {
		queue = s.later
	}
	return queue(func(ctx context.Context, tx *sql.Tx) error {
		return s.prepared(ctx, tx, upsertChannel).QueryRowContext(ctx, scope.tenant, scope.agent, c.id, c.name, c.platform, c.private, c.human, c.speaker, c.topic, c.at).
			Scan(&c.private, &c.human, &c.speaker, &c.topic, &c.at)
	}, func() {
		if st := s.streets.find(key, nil); st != nil {
			s.streets.grew(key, st.put(c))
		}
	})
}

// hear notes what was said in a channel as upsertChannel will, before it does. It is false, and nothing noted, where RAM
// knows nothing of the channel, which the file may know to be private.
func (st *street) hear(c channel) bool {
	if !st.mu.TryLock() {
		return false // it may be being loaded
	}
	defer st.mu.Unlock()
	was, known := st.channels[c.id]
	if !st.loaded || !known {
		return false
	}
	if c.private = c.private || was.private; c.private {
		c.human, c.speaker, c.topic = "", "", ""
	}
	c.at = max(c.at, was.at)
	st.channels[c.id] = c
	return true
}

// put notes the state of a channel, unless something newer was heard that is about to be written.
func (st *street) put(c channel) (grown int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.loaded || st.channels[c.id].at > c.at && !c.private {
		return 0
	}
	st.channels[c.id] = c
	if len(st.channels) > 2*keptChannels {
		st.loaded = false // it is loaded again, without those that are idle
	}
	return st.grown()
}

// otherChannels adds what was said last in the agent's other channels, as far as they are open to everybody.
func (s *Store) otherChannels(ctx context.Context, v *View, scope Scope, m *Moment) error {
	st, err := s.street(ctx, scope)
	if err != nil {
		return err
	}
	defer st.mu.Unlock()
	var open []channel
	since := m.At.Add(-channelIdle).UnixMilli()
	for _, c := range st.channels {
		if c.id != scope.channel && !c.private && c.at > since && (c.topic != "" || c.speaker != "") {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	slices.SortFunc(open, func(a, b channel) int { return cmp.Or(cmp.Compare(b.at, a.at), strings.Compare(a.id, b.id)) })
	g := Group{Live: true, Total: len(open)}
	for _, c := range open[:min(len(open), maxChannels)] {
		g.Lines = append(g.Lines, c.line(m.At, s.zone(scope.agent)))
	}
	v.Channels = []Group{g}
	return nil
}

// line tells of a channel. Times are absolute, so that the line stays true in later prompts.
func (c *channel) line(now time.Time, zone *time.Location) Line {
	at := time.UnixMilli(c.at)
	text := c.topic
	if c.speaker != "" {
		text = strings.TrimSuffix(c.speaker+": "+c.topic, ": ")
	}
	return Line{ID: "channel/" + c.human + "/" + c.id + "/" + at.UTC().Format(time.RFC3339), Label: c.name + ", " + clockTime(at, now, zone), Text: text}
}

// clockTime is a time of today, or a day and time.
func clockTime(at, now time.Time, zone *time.Location) string {
	at, now = at.In(zone), now.In(zone)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format(timeOfDay)
	}
	return at.Format(dayAndTime)
}
