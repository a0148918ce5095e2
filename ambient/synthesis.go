package ambient

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file is about what a model makes of what memory knows. Its text is shown as long as it is of what is known now; else
// the list is that it was made of.

// Held is what memory knows of one scope: the workspace, or a user's own.
type Held struct {
	Version uint64   // tells it from what was known before; 0: nothing is known
	Lines   []string // as a prompt would list them
}

const (
	synthesisDebounce = time.Minute      // of quiet before a model is asked again
	synthesisPatience = 10 * time.Minute // where there is no quiet
	synthesisWords    = 300

	maxChanged   = 10_000  // scopes that wait for a model; more are asked for with their next request
	maxSyntheses = 4 << 20 // bytes of texts in RAM
)

// owner is whose knowledge it is, user "" the workspace's.
type owner struct{ tenant, agent, user string }

// synthesis is a text and what it was made of.
type synthesis struct {
	version uint64
	text    string // "": the model made nothing of it
}

// syntheses keeps what changed, and the texts that are in use.
type syntheses struct {
	mu      sync.Mutex
	changed map[owner]*change
	kept    map[owner]synthesis
	bytes   int
}

// change is when knowledge began to change, and when it last did.
type change struct{ first, last time.Time }

// KnowledgeChanged tells that memory knows something else of a scope now. It is quick and never blocks.
func (s *Store) KnowledgeChanged(tenant, agent, user string) {
	if s.cfg.Background.Ask != nil {
		s.syntheses.mark(owner{tenant, agent, user}, s.cfg.Clock(), true)
	}
}

// mark notes a change: one that is made now, or one that is only seen now.
func (y *syntheses) mark(key owner, now time.Time, made bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	switch c := y.changed[key]; {
	case c != nil && made:
		c.last = now
	case c != nil:
	case len(y.changed) < maxChanged:
		if y.changed == nil {
			y.changed = map[owner]*change{}
		}
		y.changed[key] = &change{first: now, last: now}
	}
}

// changed is whose knowledge changed, and when it last did.
type changed struct {
	owner owner
	since time.Time
}

// due lists what has been quiet for long enough, of what is wanted.
func (y *syntheses) due(now time.Time, wanted func(owner) bool) (out []changed) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for key, c := range y.changed {
		if (now.Sub(c.last) >= synthesisDebounce || now.Sub(c.first) >= synthesisPatience) && wanted(key) {
			out = append(out, changed{key, c.last})
		}
	}
	return out
}

// settle takes a scope from what changed, unless it has changed again since.
func (y *syntheses) settle(key owner, since time.Time) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if c := y.changed[key]; c != nil && c.last.Equal(since) {
		delete(y.changed, key)
	}
}

func (y *syntheses) get(key owner) (synthesis, bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	k, ok := y.kept[key]
	return k, ok
}

// put keeps a text. When there is no room the cache starts over.
func (y *syntheses) put(key owner, k synthesis) {
	const overhead = 128
	y.mu.Lock()
	defer y.mu.Unlock()
	if old, ok := y.kept[key]; ok {
		y.bytes -= overhead + len(old.text)
	}
	if size := overhead + len(k.text); y.kept == nil || y.bytes+size > maxSyntheses {
		y.kept, y.bytes = map[owner]synthesis{}, 0
	}
	y.kept[key] = k
	y.bytes += overhead + len(k.text)
}

func (y *syntheses) clear() {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.kept, y.bytes = nil, 0
}

const (
	selectSynthesis = `SELECT version, text FROM syntheses WHERE tenant = ? AND agent = ? AND user = ?`
	upsertSynthesis = `INSERT OR REPLACE INTO syntheses (tenant, agent, user, version, text, at) VALUES (?, ?, ?, ?, ?, ?)`
	deleteSynthesis = `DELETE FROM syntheses WHERE tenant = ? AND agent = ? AND user = ?`
)

// Knowledge returns what a model made of what memory knows of a scope, for a prompt. It is empty when no model is asked, when it was
// made of something else than the version, or when the file can't say.
func (s *Store) Knowledge(ctx context.Context, tenant, agent, user string, version uint64) []Group {
	key := owner{tenant, agent, user}
	if s.cfg.Background.Ask == nil || version == 0 {
		return nil
	}
	k, err := s.synthesis(ctx, key)
	switch {
	case err != nil:
		return nil
	case k.version != version:
		s.syntheses.mark(key, s.cfg.Clock(), false) // it changed before this process began
		return nil
	case k.text == "":
		return nil
	}
	return []Group{madeGroup("summary", k.text)}
}

// synthesis returns what there is of a scope, the zero value when there is nothing.
func (s *Store) synthesis(ctx context.Context, key owner) (synthesis, error) {
	if k, ok := s.syntheses.get(key); ok {
		return k, nil
	}
	var k synthesis
	var version int64
	err := s.db.Reader.QueryRowContext(ctx, selectSynthesis, key.tenant, key.agent, key.user).Scan(&version, &k.text)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return k, fmt.Errorf("reading what is known: %w", err)
	}
	k.version = uint64(version)
	s.syntheses.put(key, k)
	return k, nil
}

const knowledgeInstructions = "Below is what an agent knows, as a list. Write 100 to 300 words that tell a colleague what is known: the subject and the " +
	"state of things, what was decided and why, goals, how people want things done. Put first what matters most. End with one " +
	"sentence on what is contradictory or missing, if the list shows any. " + dataRule

// synthesize has the model put into words what changed.
func (s *Store) synthesize(ctx context.Context, c *changed) error {
	err := s.synthesizeOne(ctx, c.owner)
	if err == nil {
		s.syntheses.settle(c.owner, c.since)
	}
	return err
}

func (s *Store) synthesizeOne(ctx context.Context, key owner) error {
	wiped := s.wiped.Load()
	held, err := s.cfg.Held(ctx, key.tenant, key.agent, key.user)
	if err != nil {
		return err
	}
	k, err := s.synthesis(ctx, key)
	switch {
	case err != nil || k.version == held.Version:
		return err
	case held.Version == 0:
		return s.keepSynthesis(ctx, key, synthesis{})
	}
	lines := make([]string, len(held.Lines))
	for i, line := range held.Lines {
		lines[i] = data(line)
	}
	text, err := s.askAlone(ctx, Question{
		Purpose: "knowledge", Tenant: key.tenant, Agent: key.agent, User: key.user, Instructions: knowledgeInstructions, Text: tagged("known", lines),
	}, synthesisWords)
	if err != nil {
		return err
	}
	if s.wiped.Load() != wiped { // something was forgotten that the model may have been told
		return nil
	}
	return s.keepSynthesis(ctx, key, synthesis{held.Version, text})
}

func (s *Store) keepSynthesis(ctx context.Context, key owner, k synthesis) error {
	return s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if k.version == 0 {
			_, err := tx.ExecContext(ctx, deleteSynthesis, key.tenant, key.agent, key.user)
			return err
		}
		_, err := tx.ExecContext(ctx, upsertSynthesis, key.tenant, key.agent, key.user, int64(k.version), k.text, s.cfg.Clock().UnixMilli())
		return err
	}, func() { s.syntheses.put(key, k) })
}
