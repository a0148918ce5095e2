package memory

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Row is one memory, or one message of a conversation, as a line of JSONL: what
// [Store.Import] reads and [Store.Export] writes.
//
// A plain row needs a content only. Its id is kept as the memory's external id.
// A row with a status is one that was exported: its id is the memory's own, and
// all that the memory was comes back.
type Row struct {
	ID         string    `json:"id"`
	ExternalID string    `json:"external_id"`
	Session    string    `json:"session,omitempty"`
	Name       string    `json:"name,omitempty"` // of the speaker
	Role       string    `json:"role,omitempty"` // "" means user
	Type       Type      `json:"type,omitempty"`
	Content    string    `json:"content"`
	CreatedAt  time.Time `json:"created_at"` // zero: now

	Subject      string     `json:"subject,omitempty"`
	Attribute    string     `json:"attribute,omitempty"`
	Value        string     `json:"value,omitempty"` // set where subject and attribute have one at a time
	Source       string     `json:"source,omitempty"`
	Status       string     `json:"status,omitempty"`
	ValidFrom    time.Time  `json:"valid_from,omitzero"`
	StatedAt     time.Time  `json:"stated_at,omitzero"` // when it was last stated
	ValidTo      *time.Time `json:"valid_to,omitempty"`
	SupersededBy string     `json:"superseded_by,omitempty"`
	Hits         int        `json:"hits,omitempty"`
}

// maxLabel bounds what a row says about a memory beside its content, in bytes.
const maxLabel = 256

// decodeRow reads a line.
func decodeRow(line []byte) (Row, error) {
	var r Row
	if err := json.Unmarshal(line, &r); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return r, fmt.Errorf("%s can't be a %s", cmp.Or(e.Field, "a row"), e.Value)
		}
		return r, fmt.Errorf("reading a row: %w", err)
	}
	switch {
	case r.Type != "" && r.Type.importance() == 0:
		return r, fmt.Errorf("%w %q", ErrType, clip(string(r.Type), maxLabel))
	case r.Status != "" && r.Status != StatusActive && r.Status != StatusQuarantined:
		return r, fmt.Errorf("unknown status %q", clip(r.Status, maxLabel))
	case !writable(r.CreatedAt, r.ValidFrom, r.StatedAt) || r.ValidTo != nil && !writable(*r.ValidTo):
		return r, errors.New("a time is out of range")
	}

	return r, nil
}

// writable reports whether times can be written as JSON once they are in UTC:
// one that can't would make every list unreadable that it is in.
func writable(times ...time.Time) bool {
	return !slices.ContainsFunc(times, func(t time.Time) bool { y := t.UTC().Year(); return y < 1 || y > 9999 })
}

// exported reports whether the row came from Export.
func (r *Row) exported() bool { return r.Status != "" }

// told reports whether the row is a message of a conversation, and not a
// statement about the user: somebody's whose name it gives, or the assistant's.
// Which of the names is the user's isn't known, so that the rules of learning
// could take one person's home for another's.
func (r *Row) told() bool { return r.Type == "" && (r.Name != "" || r.Role != "" && r.Role != "user") }

// rowDraft is the memory of a row.
func (s *Store) rowDraft(r *Row) draft {
	item := NewItem{
		ExternalID: clip(cmp.Or(r.ExternalID, r.ID), maxLabel), Type: r.Type, Content: r.Content,
		Subject: clip(r.Subject, maxLabel), Attribute: clip(r.Attribute, maxLabel), Session: clip(r.Session, maxLabel), Name: clip(r.Name, maxLabel),
		Source: r.source(), CreatedAt: r.CreatedAt,
	}
	switch {
	case r.exported():
		item.ExternalID = clip(r.ExternalID, maxLabel)
		d := s.label(draft{typ: cmp.Or(r.Type, Observation), content: prepare(r.Content)}, item)
		d.subject, d.attribute, d.value = toText(item.Subject), toText(item.Attribute), toText(clip(r.Value, maxRow))
		return d
	case r.told():
		return s.label(draft{typ: Observation, content: prepare(r.Content)}, item)
	default:
		return s.draft(item, Observation)
	}
}

// source says on whose word the memory rests.
func (r *Row) source() string {
	switch {
	case r.exported() && (r.Source == SourceUser || r.Source == SourceAssistant):
		return r.Source
	case r.Role == "assistant":
		return SourceAssistant
	default:
		return SourceImported
	}
}

// row is the row of a memory.
func (item *Item) row(value string, stated time.Time) Row {
	role := ""
	if item.Source == SourceAssistant {
		role = "assistant"
	}

	return Row{
		ID: item.ID, ExternalID: item.ExternalID, Session: item.Session, Name: item.Name, Role: role, Type: item.Type,
		Content: item.Content, CreatedAt: item.CreatedAt, Subject: item.Subject, Attribute: item.Attribute, Value: value,
		Source: item.Source, Status: item.Status, ValidFrom: item.ValidFrom, StatedAt: stated, ValidTo: item.ValidTo,
		SupersededBy: item.SupersededBy, Hits: item.Hits,
	}
}
