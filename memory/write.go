package memory

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Values of [Outcome.Outcome].
const (
	Stored      = "stored"
	Merged      = "merged"      // it was known; its hits grew
	Superseded  = "superseded"  // stored, and an older value became history
	Quarantined = "quarantined" // stored, never recalled
	Skipped     = "skipped"     // not stored
)

// Outcome says what became of a statement.
type Outcome struct {
	ID      string `json:"id"` // the memory that now holds it; "" when skipped
	Outcome string `json:"outcome"`
	Reason  string `json:"reason"`
}

// NewItem is a memory to add. Only Content is required.
type NewItem struct {
	ExternalID string
	Type       Type // "": by the rules of learning, else a fact
	Content    string

	// Subject and Attribute, when both are given, name what can have only one
	// value at a time: a later content replaces an earlier one.
	Subject, Attribute string

	// Session and Name say in which conversation it was said and by whom.
	// Memories of a session are to be added in the order in which they were
	// said: recall looks at what was said just before and after.
	Session, Name string

	Source    string    // "": SourceImported
	CreatedAt time.Time // zero: now
}

// Add stores one memory in the scope, if it is new there, and says what it did.
// Unlike learning it brings back what was forgotten. It errs with [ErrType],
// [ErrScope], or what the file says.
func (s *Store) Add(ctx context.Context, scope Scope, item NewItem) (Outcome, error) {
	if err := scope.check(); err != nil {
		return Outcome{}, fmt.Errorf("adding memory: %w", err)
	}
	if item.Type != "" && item.Type.importance() == 0 {
		return Outcome{}, fmt.Errorf("adding memory: %w %q", ErrType, item.Type)
	}

	d := s.draft(item, Fact)
	var out Outcome
	err := s.write(ctx, func(ctx context.Context, tx *txn) (err error) {
		if err = raise(ctx, tx, scope, d.content); err != nil {
			return err
		}
		out, _, err = put(ctx, tx, scope, d)

		return err
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("adding memory: %w", err)
	}
	s.cfg.OnLearned(d.typ, out.Outcome)

	return out, nil
}

// draft reads an item as learning would, as far as the caller left it open. What
// no rule knows is of the type otherwise.
func (s *Store) draft(item NewItem, otherwise Type) draft {
	content := prepare(item.Content)
	d := classify(content)
	if d.typ == "" || item.Type != "" && d.typ != item.Type {
		d = draft{typ: cmp.Or(item.Type, otherwise)}
	}
	d.content, d.whole = content, cleanText(item.Content)
	if item.Subject != "" && item.Attribute != "" {
		d.subject, d.attribute, d.value = toText(item.Subject), toText(item.Attribute), fold(content)
	} else if item.Name == "" {
		d.claim()
	}

	return s.label(d, item)
}

// label adds where an item comes from.
func (s *Store) label(d draft, item NewItem) draft {
	d.externalID, d.source, d.at = toText(item.ExternalID), toText(item.Source), item.CreatedAt
	d.session, d.name = toText(item.Session), toText(item.Name)
	if d.source == "" {
		d.source = SourceImported
	}
	if d.at.IsZero() {
		d.at = s.cfg.Clock()
	}

	return d
}

// prepare makes content of a text: one clean line, secrets redacted, at most
// maxContent characters.
func prepare(text string) string {
	return cut(oneLine(Redact(cleanText(text))))
}
