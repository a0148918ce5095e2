package assemble

import "sync"

// maxNoteCache bounds the bytes of rendered notes that are kept, in two halves: some 20,000 notes. The same memories
// come up in many conversations, and to render one takes ten times as long as to find it here.
const maxNoteCache = 8 << 20

// noteOverhead is what a note takes beside its texts: the struct, and its entry in a map.
const noteOverhead = 320

// noteCache keeps rendered notes by the ID of their frame. It holds two generations: when the young one is full, it
// becomes the old one, and what was in the old one and has not been asked for since is gone. The zero value is empty
// and safe for concurrent use.
type noteCache struct {
	mu         sync.RWMutex
	young, old map[string]*note
	bytes      int // of young
}

// note returns the frame's note. A kept one serves only if it was made of the same words, type and day.
func (c *noteCache) note(f *Frame) *note {
	if f.ID == "" {
		return newNote(f)
	}
	c.mu.RLock()
	n, isYoung := c.young[f.ID]
	if !isYoung {
		n = c.old[f.ID]
	}
	c.mu.RUnlock()
	if n != nil && n.of(f) {
		if !isYoung {
			c.keep(n)
		}
		return n
	}
	n = newNote(f)
	c.keep(n)
	return n
}

// of reports whether the note is that of f.
func (n *note) of(f *Frame) bool {
	return n.frame.Content == f.Content && n.frame.Was == f.Was && n.frame.Type == f.Type &&
		n.frame.Personal == f.Personal && n.frame.CreatedAt.Equal(f.CreatedAt)
}

func (c *noteCache) keep(n *note) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes > maxNoteCache/2 || c.young == nil {
		c.old, c.young, c.bytes = c.young, map[string]*note{}, 0
	}
	if before := c.young[n.frame.ID]; before != nil {
		c.bytes -= before.size()
	}
	c.young[n.frame.ID] = n
	c.bytes += n.size()
}

func (n *note) size() int {
	return noteOverhead + len(n.frame.ID) + len(n.frame.Content) + len(n.frame.Was) + len(n.line)
}

// clear forgets all notes.
func (c *noteCache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old, c.bytes = nil, nil, 0
}
