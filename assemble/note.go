package assemble

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// note is a frame rendered as one line. It is not changed once made.
type note struct {
	frame Frame // what it was made of, without its rank
	key   noteKey
	line  string // "" when nothing of the frame is left to show
	chars int    // of line
}

// noteKey recognises a note when it comes again: by its memory, or by its words.
type noteKey struct {
	id   string // empty for a frame without one
	text uint64
}

// picked is what a section takes from its frames.
type picked struct {
	notes []*note
	total int // distinct frames on offer, not yet shown elsewhere
}

// shown is the set of notes that a prompt shows already. A prompt shows some dozens, so that looking at each is
// quicker than hashing. The zero value is empty.
type shown struct {
	keys []noteKey
}

func (s *shown) has(k noteKey) bool {
	for i := range s.keys {
		if known := &s.keys[i]; known.text == k.text || k.id != "" && known.id == k.id {
			return true
		}
	}
	return false
}

func (s *shown) add(k noteKey) { s.keys = append(s.keys, k) }

// addQuery marks what the human just said as known, so that no note repeats it. What is longer than any note can't be
// repeated by one.
func (s *shown) addQuery(text string) {
	if len(text) <= maxNoteChars*utf8.UTFMax {
		s.add(noteKey{text: textKey(escapeLine(text))})
	}
}

// pick takes the first limit frames that aren't shown yet, in the order given, and marks them as shown. A frame beyond
// the limit stays free for a later section.
func (s *shown) pick(lines *noteCache, frames []Frame, limit int) picked {
	var out picked
	var beyond shown // distinct, but over the limit
	for i := range frames {
		n := lines.note(&frames[i])
		switch {
		case n.line == "" || s.has(n.key) || beyond.has(n.key):
			continue
		case len(out.notes) < limit:
			if out.notes == nil {
				out.notes = make([]*note, 0, min(limit, len(frames)-i)+1)
			}
			out.notes = append(out.notes, n)
			s.add(n.key)
		default:
			beyond.add(n.key)
		}
		out.total++
	}
	return out
}

// ranked returns the frames pinned first, then by importance, then newest first. The ID settles what is left, so that
// the order doesn't depend on the caller's.
func ranked(frames []Frame) []Frame {
	if slices.IsSortedFunc(frames, byRank) {
		return frames
	}
	out := slices.Clone(frames)
	slices.SortStableFunc(out, byRank)
	return out
}

func byRank(a, b Frame) int {
	if a.Pinned != b.Pinned {
		if a.Pinned {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(b.Importance, a.Importance),
		b.CreatedAt.Compare(a.CreatedAt),
		cmp.Compare(a.ID, b.ID),
	)
}

// newNote renders a frame as "- [type, day] content", and one that took another's place as "- [type, day] old → new".
func newNote(f *Frame) *note {
	n := &note{frame: *f}
	text := escapeLine(f.Content)
	if text == "" {
		return n
	}
	n.key = noteKey{id: f.ID, text: textKey(text)}
	var b strings.Builder
	b.Grow(len("- [, 2006-01-02]  → ") + len(f.Type) + len(f.Was) + len(text))
	b.WriteString("- [")
	b.WriteString(escapeLabel(f.Type))
	if !f.CreatedAt.IsZero() {
		b.WriteString(", ")
		var day [len(time.DateOnly)]byte
		b.Write(f.CreatedAt.UTC().AppendFormat(day[:0], time.DateOnly))
	}
	b.WriteString("] ")
	if was := escapeLine(f.Was); was != "" {
		b.WriteString(was)
		b.WriteString(" → ")
	}
	b.WriteString(text)
	n.line = b.String()
	n.chars = utf8.RuneCountInString(n.line)
	return n
}

// textKey hashes an escaped line (FNV-1a) so that case and final punctuation make no difference.
func textKey(line string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	line = strings.TrimRight(line, ".!? ")
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c >= utf8.RuneSelf {
			for _, r := range line[i:] {
				h = (h ^ uint64(unicode.ToLower(r))) * prime
			}
			break
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		h = (h ^ uint64(c)) * prime
	}
	return h
}
