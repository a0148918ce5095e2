package ambient

import (
	"container/list"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// feeds holds in RAM what prompts are made of, one feed for each hall that was asked for lately. It is filled from the
// file when a hall is asked for, gets new events as they are written, and is read anew after other changes. The least
// recently used go first when it holds more bytes than it may.
type feeds struct {
	limit int

	mu    sync.Mutex // guards what follows; nothing else is locked under it
	all   map[hall]*list.Element
	byUse *list.List // of *feed, the newest first
	bytes int
}

// feed is what one hall has heard of today, and of the days before.
type feed struct {
	hall  hall
	bytes int // guarded by feeds.mu

	mu      sync.Mutex // guards what follows, and is held while the file is read
	day     string     // that it was filled for; empty: it must be
	lastSeq int64      // what is in tail or in a paragraph
	asked   bool       // the writer was asked to tend to it
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

func newFeeds(limit int) *feeds {
	return &feeds{limit: limit, all: map[hall]*list.Element{}, byUse: list.New()}
}

// get returns a hall's feed, an empty one when there is none yet.
func (fs *feeds) get(h hall) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if el := fs.all[h]; el != nil {
		fs.byUse.MoveToFront(el)
		return el.Value.(*feed)
	}
	f := &feed{hall: h}
	fs.all[h] = fs.byUse.PushFront(f)
	return f
}

// known returns a hall's feed if there is one.
func (fs *feeds) known(h hall) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if el := fs.all[h]; el != nil {
		return el.Value.(*feed)
	}
	return nil
}

// What the structs and a map entry take beside texts, roughly.
const (
	feedOverhead = 400
	lineOverhead = 320
)

// weigh notes what a feed takes, and lets go of others while all take too much.
func (fs *feeds) weigh(f *feed, bytes int) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if el := fs.all[f.hall]; el == nil || el.Value.(*feed) != f {
		return // let go meanwhile
	}
	fs.bytes += bytes - f.bytes
	f.bytes = bytes
	for fs.bytes > fs.limit {
		oldest := fs.byUse.Remove(fs.byUse.Back()).(*feed)
		fs.bytes -= oldest.bytes
		delete(fs.all, oldest.hall)
	}
}

// size estimates what a feed's content takes.
func (h *heard) size() int {
	bytes := feedOverhead
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
func (fs *feeds) void(h hall) {
	if f := fs.known(h); f != nil {
		f.mu.Lock()
		f.day = ""
		f.mu.Unlock()
	}
}

// clear lets go of everything.
func (fs *feeds) clear() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.all, fs.bytes = map[hall]*list.Element{}, 0
	fs.byUse.Init()
}

// hearNew adds events that have been written to the feeds that are there.
func (s *Store) hearNew(events []told) {
	for i := range events {
		f := s.feeds.known(events[i].hall)
		if f == nil {
			continue
		}
		f.mu.Lock()
		added := f.day == events[i].day && events[i].seq > f.lastSeq
		if added {
			f.tail = append(f.tail, s.lineOf(&events[i]))
			f.lastSeq = events[i].seq
		}
		bytes := f.size()
		f.mu.Unlock()
		if added {
			s.feeds.weigh(f, bytes)
		}
	}
}

// heardOf notes in RAM when a run was heard of last.
func (fs *feeds) heardOf(r *run) {
	f := fs.known(r.hall)
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	runs := slices.Clone(f.runs)
	for i := range runs {
		if runs[i].session == r.session && runs[i].kind == r.kind {
			runs[i].last = r.last
		}
	}
	f.runs = runs
}

// lineTokens is what a line costs beside its text: a dash, brackets, a label.
const lineTokens = 8

func (s *Store) lineOf(e *told) tailLine {
	text := e.Summary
	if e.Name != "" {
		text = e.Name + ": " + text
	}
	label := hour(e.At.In(s.zone(e.hall.agent))) + " " + e.Type.label()
	return tailLine{
		Line: Line{ID: "e/" + e.ID, Label: label, Text: text}, at: e.At, seq: e.seq, importance: e.Importance, cost: s.cfg.Tokens(text) + lineTokens,
	}
}

// heardIn returns what a hall has heard up to a day, from RAM or else from the file.
func (s *Store) heardIn(ctx context.Context, h hall, day string) (heard, error) {
	f := s.feeds.get(h)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.day >= day { // later: the request came before midnight
		return f.heard, nil
	}
	got, lastSeq, err := s.read(ctx, hallDay{h, day})
	if err != nil {
		return heard{}, fmt.Errorf("reading what was heard: %w", err)
	}
	f.day, f.lastSeq, f.asked, f.heard = day, lastSeq, false, got
	s.feeds.weigh(f, f.size())
	return got, nil
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
