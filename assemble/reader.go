package assemble

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// reader reads a record. After anything that can't be, bad is set and all that follows is zero.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	r.take(max(n, -1))
	r.bad = r.bad || n <= 0
	return v
}

// fixed is a number of eight bytes.
func (r *reader) fixed() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// int is a number that is no larger than 1 << 31: a size, an index, a count.
func (r *reader) int() int {
	v, n := binary.Uvarint(r.b)
	r.take(max(n, -1))
	if r.bad = r.bad || n <= 0 || v > 1<<31; r.bad {
		return 0
	}
	return int(v)
}

// count is how many things follow, each of at least one byte.
func (r *reader) count() int {
	n := r.int()
	if n > len(r.b) {
		r.bad = true
		return 0
	}
	return n
}

func (r *reader) text() string { return string(r.take(r.int())) }

func (r *reader) turn() TurnKey {
	t := TurnKey{index: r.int()}
	copy(t.sum[:], r.take(len(t.sum)))
	return t
}

// turns adds the turns of a record to an epoch.
func (r *reader) turns(e *epoch) {
	served := r.int()
	for len(r.b) > 0 && !r.bad {
		t, p := r.turn(), r.piece()
		if r.bad || e.turns[t] != nil {
			continue
		}
		e.record(t, p)
	}
	e.served, e.news = served, nil
}

func (r *reader) piece() *piece {
	p := &piece{text: r.text(), chars: r.int(), scaffold: r.text(), cut: r.byte() == 1}
	for range r.count() {
		s := span{kind: kind(r.byte()), from: origin(r.byte()), start: r.int(), end: r.int()}
		r.bad = r.bad || s.kind >= kindCount || s.start > s.end || s.end > len(p.text)
		p.spans = append(p.spans, s)
	}
	for range r.count() {
		p.notes = append(p.notes, noteKey{id: r.text(), text: r.fixed()})
	}
	for range r.count() {
		t := truncation{kind: kind(r.byte()), shown: r.int(), total: r.int()}
		r.bad = r.bad || t.kind >= kindCount
		p.truncated = append(p.truncated, t)
	}
	r.bad = r.bad || p.scaffold != "" && len(p.spans) == 0
	if r.bad {
		return nothing
	}
	return p
}

func compareTurns(a, b TurnKey) int {
	return cmp.Or(cmp.Compare(a.index, b.index), bytes.Compare(a.sum[:], b.sum[:]))
}
