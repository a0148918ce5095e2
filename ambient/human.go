package ambient

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"
	"time"
)

// Human is somebody as one platform knows them.
type Human struct {
	ID       string `json:"id"`
	Platform string `json:"platform"`
	Handle   string `json:"platform_user_id"` // the platform's id of them: X-User-Id. Of one known by name alone, that name
	ByName   bool   `json:"by_name"`          // known by name alone
	Name     string `json:"display_name"`     // as last heard; "" when there is none
	// Person is the ID of the human that this one is linked to, as the same person on another platform; its own when it
	// is linked to none.
	Person    string    `json:"person"`
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
}

// humanID is the same for the same tenant, platform and handle, and tells nothing of them.
func humanID(tenant, platform, handle string, byName bool) string {
	kind := "id"
	if byName {
		kind = "name"
	}
	h := sha256.New()
	for _, part := range []string{tenant, platform, handle, kind} {
		h.Write([]byte(part))
		h.Write([]byte{0}) // no part holds one
	}
	return "h" + hex.EncodeToString(h.Sum(nil)[:10])
}

// speaker is the human whose voice it is; false when nothing is known of them.
func speaker(scope Scope, platform string, v Voice) (Human, bool) {
	h := Human{Platform: platform, Name: v.Name}
	switch {
	case v.User && scope.user != "":
		h.Handle = scope.user
	case v.Name != "":
		h.Handle, h.ByName = strings.ToLower(v.Name), true
	default:
		return h, false
	}
	h.ID = humanID(scope.tenant, platform, h.Handle, h.ByName)
	h.Person = h.ID
	return h, true
}

// called is what a prompt calls a human.
func (h *Human) called() string {
	if h.Name != "" {
		return h.Name
	}
	return CleanName(h.Handle)
}

// presentable is a human whose names are as they may be shown: without those that the scanner refuses.
func (s *Store) presentable(h Human) Human {
	name := s.called(h.Name)
	if h.Name = name; name == "" && (h.ByName || s.called(h.Handle) == "") {
		h.Handle = "" // then they are called nothing
	}
	return h
}

const upsertHuman = `INSERT INTO humans (id, tenant, platform, handle, by_name, name, folded, person, first_seen, last_seen)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?8, ?1, ?7, ?7)
	ON CONFLICT (id) DO UPDATE SET
		folded = CASE WHEN excluded.name <> '' AND excluded.last_seen >= last_seen THEN excluded.folded ELSE folded END,
		name = CASE WHEN excluded.name <> '' AND excluded.last_seen >= last_seen THEN excluded.name ELSE name END,
		last_seen = max(last_seen, excluded.last_seen)
	RETURNING name, person`

// meet notes that a human was seen, and completes what is known of them.
func (s *Store) meet(ctx context.Context, tx *sql.Tx, tenant string, h *Human, at time.Time) error {
	folded := strings.ToLower(h.Name + "\n" + h.Handle) // SQLite knows the small letters of ASCII alone
	return s.prepared(ctx, tx, upsertHuman).QueryRowContext(ctx, h.ID, tenant, h.Platform, h.Handle, h.ByName, h.Name, at.UnixMilli(), folded).Scan(&h.Name, &h.Person)
}
