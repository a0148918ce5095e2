package ambient

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// This file holds in RAM what prompts are told of what happened: a feed for each hall that was asked for lately. It is
// read from the file when it is asked for, gets new events as they are written, and is read anew after other changes.

// feed is what one hall has heard of today, and of the days before.
type feed struct {
	lazy
	day     string // that it was read for
	lastSeq int64  // what is in tail or in a paragraph
	asked   bool   // the writer was asked to tend to it
	bytes   int    // as counted by the cache
	heard
}

// heard is a feed's content. Slices grow at their end or are replaced, so that a copy of it stays as it is.
type heard struct {
	tail       []tailLine // events of the day that no paragraph holds
	paragraphs []digest   // of the day, by time
	days       []digest   // summaries of the days before, by time
	runs       []run      // that are under way, or ended within the hour, the newest first
}

// tailLine is an event as it will be told.
type tailLine struct {
	Line
	at         time.Time
	seq        int64
	importance float64
	cost       int // tokens
}

// digest is a paragraph or a day as it will be told.
type digest struct {
	id              string
	day             string
	firstAt, lastAt time.Time
	events          int
	text            string
	cost            int // tokens
}

// lineOverhead is what an event, a digest or a run takes beside texts, roughly.
const lineOverhead = 320

// size estimates what a feed's content takes.
func (h *heard) size() int {
	bytes := 0
	for i := range h.tail {
		bytes += lineOverhead + len(h.tail[i].Text)
	}
	bytes += len(h.runs) * lineOverhead
	for _, list := range [][]digest{h.paragraphs, h.days} {
		for i := range list {
			bytes += lineOverhead + len(list[i].text)
		}
	}
	return bytes
}

// void has a hall's feed read anew when it is asked for next.
func (s *Store) void(h hall) {
	if f := s.feeds.find(h, nil); f != nil {
		f.mu.Lock()
		f.loaded = false
		f.mu.Unlock()
	}
}

// hearNew adds events that have been written to the feeds that are there.
func (s *Store) hearNew(events []told) {
	for i := range events {
		e := &events[i]
		f := s.feeds.find(e.hall, nil)
		if f == nil {
			continue
		}
		f.mu.Lock()
		if f.loaded && f.day == e.day && e.seq > f.lastSeq {
			f.tail = append(f.tail, s.lineOf(e))
			f.lastSeq = e.seq
			s.feeds.grew(e.hall, f.grown())
		}
		f.mu.Unlock()
	}
}

// grown returns by how many bytes the feed has grown since it was last asked. mu is held.
func (f *feed) grown() int {
	by := f.size() - f.bytes
	f.bytes += by
	return by
}

// heardOf notes in RAM when a run was heard of last.
func (s *Store) heardOf(r *run) {
	if f := s.feeds.find(r.hall, nil); f != nil {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.heardOf(r)
	}
}

// goesOn is heardOf for a run that is under way, before the writer knows of it. It is false, and nothing noted, where RAM
// knows of no such run.
func (s *Store) goesOn(r *run) bool {
	f := s.feeds.find(r.hall, nil)
	if f == nil || !f.mu.TryLock() { // it may be being loaded
		return false
	}
	defer f.mu.Unlock()
	same := func(known run) bool {
		return known.session == r.session && known.kind == r.kind && known.open && known.failed == ""
	}
	if !f.loaded || !slices.ContainsFunc(f.runs, same) {
		return false
	}
	f.heardOf(r)
	return true
}

func (f *feed) heardOf(r *run) {
	runs := slices.Clone(f.runs)
	for i := range runs {
		if was := &runs[i]; was.session == r.session && was.kind == r.kind && was.last.Before(r.last) {
			was.last = r.last
		}
	}
	f.runs = runs
}

// lineTokens is what a line costs beside its text: a dash, brackets, a label.
const lineTokens = 8

// lineOf is the line of an event. What a user alone is told needs no name, and without it has the words of the memory
// that it may come of: a prompt that shows the one leaves the other out.
func (s *Store) lineOf(e *told) tailLine {
	text := e.Summary
	if e.Name != "" && e.hall.audience.user() == "" {
		text = e.Name + ": " + text
	}
	label := hour(e.At.In(s.zone(e.hall.agent))) + " " + e.Type.label()
	return tailLine{
		Line: Line{ID: "e/" + e.ID, Label: label, Text: text}, at: e.At, seq: e.seq, importance: e.Importance, cost: s.cfg.Tokens(text) + lineTokens,
	}
}

// heardIn returns what a hall has heard up to a day, from RAM or else from the file.
func (s *Store) heardIn(ctx context.Context, h hall, day string) (heard, error) {
	f := s.feeds.find(h, func() feed { return feed{} })
	f.mu.Lock()
	if f.day < day { // else it was read for that day, or the request came before midnight
		f.loaded = false
	}
	f.mu.Unlock()
	err := f.lock(ctx, s, func(ctx context.Context, _ *sql.DB) (err error) {
		f.heard, f.lastSeq, err = s.read(ctx, hallDay{h, day})
		f.day, f.asked = day, false
		s.feeds.grew(h, f.grown())
		return err
	})
	if err != nil {
		return heard{}, fmt.Errorf("reading what was heard: %w", err)
	}
	defer f.mu.Unlock()
	return f.heard, nil
}

// pastDays is how many days before today have a summary in RAM: the rest of this week and the one before.
const pastDays = 13

const (
	selectDigests = `SELECT id, kind, day, first_at, last_at, last_seq, events, text FROM digests
		WHERE tenant = ?1 AND agent = ?2 AND audience = ?3 AND day >= date(?4, ?5) AND (kind = 'day' AND day < ?4 OR kind = 'paragraph' AND day = ?4)
		ORDER BY day, last_seq`
	// maxTail bounds what is read: paragraphs come after 15 events.
	selectTail = `SELECT seq, id, type, importance, channel, session, user, name, summary, at FROM events
		WHERE tenant = ?1 AND agent = ?2 AND audience = ?3 AND day = ?4 AND seq > ?5 ORDER BY seq DESC LIMIT 200`
)

// read fills a feed from the file. The summary of a day that the writer hasn't closed yet is made here, and the writer
// told.
func (s *Store) read(ctx context.Context, d hallDay) (out heard, lastSeq int64, err error) {
	tx, err := s.db.Reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return out, 0, err
	}
	defer func() { err = endReading(tx, err) }()
	if lastSeq, err = s.readDigests(ctx, tx, d, &out); err != nil {
		return out, 0, err
	}
	tail, err := readEvents(ctx, tx, d.hall, selectTail, d.tenant, d.agent, d.audience, d.day, lastSeq)
	if err != nil {
		return out, 0, err
	}
	for i := len(tail) - 1; i >= 0; i-- {
		out.tail = append(out.tail, s.lineOf(&tail[i]))
		lastSeq = tail[i].seq
	}
	if out.runs, err = readRuns(ctx, tx, d.hall, selectRuns, d.tenant, d.agent, d.audience, s.cfg.Clock().Add(-runKept).UnixMilli()); err != nil {
		return out, 0, err
	}
	days, err := unclosed(ctx, tx, d)
	if err != nil {
		return out, 0, err
	}
	if len(days) > 0 {
		s.laterSum(func(w *summing, ctx context.Context, tx *sql.Tx) error {
			_, _, err := w.book(ctx, tx, d.hall)
			return err
		})
	}
	for _, day := range days {
		t, err := gather(ctx, tx, hallDay{d.hall, day}, 0, maxSeq)
		if err != nil {
			return out, 0, err
		}
		g := digest{day: day, firstAt: t.firstAt, lastAt: t.lastAt, events: t.events, text: t.text(dayWords)}
		out.days = append(out.days, s.complete(g, d.hall))
	}
	return out, lastSeq, nil
}

func (s *Store) readDigests(ctx context.Context, tx *sql.Tx, d hallDay, out *heard) (lastSeq int64, err error) {
	rows, err := tx.QueryContext(ctx, selectDigests, d.tenant, d.agent, d.audience, d.day, "-"+strconv.Itoa(pastDays)+" days")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var g digest
		var kind string
		var id, firstAt, lastAt, seq int64
		if err := rows.Scan(&id, &kind, &g.day, &firstAt, &lastAt, &seq, &g.events, &g.text); err != nil {
			return 0, err
		}
		g.firstAt, g.lastAt = time.UnixMilli(firstAt), time.UnixMilli(lastAt)
		if kind == wholeDay {
			out.days = append(out.days, s.complete(g, d.hall))
			continue
		}
		g.id = "p/" + strconv.FormatInt(id, 36)
		out.paragraphs = append(out.paragraphs, s.complete(g, d.hall))
		lastSeq = max(lastSeq, seq)
	}
	return lastSeq, rows.Err()
}

// complete adds what follows from the rest of a digest. A day is known by its name, so that it is the same one before
// and after the writer has closed it.
func (s *Store) complete(g digest, h hall) digest {
	if g.id == "" {
		g.id = "d/" + g.day + "/" + string(h.audience)
	}
	g.cost = s.cfg.Tokens(g.text) + lineTokens
	return g
}
