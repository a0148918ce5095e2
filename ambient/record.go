package ambient

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
)

// This file is how events come in.

// newID is a version 7 UUID: unique, and in order of time.
func newID() string { return uuid.Must(uuid.NewV7()).String() }

// Posted is an event that somebody told of, and where.
type Posted struct {
	Scope Scope
	Event Event
}

// Result says what became of an event.
type Result struct {
	ID      string `json:"id"`      // empty when it was refused
	Outcome string `json:"outcome"` // stored or refused
	Reason  string `json:"reason"`
}

// Outcomes of events.
const (
	stored  = "stored"
	refused = "refused"
)

// Record stores events and returns what became of each once they are in the file. One whose summary the scanner refuses
// is not kept, nor one without a summary or of an unknown type; the others are.
func (s *Store) Record(ctx context.Context, posted []Posted) ([]Result, error) {
	results := make([]Result, len(posted))
	events := make([]told, 0, len(posted))
	for i, p := range posted {
		if ok := s.prepare(&p.Event); !ok {
			results[i] = Result{Outcome: refused, Reason: "the summary is empty, or must not be shown to a model"}
			continue
		}
		results[i] = Result{ID: p.Event.ID, Outcome: stored}
		events = append(events, s.toldBy(p.Scope, p.Event))
	}
	if len(events) == 0 {
		return results, ctx.Err()
	}
	write, done := s.recording(events)
	if err := s.do(ctx, write, done); err != nil {
		return nil, fmt.Errorf("storing events: %w", err)
	}
	return results, nil
}

// note queues an event of the traffic. Like Record it drops what must not be shown.
func (s *Store) note(scope Scope, e Event) bool {
	if !s.prepare(&e) {
		return true
	}
	return s.soon(s.recording([]told{s.toldBy(scope, e)}))
}

// told is an event as it is stored.
type told struct {
	Event
	hall    hall
	channel string
	user    string
	day     string
	seq     int64 // set when it is stored
}

// hall is where things are heard: an audience of an agent's.
type hall struct {
	tenant, agent string
	audience      Audience
}

func (s *Store) toldBy(scope Scope, e Event) told {
	return told{
		Event: e, hall: hall{scope.tenant, scope.agent, scope.Audience()}, channel: scope.channel, user: scope.user,
		day: e.At.In(s.zone(scope.agent)).Format(time.DateOnly),
	}
}

// venue is an agent's channel.
type venue struct{ tenant, agent, channel string }

const selectPrivate = `SELECT EXISTS (SELECT 1 FROM channels WHERE tenant = ? AND agent = ? AND channel = ? AND private = 1)`

// audience is who hears what is said in a channel, whatever whoever tells of it knows: its members alone, once it was
// called private.
func (v venue) audience(ctx context.Context, tx *sql.Tx) (Audience, error) {
	var private bool
	err := tx.QueryRowContext(ctx, selectPrivate, v.tenant, v.agent, v.channel).Scan(&private)
	if private {
		return channelAudience(v.channel), err
	}
	return Everybody, err
}

// keepPrivate has an event of a private channel heard there alone. known holds the audiences that were looked up before.
func (e *told) keepPrivate(ctx context.Context, tx *sql.Tx, known map[venue]Audience) error {
	if e.hall.audience != Everybody || e.channel == "" {
		return nil
	}
	v := venue{e.hall.tenant, e.hall.agent, e.channel}
	audience, ok := known[v]
	if !ok {
		var err error
		if audience, err = v.audience(ctx, tx); err != nil {
			return err
		}
		known[v] = audience
	}
	e.hall.audience = audience
	return nil
}

const insertEvent = `INSERT INTO events (id, tenant, agent, audience, type, importance, channel, session, user, name, summary, at, day)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// recording is the write that stores events and the digests that they complete, and what follows it.
func (s *Store) recording(events []told) (write, func()) {
	w := &summing{s: s}
	return func(ctx context.Context, tx *sql.Tx) error {
			*w = summing{s: s}
			return w.record(ctx, tx, events)
		}, func() {
			w.done()
			s.hearNew(events)
		}
}

// laterSum queues a write of digests.
func (s *Store) laterSum(sum func(*summing, context.Context, *sql.Tx) error) bool {
	w := &summing{s: s}
	return s.later(func(ctx context.Context, tx *sql.Tx) error {
		*w = summing{s: s}
		return sum(w, ctx, tx)
	}, w.done)
}

// record writes events, and the digests that they complete.
func (w *summing) record(ctx context.Context, tx *sql.Tx, events []told) error {
	type came struct {
		day    hallDay
		events int
		first  time.Time
	}
	var days []came
	audiences := map[venue]Audience{}
	for i := range events {
		e := &events[i]
		if err := e.keepPrivate(ctx, tx, audiences); err != nil {
			return err
		}
		h := e.hall
		res, err := tx.ExecContext(ctx, insertEvent, e.ID, h.tenant, h.agent, h.audience, e.Type, e.Importance, e.channel, e.Session,
			e.user, e.Name, e.Summary, e.At.UnixMilli(), e.day)
		if err != nil {
			return err
		}
		if e.seq, err = res.LastInsertId(); err != nil {
			return err
		}
		at := slices.IndexFunc(days, func(d came) bool { return d.day == hallDay{h, e.day} })
		if at < 0 {
			at = len(days)
			days = append(days, came{hallDay{h, e.day}, 0, e.At})
		}
		days[at].events++
		if e.At.Before(days[at].first) {
			days[at].first = e.At
		}
	}
	slices.SortFunc(days, func(a, b came) int { return cmp.Compare(a.day.day, b.day.day) })
	for _, d := range days {
		if err := w.sumUp(ctx, tx, d.day, d.events, d.first); err != nil {
			return err
		}
	}
	return nil
}
