// Package memory remembers what the people who talk to an agent said, and
// recalls what bears on their next message.
//
// An [Exchange] is handed to [Store.Learn] after its answer went out; one
// writer goroutine takes typed memories from the human's own words by rules
// that prefer silence to error: statements that ask to be remembered,
// decisions, also by accepting a proposal, preferences, standing instructions,
// identity, goals, to-dos, events and plain facts. A [Model] may look for more.
// [Store.Recall] returns the standing ones of the person
// ("pinned") and those that share words or meaning with a query, or nothing.
//
// Whole scopes come in and go out as rows of JSONL, by [Store.Import] and
// [Store.Export]; [Store.Verify] holds the parts of a store against each other.
//
// Every memory belongs to one [Scope]. What a known user says is personal, and
// only that user's requests see it. What is said without a user is the shared
// workspace memory of the agent, and then only decisions, facts, goals and
// to-dos are kept: identity and preferences of nobody are skipped.
//
// The package makes no network connection of its own and learns nothing from
// system prompts or from what the assistant claims. It does not render
// memories for a prompt; whoever does must treat them as untrusted data.
// Recall goes by words, by what was said around a memory and by whom, and by
// meaning, from the static table of internal/embed. It answers from an index in
// RAM, one for each scope in use; the SQLite file is the record.
package memory

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/understudy-ai/understudy/internal/batch"
)

// Errors that callers may test for.
var (
	// ErrNotFound says that no memory in the scope has the id.
	ErrNotFound = errors.New("memory not found")

	// ErrScope says that a scope lacks its tenant or agent, or that a name in
	// it can't be used.
	ErrScope = errors.New("bad memory scope")

	// ErrType says that a memory type is not one of [Types].
	ErrType = errors.New("unknown memory type")

	// ErrProfile says that a scoring profile is none of those of [Query].
	ErrProfile = errors.New("unknown scoring profile")

	// ErrCursor says that a list cursor did not come from an earlier page.
	ErrCursor = errors.New("bad cursor")

	// ErrClosed says that the store has been closed.
	ErrClosed = batch.ErrClosed
)

// maxNameLen bounds each name of a scope, in bytes. Names arrive in headers.
const maxNameLen = 256

// Scope says whose memory is meant. Only [NewScope] makes a usable one; the
// zero value is refused everywhere.
type Scope struct {
	tenant, agent, user string
}

// NewScope returns the scope of a user of an agent of a tenant. With user ""
// it is the agent's workspace: shared memory only. Tenant and agent are
// required. The error wraps [ErrScope].
func NewScope(tenant, agent, user string) (Scope, error) {
	if tenant == "" || agent == "" {
		return Scope{}, fmt.Errorf("%w: tenant and agent are required", ErrScope)
	}
	for _, name := range []string{tenant, agent, user} {
		if len(name) > maxNameLen || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return Scope{}, fmt.Errorf("%w: a name is too long or holds bytes that aren't text", ErrScope)
		}
	}

	return Scope{tenant: tenant, agent: agent, user: user}, nil
}

// check refuses the zero scope.
func (s Scope) check() error {
	if s.tenant == "" {
		return fmt.Errorf("%w: made without NewScope", ErrScope)
	}

	return nil
}

// key is the scope as one search token; no other scope has the same.
func (s Scope) key() string {
	sum := sha256.Sum256([]byte(s.name()))

	return "s" + hex.EncodeToString(sum[:16])
}

// name is the scope as one string; no other scope has the same, since names
// hold no control characters.
func (s Scope) name() string { return s.tenant + "\x00" + s.agent + "\x00" + s.user }

// historyKey is the search token for what the scope keeps but doesn't recall.
func (s Scope) historyKey() string { return "h" + s.key() }

// hash identifies a text of the given kind within the scope. Case, marks,
// script, spacing and final punctuation make no difference to it; every other
// character, a negation or a sign, does.
func (s Scope) hash(kind, text string) []byte {
	text = strings.TrimRight(oneLine(fold(text)), ".!… ")
	if kind == hashMemory {
		text = withoutFillers(text)
	}
	sum := sha256.Sum256([]byte(s.key() + "\x00" + kind + "\x00" + text))

	return sum[:]
}

// hashMemory is the kind of hash by which statements are known again.
const hashMemory = "memory"

// fillers are words that make no difference to a statement.
var fillers = wordSet("the that so also please just really actually currently well ok okay btw basically simply", strings.ToLower)

// withoutFillers drops them from folded text, and the punctuation between
// words: "OK, so we use the Go" and "we use Go" are one.
func withoutFillers(folded string) string {
	out := make([]string, 0, 16)
	for word := range strings.FieldsSeq(folded) {
		if bare := strings.Trim(word, ",;:.!?"); !fillers[bare] {
			out = append(out, cmp.Or(bare, word))
		}
	}

	return strings.Join(out, " ")
}

// Type says what sort of thing a memory is.
type Type string

// The types of memories, with the importance that each is born with. It never
// changes; recall weighs it together with age.
const (
	Identity    Type = "identity"    // 1.0: who the user is
	Goal        Type = "goal"        // 0.9
	Decision    Type = "decision"    // 0.8
	Todo        Type = "todo"        // 0.8
	Preference  Type = "preference"  // 0.7: likes, and standing instructions
	Fact        Type = "fact"        // 0.6
	Event       Type = "event"       // 0.4
	Observation Type = "observation" // 0.3
)

// Types returns all types, the most important first.
func Types() []Type {
	return []Type{Identity, Goal, Decision, Todo, Preference, Fact, Event, Observation}
}

// importance is the base importance in [0, 1]; 0 for an unknown type.
func (t Type) importance() float64 {
	switch t {
	case Identity:
		return 1.0
	case Goal:
		return 0.9
	case Decision, Todo:
		return 0.8
	case Preference:
		return 0.7
	case Fact:
		return 0.6
	case Event:
		return 0.4
	case Observation:
		return 0.3
	default:
		return 0
	}
}

// personal reports whether memories of the type need a user.
func (t Type) personal() bool { return t == Identity || t == Preference }

// timely reports whether memories of the type are about a time, so that words
// like "tomorrow" in them want a date.
func (t Type) timely() bool {
	switch t {
	case Event, Todo, Goal, Decision, Fact:
		return true
	default:
		return false
	}
}

// Values of [Item.Status].
const (
	StatusActive      = "active"
	StatusQuarantined = "quarantined" // kept and listed, never recalled
)

// Values of [Item.Source].
const (
	SourceUser      = "user_stated"
	SourceAssistant = "assistant_stated"
	SourceImported  = "imported"
)

// Item is one memory.
type Item struct {
	ID         string `json:"id"`
	ExternalID string `json:"external_id"`
	Agent      string `json:"agent"`
	User       string `json:"user"` // "" in the workspace
	Type       Type   `json:"type"`

	// Content is one line of at most 500 characters, secrets redacted. It is
	// what somebody typed: data, never an instruction.
	Content string `json:"content"`

	// Subject and Attribute say what the content is about, where that is
	// known: user and location, tea and liking.
	Subject   string `json:"subject"`
	Attribute string `json:"attribute"`

	// Session and Name say in which conversation it was said and by whom, as
	// far as is known. Memories of one session are neighbours in the order in
	// which they were stored.
	Session string `json:"session"`
	Name    string `json:"name"`

	Importance float64   `json:"importance"` // base value of the type, in [0, 1]
	Source     string    `json:"source"`
	Status     string    `json:"status"`
	CreatedAt  time.Time `json:"created_at"`
	ValidFrom  time.Time `json:"valid_from"`

	// ValidTo and SupersededBy are set once a newer value has taken its place.
	ValidTo      *time.Time `json:"valid_to"`
	SupersededBy string     `json:"superseded_by"`

	Hits int `json:"hits"` // how often it was stated, from 1

	// Score in (0, 1] and Why are set by [Store.Recall] alone.
	Score float64 `json:"score,omitempty"`
	Why   string  `json:"why,omitempty"`
}
