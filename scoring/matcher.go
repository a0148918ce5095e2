package scoring

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxPhrase = 16 // words in one part of a phrase; scripts without spaces count characters
	gapWords  = 40 // words that may stand where a phrase has " ... "
	maxOpen   = 8  // phrases waiting at a gap at a time
	maxActive = 32 // phrases in progress at a time; more are dropped
)

// hit is a phrase found in a text.
type hit struct {
	group  int   // the list it stands in
	id     int32 // the phrase, an index into matcher.phrases
	weight int   // 1, or 2 for a phrase marked "!"
	start  bool  // it counts only at the start of a sentence
	leads  bool  // of a hit that was found: it stood there
}

// node is a place in a trie of words.
type node struct {
	next []edge
	gap  *node // where a phrase goes on after " ... "
	hits []hit // phrases that end here
}

// edge leads to a node by a word, an id of matcher.words. A node has few of them.
type edge struct {
	word int32
	to   *node
}

// follow returns where word leads, nil if nowhere.
func (n *node) follow(word int32) *node {
	for i := range n.next {
		if n.next[i].word == word {
			return n.next[i].to
		}
	}
	return nil
}

// matcher finds the phrases of several lists in one pass over a text. It is immutable once built.
type matcher struct {
	words   map[string]int32 // every word of every phrase; most words of a text are not in it
	first   []*node          // by word: where phrases begin; nil where none does
	phrases []string
}

// add puts an entry of a keyword list into the trie. See [KeywordEdit] for the syntax.
func (m *matcher) add(group int, entry string) error {
	h := hit{group: group, id: int32(len(m.phrases)), weight: 1}
	phrase := strings.TrimSpace(entry)
	for marked := true; marked; {
		switch {
		case strings.HasPrefix(phrase, "!"):
			h.weight, phrase = 2, phrase[1:]
		case strings.HasPrefix(phrase, "^"):
			h.start, phrase = true, phrase[1:]
		default:
			marked = false
		}
	}
	var parts [][]string
	for part := range strings.SplitSeq(phrase, " ... ") {
		words := split(part)
		if len(words) == 0 || len(words) > maxPhrase || slices.Contains(words, "") {
			return fmt.Errorf("keyword %q: want 1 to %d words of at most %d bytes in each part", entry, maxPhrase, maxWord)
		}
		parts = append(parts, words)
	}
	var n *node
	for i, words := range parts {
		if i > 0 {
			if n.gap == nil {
				n.gap = &node{}
			}
			n = n.gap
		}
		n = m.descend(n, words)
	}
	n.hits = append(n.hits, h)
	m.phrases = append(m.phrases, phrase)
	return nil
}

// descend returns the node that words lead to from n, making it if need be. From nil it begins a phrase.
func (m *matcher) descend(n *node, words []string) *node {
	for _, w := range words {
		id := m.id(w)
		if n == nil {
			if m.first[id] == nil {
				m.first[id] = &node{}
			}
			n = m.first[id]
			continue
		}
		to := n.follow(id)
		if to == nil {
			to = &node{}
			n.next = append(n.next, edge{id, to})
		}
		n = to
	}
	return n
}

// id returns the number of a word of the lists.
func (m *matcher) id(word string) int32 {
	if m.words == nil {
		m.words = map[string]int32{}
	}
	id, ok := m.words[word]
	if !ok {
		id = int32(len(m.words))
		m.words[word] = id
		m.first = append(m.first, nil)
	}
	return id
}

// match calls found for every phrase in text, once for each time it occurs, in the order of their ends, and
// returns how many words text has. Phrases may overlap, and one inside another is found beside it. Each word goes to
// each as well, unless that is nil.
func (m *matcher) match(text string, found func(hit), each func(word []byte, split bool, from int)) (words int) {
	sc := scanner{text: text}
	var run run
	for w, ok := sc.next(); ok; w, ok = sc.next() {
		words++
		if each != nil {
			each(w, sc.split, sc.from)
		}
		id, known := m.words[string(w)]
		if sc.split || !known {
			run.n = 0
		}
		if !known {
			continue
		}
		n := run.n
		run.n = 0
		for i := range n { // each place gives at most one, so what advance writes has been read
			p := run.active[i]
			run.advance(p.node.follow(id), p.start, words, found)
		}
		for _, p := range run.open[:run.opened] {
			if p.until >= words {
				run.advance(p.node.follow(id), p.start, words, found)
			}
		}
		run.advance(m.first[id], sc.start, words, found)
	}
	return words
}

// place is a phrase partly read.
type place struct {
	node  *node
	start bool // it began at the start of a sentence
	until int  // at a gap: the last word that may continue it
}

// run is the state of one pass.
type run struct {
	active [maxActive]place
	n      int
	open   [maxOpen]place
	opened int
}

// advance enters the node that word number words led to, if any.
func (r *run) advance(n *node, start bool, words int, found func(hit)) {
	if n == nil {
		return
	}
	for _, h := range n.hits {
		if start || !h.start {
			h.leads = start
			found(h)
		}
	}
	if n.next != nil && r.n < len(r.active) {
		r.active[r.n] = place{node: n, start: start}
		r.n++
	}
	if n.gap != nil {
		r.wait(place{node: n.gap, start: start, until: words + gapWords})
	}
}

// wait opens a gap, or keeps it open for longer. With all slots taken the longest open one gives way.
func (r *run) wait(p place) {
	oldest := 0
	for i, q := range r.open[:r.opened] {
		if q.node == p.node {
			p.start = p.start || q.start
			r.open[i] = p
			return
		}
		if q.until < r.open[oldest].until {
			oldest = i
		}
	}
	if r.opened < maxOpen {
		oldest = r.opened
		r.opened++
	}
	r.open[oldest] = p
}
