package ambient

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file words what happened without a model.

// maxTold is how many events a digest is made of at most: the most important ones. The others are counted.
const maxTold = 60

// tally is what a digest is made of.
type tally struct {
	counts            [len(kinds)]int // by place in kinds
	events            int
	firstAt, lastAt   time.Time
	firstSeq, lastSeq int64
	top               []told // the most important first, then the newest
}

const (
	selectCounts = `SELECT type, count(*), min(at), max(at), min(seq), max(seq) FROM events
		WHERE tenant = ? AND agent = ? AND audience = ? AND day = ? AND seq BETWEEN ? AND ? GROUP BY type`
	selectTop = `SELECT seq, id, type, importance, channel, session, user, name, summary, at FROM events
		WHERE tenant = ? AND agent = ? AND audience = ? AND day = ? AND seq BETWEEN ? AND ?
		ORDER BY importance DESC, seq DESC LIMIT ?`
)

// gather counts the events of a day whose seq is in a range, both ends included.
func gather(ctx context.Context, tx *sql.Tx, d hallDay, from, to int64) (t tally, err error) {
	args := []any{d.tenant, d.agent, d.audience, d.day, from, to}
	rows, err := tx.QueryContext(ctx, selectCounts, args...)
	if err != nil {
		return t, err
	}
	defer rows.Close()
	for rows.Next() {
		var typ EventType
		var n int
		var firstAt, lastAt, firstSeq, lastSeq int64
		if err := rows.Scan(&typ, &n, &firstAt, &lastAt, &firstSeq, &lastSeq); err != nil {
			return t, err
		}
		if at := time.UnixMilli(firstAt); t.events == 0 || at.Before(t.firstAt) {
			t.firstAt = at
		}
		if at := time.UnixMilli(lastAt); at.After(t.lastAt) {
			t.lastAt = at
		}
		if t.events == 0 || firstSeq < t.firstSeq {
			t.firstSeq = firstSeq
		}
		t.lastSeq = max(t.lastSeq, lastSeq)
		t.events += n
		if i := typ.place(); i >= 0 {
			t.counts[i] += n
		}
	}
	if err := rows.Err(); err != nil || t.events == 0 {
		return t, err
	}
	t.top, err = readEvents(ctx, tx, d.hall, selectTop, append(args, maxTold)...)
	return t, err
}

// readEvents reads events of one hall, whose columns are those of selectTop.
func readEvents(ctx context.Context, tx *sql.Tx, h hall, query string, args ...any) (out []told, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		e := told{hall: h}
		var at int64
		if err := rows.Scan(&e.seq, &e.ID, &e.Type, &e.Importance, &e.channel, &e.Session, &e.user, &e.Name, &e.Summary, &at); err != nil {
			return nil, err
		}
		e.At = time.UnixMilli(at)
		out = append(out, e)
	}
	return out, rows.Err()
}

// users lists whose words the digest may hold.
func (t *tally) users() []string {
	out := []string{}
	for i := range t.top {
		if t.top[i].user != "" {
			out = append(out, t.top[i].user)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// section is the events of one type in a digest.
type section struct {
	place int // in kinds
	items []string
	next  int // items that are told
}

// text words the tally in at most so many words: by type, the type with the most important event first, each with its
// count. Every type gets to tell its first event before any tells another.
func (t *tally) text(most int) string {
	var sections []*section
	for i := range t.top {
		e := &t.top[i]
		place := e.Type.place()
		if place < 0 {
			continue
		}
		at := slices.IndexFunc(sections, func(s *section) bool { return s.place == place })
		if at < 0 {
			at = len(sections)
			sections = append(sections, &section{place: place})
		}
		if item := e.line(); !slices.Contains(sections[at].items, item) {
			sections[at].items = append(sections[at].items, item)
		}
	}
	left := most
	for _, s := range sections {
		left -= words(kinds[s.place].many) + 4 // "12 decisions: …; 3 more."
	}
	for round := 0; round < maxTold && left > 0; round++ {
		for _, s := range sections {
			if s.next == round && round < len(s.items) && words(s.items[round]) <= left {
				left -= words(s.items[round])
				s.next++
			}
		}
	}
	return t.join(sections)
}

// join writes the sections, and what is only counted at the end.
func (t *tally) join(sections []*section) string {
	var b strings.Builder
	for _, s := range sections {
		k, n := kinds[s.place], t.counts[s.place]
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if n > 1 {
			b.WriteString(strconv.Itoa(n) + " " + k.many)
		} else {
			b.WriteString(strings.ToUpper(k.one[:1]) + k.one[1:])
		}
		for i, item := range s.items[:s.next] {
			b.WriteString([]string{": ", "; "}[min(i, 1)])
			b.WriteString(item)
		}
		if more := n - s.next; more > 0 && s.next > 0 {
			b.WriteString("; " + strconv.Itoa(more) + " more")
		}
		b.WriteByte('.')
	}
	return b.String()
}

// maxItem bounds the words of one event in a digest.
const maxItem = 24

// line is an event as a reader is told it: who, and what.
func (e *told) line() string {
	text := strings.TrimRight(e.Summary, ".;:, ")
	if fields := strings.Fields(text); len(fields) > maxItem {
		text = strings.Join(fields[:maxItem], " ") + "…"
	}
	if e.Name == "" || strings.HasPrefix(text, e.Name) {
		return text
	}
	return e.Name + ": " + text
}

// charsPerWord is what a word takes with its space.
const charsPerWord = 6

// words counts the words of a text, at least one for six characters, so that what holds no spaces is bounded, too.
// Scripts without them have about one in two characters.
func words(text string) int {
	chars, unspaced := 0, 0
	for _, r := range text {
		chars++
		if r >= 0x2E80 {
			unspaced++
		}
	}
	return max(len(strings.Fields(text)), unspaced/2, chars/charsPerWord)
}

// byTime orders events as they happened.
func byTime(a, b told) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.seq, b.seq)) }

func sortByTime(events []told) { slices.SortFunc(events, byTime) }
