package routing

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/understudy-ai/understudy/scoring"
)

// This file keeps sessions across a restart. A record is all of one session:
// a version, then its fields one after the other, in the order of session.code.
// The last record of a session counts.

// Journal keeps records of sessions. Append copies one and must not block.
type Journal interface {
	Append(record []byte)
}

// recordVersion changes when old records can't be read any more; they are then
// refused, and conversations begin afresh.
const recordVersion = 1

// maxText bounds a text of a record. Keys are hashes, names are cut.
const maxText = 1024

var errRecord = errors.New("no record of a session")

// Keep has the sessions kept in a journal from now on. It is called once, after
// what the journal holds was restored, and before the router is used.
func (r *Router) Keep(j Journal) { r.sessions.journal = j }

// Restore takes a record of the journal, in the order in which they were
// appended. It is for a router that is not in use yet. A session that has ended
// meanwhile is left out. It errs with a record that can't be read.
func (r *Router) Restore(record []byte) error {
	c := &coder{b: record, reading: true}
	var version int
	if c.int(&version); version != recordVersion {
		return fmt.Errorf("%w: version %d", errRecord, version)
	}
	var s session
	s.code(c)
	if c.bad || s.key == "" {
		return errRecord
	}
	r.sessions.restore(&s)
	return nil
}

// restore puts a session in its place as the most recently used.
func (t *sessions) restore(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.byKey[s.key]; ok {
		t.drop(e)
	}
	if t.clock().Sub(s.used) > t.cfg.Idle {
		return
	}
	t.byKey[s.key] = t.order.PushFront(s)
	t.trim()
}

// Snapshot yields records that together tell all sessions, the least recently
// used first. A record is valid until the next.
func (r *Router) Snapshot() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for _, key := range r.sessions.keys() {
			s, _ := r.sessions.look(key)
			if s.used.IsZero() { // it has ended meanwhile
				continue
			}
			if b = s.append(b[:0]); !yield(b) {
				return
			}
		}
	}
}

// keys lists the sessions, the least recently used first.
func (t *sessions) keys() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := make([]string, 0, len(t.byKey))
	for e := t.order.Back(); e != nil; e = e.Prev() {
		keys = append(keys, e.Value.(*session).key)
	}
	return keys
}

// log tells the journal of a session. The caller holds the lock.
func (t *sessions) log(s *session) {
	if t.journal == nil {
		return
	}
	t.record = s.append(t.record[:0])
	t.journal.Append(t.record)
}

// append writes a record of the session.
func (s *session) append(b []byte) []byte {
	c := &coder{b: b}
	version := recordVersion
	c.int(&version)
	s.code(c)
	return c.b
}

// code writes or reads the fields. The frame is not among them: it means
// nothing to another process.
func (s *session) code(c *coder) {
	for _, text := range [...]*string{&s.key, &s.turn, &s.profile, &s.named, &s.model, &s.held} {
		c.text(text)
	}
	c.time(&s.used)
	c.bool(&s.settled)
	for _, tier := range [...]*scoring.Tier{&s.tier, &s.asked, &s.top} {
		c.tier(tier)
	}
	c.int(&s.humans)
	for i := range numTiers {
		c.int(&s.runs[i])
		c.int(&s.easy[i])
		c.int(&s.ends[i])
	}
	s.traffic.code(c)
	c.seen(&s.prompt)
	for i := range s.warm {
		c.text(&s.warm[i].model)
		c.seen(&s.warm[i].seen)
	}
}

func (t *traffic) code(c *coder) {
	for _, x := range [...]*float64{&t.scale, &t.output, &t.growth, &t.calls, &t.pace, &t.spent} {
		c.float(x)
	}
	for _, n := range [...]*int64{&t.fresh, &t.read, &t.said} {
		c.int64(n)
	}
	c.int(&t.current)
	c.int(&t.misses)
	c.time(&t.began)
	c.bool(&t.unpriced)
}

// coder writes fields to b, or reads them from it. What can't be read leaves
// zero, and bad.
type coder struct {
	b            []byte
	reading, bad bool
}

func (c *coder) int64(n *int64) {
	if !c.reading {
		c.b = binary.AppendVarint(c.b, *n)
		return
	}
	v, used := binary.Varint(c.b)
	if used <= 0 || c.bad {
		c.bad, v, used = true, 0, 0
	}
	*n, c.b = v, c.b[used:]
}

// int is a count: never negative, and within 32 bits.
func (c *coder) int(n *int) {
	v := int64(*n)
	if c.int64(&v); v < 0 || v > math.MaxInt32 {
		c.bad, v = c.reading, 0
	}
	*n = int(v)
}

func (c *coder) bool(on *bool) {
	var v int
	if *on {
		v = 1
	}
	c.int(&v)
	*on = v == 1
}

func (c *coder) tier(t *scoring.Tier) {
	v := int(*t - scoring.Light)
	if c.int(&v); v >= numTiers {
		c.bad, v = true, 0
	}
	*t = scoring.Light + scoring.Tier(v)
}

// float is a finite number that is not negative, but for rounding.
func (c *coder) float(x *float64) {
	if !c.reading {
		c.b = binary.LittleEndian.AppendUint64(c.b, math.Float64bits(*x))
		return
	}
	if len(c.b) < 8 {
		c.bad, c.b, *x = true, nil, 0
		return
	}
	*x = math.Float64frombits(binary.LittleEndian.Uint64(c.b))
	if c.b = c.b[8:]; !(math.Abs(*x) < 1e15) {
		c.bad, *x = true, 0
	}
}

// time is kept to the millisecond; the zero time stays zero.
func (c *coder) time(t *time.Time) {
	var ms int64
	if !t.IsZero() {
		ms = t.UnixMilli()
	}
	if c.int64(&ms); c.reading {
		if *t = (time.Time{}); ms != 0 {
			*t = time.UnixMilli(ms)
		}
	}
}

func (c *coder) text(s *string) {
	n := len(*s)
	c.int(&n)
	if !c.reading {
		c.b = append(c.b, *s...)
		return
	}
	if n > maxText || n > len(c.b) {
		c.bad, n = true, 0
	}
	*s, c.b = string(c.b[:n]), c.b[n:]
}

func (c *coder) seen(s *seen) {
	c.int(&s.tokens)
	c.time(&s.at)
}
