package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/understudy-ai/understudy/internal/embed"
)

// table is the index of what one scope can recall: its active memories, where
// each of their words occurs, and which of them are pinned. History and
// quarantine are not in it.
//
// A memory has a place, which is its position in entries and records. A place
// that was left is taken again.
type table struct {
	scope Scope // fixed

	mu      sync.RWMutex // guards all that follows
	huge    bool         // it outgrew its bound and holds nothing
	rows    map[int64]int32
	entries []entry
	records []*record
	free    []int32
	pinned  []int32              // places, in the order of pinning
	terms   map[string][]posting // by token, then by place
	length  int                  // tokens of all memories

	embed    *embed.Table
	vectors  []int8   // embed.Dim a place
	sketches []sketch // by place, of what stands there with its neighbours
	outers   []outer  // by place, as far as it goes; see setOuter

	talkIDs       map[string]int32 // by session
	talks         []talk
	conversations int     // talks that hold memories
	said          int     // tokens of memories in them
	spans         float64 // sum of the entries'

	speakerIDs map[string]int32 // by name
	speakers   []speaker
	called     map[string][]int32 // speakers by a word of their names

	bytes int64 // about what it takes in RAM

	told int64 // bytes, as the cache knows them; guarded by the index
}

// entry is what scoring needs of a memory. They lie side by side, because a
// search may look at every one.
type entry struct {
	row        int64 // memories.n; 0: the place is free
	created    int64 // Unix milliseconds
	freshness  float64
	importance float64

	talk, speaker int32   // none: unknown
	prev, next    int32   // places of the neighbours, or none
	span          float32 // tokens of it and its neighbours, weighted
	inverse       float32 // 1 / length of its vector; 0: it has none
	nearInverse   float32 // the same of the weighted sum with its neighbours' directions
	length        uint8   // tokens, at most 255
	alone         bool    // a statement that was learned: the one before it was about something else
}

// epoch is when freshness is 1.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// freshness doubles with each half-life that a memory is younger. Times
// staleness at the present it is the memory's decay: what takes long to compute
// is computed once. It holds for eighty years to either side of epoch.
func freshness(created time.Time) float64 {
	return math.Exp2(max(-1000, min(float64(created.Sub(epoch))/float64(halfLife), 1000)))
}

// staleness halves with each half-life.
func staleness(now time.Time) float64 { return 1 / freshness(now) }

// record is the rest of a memory.
type record struct {
	item    Item
	verdict atomic.Int32 // of Scan: 0 not yet known, 1 allow, 2 anything else
}

// posting says that a memory holds a word. Both numbers stop at 255.
type posting struct {
	place  int32
	times  uint8 // how often
	length uint8 // among how many tokens
}

// What the parts of a table take in RAM, in bytes, beside the text itself, with
// the spare room of maps and slices. For 3,000 sentences of a dozen words the
// sum is 2 % less than what the heap grows by.
const (
	tableBytes  = 512
	talkBytes   = 160
	recordBytes = int64(unsafe.Sizeof(entry{})+unsafe.Sizeof(record{})+unsafe.Sizeof(sketch{})) + embed.Dim + 8 + 40
	postingSize = int64(unsafe.Sizeof(posting{}))
	termBytes   = 96
)

func newTable(scope Scope, vectors *embed.Table) *table {
	t := &table{scope: scope, embed: vectors}
	t.clear()

	return t
}

// clear empties the table.
func (t *table) clear() {
	t.rows, t.terms = map[int64]int32{}, map[string][]posting{}
	t.talkIDs, t.speakerIDs, t.called = map[string]int32{}, map[string]int32{}, map[string][]int32{}
	t.entries, t.records, t.free, t.pinned = nil, nil, nil, nil
	t.vectors, t.sketches, t.outers, t.talks, t.speakers = nil, nil, nil, nil, nil
	t.length, t.conversations, t.said, t.spans, t.bytes = 0, 0, 0, 0, tableBytes
}

// outgrow makes the table one that holds nothing and says so.
func (t *table) outgrow() {
	t.clear()
	t.huge = true
}

// put adds the memory of a row with its tokens, in place of what the row held.
func (t *table) put(row int64, item Item, words []string) {
	if t.huge {
		return
	}
	t.remove(row)

	place := int32(len(t.entries))
	if n := len(t.free); n > 0 {
		place, t.free = t.free[n-1], t.free[:n-1]
	} else {
		t.entries, t.records = append(t.entries, entry{}), append(t.records, nil)
		t.sketches, t.vectors = append(t.sketches, sketch{}), append(t.vectors, make([]int8, embed.Dim)...)
	}
	t.rows[row] = place
	length := saturate(len(words))
	e := entry{
		row: row, created: item.CreatedAt.UnixMilli(), freshness: freshness(item.CreatedAt), importance: item.Importance, length: length,
		alone: item.Name == "" && item.Type != Observation,
	}
	if v := t.vector(place); t.embed.Embed(v, topic(item.Content, nil)) {
		e.inverse = 1 / embed.Norm(v)
	}
	t.entries[place] = e
	t.records[place] = &record{item: item}
	t.length += len(words)
	t.bytes += sizeOf(item)
	t.join(place, &t.records[place].item)
	for _, word := range words {
		t.post(word, place, length)
	}

	if item.Type.personal() {
		i, _ := slices.BinarySearchFunc(t.pinned, place, t.comparePinned)
		t.pinned = slices.Insert(t.pinned, i, place)
	}
}

// post counts a word of the memory at a place.
func (t *table) post(word string, place int32, length uint8) {
	list, known := t.terms[word]
	if !known {
		word = strings.Clone(word) // It may be part of a longer text.
		t.bytes += termBytes + int64(len(word))
	}
	i, found := slices.BinarySearchFunc(list, place, comparePlace)
	if found {
		list[i].times = saturate(int(list[i].times) + 1)
		return
	}
	t.terms[word] = slices.Insert(list, i, posting{place, 1, length})
	t.bytes += postingSize
}

// remove takes the memory of a row out, if it is there.
func (t *table) remove(row int64) {
	place, ok := t.rows[row]
	if !ok {
		return
	}
	item := &t.records[place].item
	words := tokens(item.Content)
	for _, word := range words {
		list := t.terms[word]
		i, found := slices.BinarySearchFunc(list, place, comparePlace)
		if !found {
			continue // A word that was there twice.
		}
		t.bytes -= postingSize
		if list = slices.Delete(list, i, i+1); len(list) > 0 {
			t.terms[word] = list
			continue
		}
		t.bytes -= termBytes + int64(len(word))
		delete(t.terms, word)
	}
	if i := slices.Index(t.pinned, place); i >= 0 {
		t.pinned = slices.Delete(t.pinned, i, i+1)
	}
	t.bytes -= sizeOf(*item)
	t.length -= len(words)
	t.leave(place)
	t.dropOuter(place)
	t.entries[place], t.records[place], t.sketches[place] = entry{}, nil, sketch{}
	t.free = append(t.free, place)
	delete(t.rows, row)
}

// setHits says how often the memory of a row was stated.
func (t *table) setHits(row int64, hits int) {
	if place, ok := t.rows[row]; ok {
		t.records[place].item.Hits = hits
	}
}

// comparePinned orders the places of pinned memories: who the user is,
// standing instructions, preferences, and of each the newest first.
func (t *table) comparePinned(a, b int32) int {
	class := func(place int32) int {
		item := &t.records[place].item
		switch {
		case item.Type == Identity:
			return 0
		case item.Attribute == "language" || item.Attribute == "instruction":
			return 1
		default:
			return 2
		}
	}

	return cmp.Or(cmp.Compare(class(a), class(b)), cmp.Compare(t.entries[b].row, t.entries[a].row))
}

// safe reports whether Scan allows the memory at a place. The verdict is kept:
// a memory's words never change, and neither do the rules while a table lives.
func (t *table) safe(place int32) bool {
	r := t.records[place]
	v := r.verdict.Load()
	if v == 0 {
		if v = 2; Scan(r.item.Content).Action == Allow {
			v = 1
		}
		r.verdict.Store(v)
	}

	return v == 1
}

func comparePlace(p posting, place int32) int { return cmp.Compare(p.place, place) }

func saturate(n int) uint8 { return uint8(min(n, 255)) }

func sizeOf(item Item) int64 {
	return recordBytes + int64(len(item.ID)+len(item.ExternalID)+len(item.Content)+len(item.Subject)+len(item.Attribute)+
		len(item.Session)+len(item.Name))
}
