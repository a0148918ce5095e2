package memory

import (
	"math"
	"slices"

	"github.com/understudy-ai/understudy/internal/embed"
)

// A memory stands in a conversation: what was said just before it and after it
// tells what it is about ("Yes, in May" answers a question), and who said it is
// whom a question that names somebody asks about. Memories of one session are
// neighbours, in the order of their rows.

// What a neighbour's words and meaning count for, beside 1 for a memory's own:
// of the two before it and of the one after it. Chosen on five conversations,
// each held out in turn; equal weights find 1 % less.
const (
	before2 = 0.5
	before1 = 0.7
	after1  = 0.5
)

// none is the place of what isn't there.
const none = int32(-1)

// talk is a session of a table.
type talk struct {
	places []int32 // by row
	length int     // tokens
}

// speaker is a name that memories were said under.
type speaker struct {
	name     string
	memories int
}

// sketch holds the signs of a vector: two vectors that point the same way
// differ in few.
type sketch [embed.Dim / 64]uint64

func sketchOf[E int8 | float32](v []E) (s sketch) {
	for i, e := range v {
		if e > 0 {
			s[i/64] |= 1 << (i % 64)
		}
	}

	return s
}

// join puts the memory of a place among its neighbours.
func (t *table) join(place int32, item *Item) {
	e := &t.entries[place]
	e.talk, e.speaker, e.prev, e.next = none, none, none, none
	if item.Name != "" {
		e.speaker = t.speakerNamed(item.Name)
		t.speakers[e.speaker].memories++
	}
	if item.Session != "" {
		id, known := t.talkIDs[item.Session]
		if !known {
			id = int32(len(t.talks))
			t.talkIDs[item.Session], t.talks = id, append(t.talks, talk{})
			t.bytes += talkBytes + int64(len(item.Session))
		}
		e.talk = id
		k := &t.talks[id]
		if len(k.places) == 0 {
			t.conversations++
		}
		k.length += int(e.length)
		t.said += int(e.length)
		i, _ := slices.BinarySearchFunc(k.places, e.row, func(p int32, row int64) int { return compareRows(t.entries[p].row, row) })
		k.places = slices.Insert(k.places, i, place)
		if i > 0 {
			e.prev = k.places[i-1]
			t.entries[e.prev].next = place
		}
		if i+1 < len(k.places) {
			e.next = k.places[i+1]
			t.entries[e.next].prev = place
		}
	}
	t.refreshAround(place)
}

// leave takes the memory of a place out from among its neighbours.
func (t *table) leave(place int32) {
	e := &t.entries[place]
	if e.speaker != none {
		t.speakers[e.speaker].memories--
	}
	t.spans -= float64(e.span)
	if e.talk == none {
		return
	}
	k := &t.talks[e.talk]
	k.length -= int(e.length)
	t.said -= int(e.length)
	k.places = slices.DeleteFunc(k.places, func(p int32) bool { return p == place })
	if len(k.places) == 0 {
		t.conversations--
	}
	if e.prev != none {
		t.entries[e.prev].next = e.next
	}
	if e.next != none {
		t.entries[e.next].prev = e.prev
	}
	for _, p := range []int32{e.prev, e.next} {
		if p != none {
			t.refreshAround(p)
		}
	}
}

func compareRows(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

func (t *table) speakerNamed(name string) int32 {
	if id, known := t.speakerIDs[name]; known {
		return id
	}
	id := int32(len(t.speakers))
	words := tokens(name)
	t.speakerIDs[name], t.speakers = id, append(t.speakers, speaker{name: name})
	for _, w := range words {
		t.called[w] = append(t.called[w], id)
	}
	t.bytes += talkBytes + int64(2*len(name))

	return id
}

// after returns the place after one, or none.
func (t *table) after(place int32) int32 {
	if place == none {
		return none
	}

	return t.entries[place].next
}

// before returns the place before one, or none.
func (t *table) before(place int32) int32 {
	if place == none {
		return none
	}

	return t.entries[place].prev
}

// refreshAround computes anew what depends on neighbours, for a place and those
// that have it in their sight.
func (t *table) refreshAround(place int32) {
	next := t.after(place)
	for _, p := range []int32{place, t.before(place), next, t.after(next)} {
		if p != none {
			t.refresh(p)
		}
	}
}

// refresh computes a place's span and sketch.
func (t *table) refresh(place int32) {
	e := &t.entries[place]
	t.spans -= float64(e.span)
	e.span = 0
	var sum [embed.Dim]float32
	t.near(place, func(p int32, weight float32) {
		e.span += weight * float32(t.entries[p].length)
		if inverse := t.entries[p].inverse * weight; inverse > 0 {
			for i, x := range t.vector(p) {
				sum[i] += inverse * float32(x)
			}
		}
	})
	t.spans += float64(e.span)
	square := float32(0)
	for _, x := range sum {
		square += x * x
	}
	e.nearInverse = 0
	if square > 0 {
		e.nearInverse = float32(1 / math.Sqrt(float64(square)))
	}
	t.sketches[place] = sketchOf(sum[:])
}

// near calls yield for a place and its neighbours with what they count for.
func (t *table) near(place int32, yield func(place int32, weight float32)) {
	e := &t.entries[place]
	yield(place, 1)
	if e.next != none {
		yield(e.next, after1)
	}
	if e.prev != none {
		yield(e.prev, before1)
		if p := t.entries[e.prev].prev; p != none {
			yield(p, before2)
		}
	}
}

// vector returns the vector of a place.
func (t *table) vector(place int32) []int8 {
	return t.vectors[int(place)*embed.Dim : int(place+1)*embed.Dim : int(place+1)*embed.Dim]
}
