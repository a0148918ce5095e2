package ambient

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Uttered is one message of a transcript.
type Uttered struct {
	Name    string    `json:"name"`    // who said it; whoever wrote it, for the agent too
	Role    string    `json:"role"`    // user, the default, or assistant; others are left out
	Content string    `json:"content"` // what was said
	At      time.Time `json:"at"`      // zero: not known

	seq int64 // in the file
}

// Transcript is what is kept of a channel's past.
type Transcript struct {
	Items []Uttered `json:"items"` // oldest first; never nil
	// Shown says that a conversation has been given it, or is about to: no other will be.
	Shown bool `json:"shown"`
}

// Bounds of a transcript.
const (
	maxTranscript      = 1000 // messages that are read, the newest
	maxUttered         = 500  // bytes of a message
	maxTranscriptBytes = 4 << 20
	earlierTokens      = 1000 // that are shown
	earlierLines       = 100
)

// ErrTranscript says that something is no transcript.
var ErrTranscript = errors.New("is no transcript")

// ParseTranscript reads a JSON array of messages, or messages one after the other (JSON lines). It errs with
// [ErrTranscript], saying which message is none. Of very many the newest, which come last, are returned.
func ParseTranscript(body []byte) ([]Uttered, error) {
	if len(body) > maxTranscriptBytes {
		return nil, fmt.Errorf("a body of more than %d bytes %w", maxTranscriptBytes, ErrTranscript)
	}
	body = bytes.TrimSpace(body)
	dec := json.NewDecoder(bytes.NewReader(body))
	array := bytes.HasPrefix(body, []byte("["))
	if array {
		if _, err := dec.Token(); err != nil {
			return nil, fmt.Errorf("the body %w: %w", ErrTranscript, err)
		}
	}
	var out []Uttered
	for n := 1; dec.More(); n++ {
		var u Uttered
		if err := dec.Decode(&u); err != nil {
			return nil, fmt.Errorf("message %d %w: %w", n, ErrTranscript, err)
		}
		if u.Content == "" {
			return nil, fmt.Errorf("message %d %w: it has no content", n, ErrTranscript)
		}
		if out = append(out, u); len(out) == 2*maxTranscript {
			out = append(out[:0], out[maxTranscript:]...)
		}
	}
	if array {
		if _, err := dec.Token(); err != nil {
			return nil, fmt.Errorf("the body %w: the array has no end", ErrTranscript)
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) || len(out) == 0 {
		return nil, fmt.Errorf("the body %w: one JSON array of messages, or a message a line, is", ErrTranscript)
	}
	return out[max(0, len(out)-maxTranscript):], nil
}

const (
	deleteTranscript = `DELETE FROM transcripts WHERE tenant = ? AND agent = ? AND channel = ?`
	insertUttered    = `INSERT INTO transcripts (tenant, agent, channel, audience, name, text, at, kept, session) VALUES (?, ?, ?, ?, ?, ?, ?, ?, '')`
)

// Backfill keeps what was said in the scope's channel before, in the place of what was kept of it. It is redacted; what a
// model must not be shown is left out, as is what neither people nor the agent said. It returns how many messages are
// kept. They are shown to the next conversation that begins in the channel, and to no other.
func (s *Store) Backfill(ctx context.Context, scope Scope, said []Uttered) (kept int, err error) {
	clean := make([]Uttered, 0, len(said))
	for _, u := range said {
		switch u.Role {
		case "", "user":
			u.Name = s.called(u.Name)
			if u.Name == "" {
				u.Name = "somebody"
			}
		case "assistant":
			u.Name = ""
		default:
			continue
		}
		text, ok := s.cfg.Clean(oneLine(u.Content))
		if u.Content = clip(text, maxUttered); ok && u.Content != "" {
			clean = append(clean, u)
		}
	}
	now, audience := s.cfg.Clock(), scope.Audience()
	err = s.do(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if audience == Everybody {
			if audience, err = (venue{scope.tenant, scope.agent, scope.channel}).audience(ctx, tx); err != nil {
				return err
			}
		}
		if _, err := tx.ExecContext(ctx, deleteTranscript, scope.tenant, scope.agent, scope.channel); err != nil {
			return err
		}
		for _, u := range clean {
			at := int64(0)
			if !u.At.IsZero() {
				at = u.At.UnixMilli()
			}
			if _, err := tx.ExecContext(ctx, insertUttered, scope.tenant, scope.agent, scope.channel, audience, u.Name, u.Content, at, now.UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	}, func() { s.claimed(scope, claim{audience: audience, kept: len(clean)}) })
	if err != nil {
		return 0, fmt.Errorf("keeping a transcript: %w", err)
	}
	return len(clean), nil
}

// DropTranscript deletes what is kept of the past of the scope's channel. It returns how many messages that were.
func (s *Store) DropTranscript(ctx context.Context, scope Scope) (n int64, err error) {
	err = s.do(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, deleteTranscript, scope.tenant, scope.agent, scope.channel)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	}, func() { s.claimed(scope, claim{}) })
	if err != nil {
		return 0, fmt.Errorf("deleting a transcript: %w", err)
	}
	s.wipe(ctx)
	return n, nil
}

const selectTranscript = `SELECT seq, name, text, at, session FROM transcripts WHERE tenant = ? AND agent = ? AND channel = ? ORDER BY seq DESC LIMIT ?`

// Transcript returns what is kept of the past of the scope's channel, whoever may be shown it.
func (s *Store) Transcript(ctx context.Context, scope Scope) (Transcript, error) {
	t, err := s.transcript(ctx, scope, maxTranscript)
	if err != nil {
		return Transcript{}, fmt.Errorf("reading a transcript: %w", err)
	}
	return t, nil
}

func (s *Store) transcript(ctx context.Context, scope Scope, limit int) (t Transcript, err error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectTranscript, scope.tenant, scope.agent, scope.channel, limit)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	t.Items = []Uttered{}
	for rows.Next() {
		u, at, session := Uttered{Role: "user"}, int64(0), ""
		if err := rows.Scan(&u.seq, &u.Name, &u.Content, &at, &session); err != nil {
			return t, err
		}
		if u.Name == "" {
			u.Role = "assistant"
		}
		if at != 0 {
			u.At = time.UnixMilli(at).UTC()
		}
		t.Items, t.Shown = append(t.Items, u), session != ""
	}
	slices.Reverse(t.Items)
	return t, rows.Err()
}

// claim says to which conversation a transcript is shown.
type claim struct {
	audience Audience
	session  string // "" while there is none
	kept     int    // messages; 0: there is no transcript
}

const selectClaims = `SELECT channel, audience, session, count(*) FROM transcripts WHERE tenant = ? AND agent = ? GROUP BY channel, audience, session`

func (st *street) loadClaims(ctx context.Context, db *sql.DB) (err error) {
	st.earlier = map[string]claim{}
	rows, err := db.QueryContext(ctx, selectClaims, st.key.tenant, st.key.agent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var channel string
		var c claim
		if err := rows.Scan(&channel, &c.audience, &c.session, &c.kept); err != nil {
			return err
		}
		st.earlier[channel] = c
	}
	return rows.Err()
}

// claimed brings RAM up to date with what became of a channel's transcript.
func (s *Store) claimed(scope Scope, c claim) {
	st := s.streets.find(agentKey{scope.tenant, scope.agent}, nil)
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.loaded {
		return
	}
	if c.kept == 0 {
		delete(st.earlier, scope.channel)
		return
	}
	st.earlier[scope.channel] = c
}

// claim takes a channel's transcript for a conversation, if it may have it. It returns how many messages there are, 0
// when there is nothing for the conversation.
func (s *Store) claim(ctx context.Context, scope Scope, m *Moment) (kept int, err error) {
	st, err := s.street(ctx, scope)
	if err != nil {
		return 0, err
	}
	defer st.mu.Unlock()
	c := st.earlier[scope.channel]
	if c.session != m.Session && (c.session != "" || !m.New) || !slices.Contains(scope.mayRead(), c.audience) {
		return 0, nil
	}
	if c.session == "" && c.kept > 0 && !m.Dry {
		c.session = m.Session
		if s.soon(claimTranscript(scope, m.Session), nil) {
			st.earlier[scope.channel] = c
		}
	}
	return c.kept, nil
}

const setClaim = `UPDATE transcripts SET session = ? WHERE tenant = ? AND agent = ? AND channel = ? AND session = ''`

func claimTranscript(scope Scope, session string) write {
	return func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, setClaim, session, scope.tenant, scope.agent, scope.channel)
		return err
	}
}

// showEarlier adds what was said in the channel before, to the conversation that it is for. What is newest is shown when not
// all fits.
func (s *Store) showEarlier(ctx context.Context, v *View, scope Scope, m *Moment) error {
	if scope.channel == "" || !m.Opening {
		return nil
	}
	kept, err := s.claim(ctx, scope, m)
	if err != nil || kept == 0 {
		return err
	}
	t, err := s.transcript(ctx, scope, earlierLines)
	if err != nil {
		return err
	}
	g := Group{Heading: "Earlier in this channel (a transcript, for reading only)", Total: kept}
	left := earlierTokens
	for _, u := range slices.Backward(t.Items) {
		line := u.line(m.At, s.zone(scope.agent))
		if left -= s.cfg.Tokens(line.Label + line.Text); left < 0 {
			break
		}
		g.Lines = append(g.Lines, line)
	}
	slices.Reverse(g.Lines)
	v.Conversation = append(v.Conversation, g)
	return nil
}

// earlierID begins the IDs of a transcript's lines.
const earlierID = "earlier/"

func (u *Uttered) line(now time.Time, zone *time.Location) Line {
	line := Line{ID: earlierID + strconv.FormatInt(u.seq, 10), Label: "earlier", Text: strings.TrimPrefix(u.Name+": "+u.Content, ": ")}
	if !u.At.IsZero() {
		line.Label = clockTime(u.At, now, zone)
	}
	if u.Role == "assistant" {
		line.Text = "you: " + u.Content
	}
	return line
}
