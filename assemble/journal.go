package assemble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// This file writes and reads the journal of the epochs. A record is
//
//	version, kind, conversation, epoch number, Unix milliseconds, and
//	  begin:     the edition of the operator's texts, the block, and as turns
//	  turns:     the turns that were the newest of a request so far, and any number of (turn, piece)
//	  withdrawn: nothing (the epoch), or a turn
//
// with strings after their lengths and numbers as varints. Telling the same twice does no harm.

// journalVersion changes when old records can't be read any more; they are then refused, and prompts begin afresh.
const journalVersion = 2

type recordKind byte

const (
	recordBegin recordKind = iota + 1
	recordTurns
	recordWithdrawn
)

var errRecord = errors.New("bad record of an epoch")

// log tells the journal what is new of an epoch: with began all of it. That it was used is news only now and then,
// since a conversation whose turns are all known would otherwise be written with every request.
func (s *Sessions) log(e *epoch, began bool) {
	news := e.news
	e.news = e.news[:0]
	if s.journal == nil || !began && len(news) == 0 && e.used.Sub(e.heard) < s.opts.CacheTTL/4 {
		return
	}
	e.heard = e.used
	s.record = e.appendRecord(s.record[:0], began, news)
	s.journal.Append(s.record)
}

func (s *Sessions) logWithdrawn(e *epoch, turn *TurnKey) {
	if s.journal == nil {
		return
	}
	b := e.appendHead(s.record[:0], recordWithdrawn)
	if turn != nil {
		b = appendTurn(b, *turn)
	}
	s.record = b
	s.journal.Append(b)
}

// appendRecord writes what is new of an epoch.
func (e *epoch) appendRecord(b []byte, began bool, news []TurnKey) []byte {
	if began {
		b = binary.LittleEndian.AppendUint64(e.appendHead(b, recordBegin), e.edition)
		b = appendPiece(b, e.block)
	} else {
		b = e.appendHead(b, recordTurns)
	}
	b = binary.AppendUvarint(b, uint64(e.served))
	for _, t := range news {
		if p := e.turns[t]; p != nil {
			b = appendPiece(appendTurn(b, t), p)
		}
	}
	return b
}

func (e *epoch) appendHead(b []byte, kind recordKind) []byte {
	b = append(b, journalVersion, byte(kind))
	for _, text := range [...]string{e.key.Tenant, e.key.Agent, e.key.User, e.key.Session} {
		b = appendText(b, text)
	}
	b = binary.AppendUvarint(b, uint64(e.number))
	return binary.AppendVarint(b, e.used.UnixMilli())
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendTurn(b []byte, t TurnKey) []byte {
	return append(binary.AppendUvarint(b, uint64(t.index)), t.sum[:]...)
}

func appendPiece(b []byte, p *piece) []byte {
	b = appendText(b, p.text)
	b = binary.AppendUvarint(b, uint64(p.chars))
	b = appendText(b, p.scaffold)
	flags := byte(0)
	if p.cut {
		flags = 1
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(len(p.spans)))
	for _, s := range p.spans {
		b = append(b, byte(s.kind), byte(s.from))
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(s.start)), uint64(s.end))
	}
	b = binary.AppendUvarint(b, uint64(len(p.notes)))
	for _, n := range p.notes {
		b = binary.LittleEndian.AppendUint64(appendText(b, n.id), n.text)
	}
	b = binary.AppendUvarint(b, uint64(len(p.truncated)))
	for _, t := range p.truncated {
		b = append(b, byte(t.kind))
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.shown)), uint64(t.total))
	}
	return b
}

// Snapshot yields records that together tell all epochs, the least recently used first. A record is valid until the
// next; between two of them requests may be planned.
func (s *Sessions) Snapshot() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for _, key := range s.keys() {
			if b = s.whole(b[:0], key); len(b) > 0 && !yield(b) {
				return
			}
		}
	}
}

// keys lists the conversations, the least recently used first.
func (s *Sessions) keys() []Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Conversation, 0, len(s.byKey))
	for element := s.recent.Back(); element != nil; element = element.Prev() {
		out = append(out, epochOf(element).key)
	}
	return out
}

// whole writes all of an epoch; nothing when it has ended.
func (s *Sessions) whole(b []byte, key Conversation) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.find(key)
	if e == nil {
		return b
	}
	turns := make([]TurnKey, 0, len(e.turns))
	for t := range e.turns {
		turns = append(turns, t)
	}
	slices.SortFunc(turns, compareTurns) // equal state, equal bytes
	return e.appendRecord(b, true, turns)
}

// Restore takes a record of the journal, in the order in which they were appended. It is for a Sessions that nobody
// plans with yet. It errs with a record that can't be read; what it tells is then left out.
func (s *Sessions) Restore(record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &reader{b: record}
	if r.byte() != journalVersion {
		return fmt.Errorf("%w: version %d", errRecord, record[:min(1, len(record))])
	}
	kind := recordKind(r.byte())
	key := Conversation{r.text(), r.text(), r.text(), r.text()}
	number, used := r.int(), time.UnixMilli(r.varint())
	if r.bad {
		return errRecord
	}
	s.opened = max(s.opened, number)
	e := s.find(key)
	switch {
	case kind == recordBegin:
		return s.restoreBegin(e, r, key, number, used)
	case e == nil || e.number != number:
		return nil // its beginning was lost, or it has ended since
	case kind == recordWithdrawn:
		s.restoreWithdrawn(e, r)
	case kind == recordTurns:
		r.turns(e)
		s.touch(e, used)
	default:
		return errRecord
	}
	if r.bad {
		return errRecord
	}
	return nil
}

func (s *Sessions) restoreBegin(before *epoch, r *reader, key Conversation, number int, used time.Time) error {
	edition := r.fixed()
	e := newEpoch(key, number, edition, r.piece())
	r.turns(e)
	if r.bad || key.Session == "" {
		return errRecord
	}
	s.remove(before)
	s.byKey[key] = s.recent.PushFront(e)
	s.touch(e, used)
	return nil
}

func (s *Sessions) restoreWithdrawn(e *epoch, r *reader) {
	if len(r.b) == 0 {
		s.remove(e)
		return
	}
	if t := r.turn(); e.turns[t] != nil {
		e.forget(t)
		s.bytes += e.grown()
	}
}

// touch settles an epoch that was restored, within the bounds.
func (s *Sessions) touch(e *epoch, used time.Time) {
	if used.After(e.used) {
		e.used = used
	}
	e.heard = e.used
	s.recent.MoveToFront(s.byKey[e.key])
	s.bytes += e.grown()
	s.evict()
}
