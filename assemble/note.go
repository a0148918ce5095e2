package assemble

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// note is a frame rendered as one line.
type note struct {
	key      noteKey
	line     string
	at       time.Time
	personal bool
}

// noteKey recognises a note when it comes again: by its memory, or by its words.
type noteKey struct {
	id   string // empty for a frame without one
	text uint64
}

// picked is what a section takes from its frames.
type picked struct {
	notes []note
	total int // distinct frames on offer, not yet shown elsewhere
}

// seen is a set of notes, such as those that a prompt already shows. The zero value is empty.
type seen struct {
	ids   map[string]bool
	texts map[uint64]bool
}

func (s *seen) has(k noteKey) bool {
	return s.texts[k.text] || k.id != "" && s.ids[k.id]
}

func (s *seen) add(k noteKey) {
	if s.texts == nil {
		s.ids, s.texts = map[string]bool{}, map[uint64]bool{}
	}
	s.texts[k.text] = true
	if k.id != "" {
		s.ids[k.id] = true
	}
}

// addText marks a text as known, so that no note repeats it.
func (s *seen) addText(text string) {
	s.add(noteKey{text: textKey(escapeLine(text))})
}

// pick takes the first limit frames that aren't shown yet, in the order that sort gives them, and marks them as
// shown. A frame beyond the limit stays free for a later section.
func (s *seen) pick(frames []Frame, limit int, sort func([]Frame) []Frame) picked {
	var out picked
	var beyond seen // distinct, but over the limit
	for _, f := range sort(frames) {
		n, ok := newNote(f)
		switch {
		case !ok || s.has(n.key) || beyond.has(n.key):
			continue
		case len(out.notes) < limit:
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
	out := slices.Clone(frames)
	slices.SortStableFunc(out, func(a, b Frame) int {
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
	})
	return out
}

// asGiven keeps the caller's order.
func asGiven(frames []Frame) []Frame { return frames }

// newNote renders a frame as "- [type, day] content". It is false when nothing of the content is left to show.
func newNote(f Frame) (note, bool) {
	text := escapeLine(f.Content)
	if text == "" {
		return note{}, false
	}
	label := escapeLabel(f.Type)
	if !f.CreatedAt.IsZero() {
		label += ", " + f.CreatedAt.UTC().Format(time.DateOnly)
	}
	return note{
		key:      noteKey{id: f.ID, text: textKey(text)},
		line:     "- [" + label + "] " + text,
		at:       f.CreatedAt,
		personal: f.Personal,
	}, true
}

// textKey hashes an escaped line (FNV-1a) so that case and final punctuation make no difference.
func textKey(line string) uint64 {
	const offset, prime = 14695981039346656037, 1099511628211
	h := uint64(offset)
	for _, r := range strings.TrimRight(line, ".!? ") {
		h = (h ^ uint64(unicode.ToLower(r))) * prime
	}
	return h
}
