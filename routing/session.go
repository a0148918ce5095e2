package routing

import (
	"container/list"
	"sync"
	"time"

	"github.com/understudy-ai/understudy/scoring"
)

// SessionConfig says how conversations are remembered and when one changes its
// model.
type SessionConfig struct {
	Idle      time.Duration // forget a conversation after this long without a request
	CacheTTL  time.Duration // how long a provider keeps a prompt in its cache
	Horizon   int           // human turns over which a move to a cheaper model has to pay
	DownAfter int           // human turns in a row that must ask for less before the tier goes down
	MinGain   float64       // USD that a move must save over the horizon
	Max       int           // conversations kept; the least recently used goes first
}

// numTiers is the number of prompt tiers.
const numTiers = int(scoring.Heavy-scoring.Light) + 1

// maxWarm is how many models' caches are remembered of a conversation: one for
// each tier, and one that was named.
const maxWarm = 4

// session is what routing remembers of one conversation. A copy shares nothing
// with the original. It is about 600 bytes with its strings, which are bounded:
// names come from the configuration, or are cut by clip.
type session struct {
	key  string
	used time.Time

	settled bool   // a turn has settled the tier
	turn    string // the human turn decided last
	tier    scoring.Tier
	asked   scoring.Tier  // by that turn itself
	top     scoring.Tier  // the highest that a turn asked for
	runs    [numTiers]int // runs[t-Light]: human turns in a row that asked for t at most, since the tier last moved
	easy    [numTiers]int // all turns that asked for t at most
	ends    [numTiers]int // how often one that asked for more came after them
	frame   uint64        // system prompt and tools of the conversation, 0 not known
	humans  int           // human messages in its newest request
	profile string        // in force for that turn
	named   string        // the model that the client named for it
	model   string        // name of the model that served last
	held    string        // name of the model that the turn keeps, "" none yet

	traffic traffic
	prompt  seen // the newest prompt as the client sent it, whichever model read it
	warm    [maxWarm]warmth
}

// seen is a prompt that a model read, which its provider may still have in its
// cache.
type seen struct {
	tokens int
	at     time.Time
}

// warmth is what a model last saw of a conversation.
type warmth struct {
	model string
	seen
}

// maxName bounds what is kept of a name that a client made up.
const maxName = 64

// clip cuts such a name. Two that differ beyond the cut count as one.
func clip(name string) string { return name[:min(len(name), maxName)] }

// sessions is a least-recently-used table. Safe for concurrent use.
type sessions struct {
	cfg   SessionConfig
	clock func() time.Time

	journal Journal // nil: sessions end with the process

	mu     sync.Mutex
	byKey  map[string]*list.Element
	order  *list.List // of *session, most recently used first
	record []byte     // of the journal, while it is made
}

func newSessions(cfg SessionConfig, clock func() time.Time) *sessions {
	return &sessions{cfg: cfg, clock: clock, byKey: make(map[string]*list.Element), order: list.New()}
}

// update runs f on the conversation's state, which is a new one when it is
// unknown or has been idle for too long. f must not block.
func (t *sessions) update(key string, f func(s *session, now time.Time)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	e := t.find(key, now)
	if e == nil {
		e = t.order.PushFront(&session{key: key})
		t.byKey[key] = e
		t.trim()
	}
	t.order.MoveToFront(e)
	s := e.Value.(*session)
	s.used = now
	f(s, now)
}

// look returns a copy of the conversation's state and leaves no trace.
func (t *sessions) look(key string) (session, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	if e := t.find(key, now); e != nil {
		return *e.Value.(*session), now
	}
	return session{key: key}, now
}

// find returns the conversation unless it has been idle for too long.
func (t *sessions) find(key string, now time.Time) *list.Element {
	e, ok := t.byKey[key]
	if !ok {
		return nil
	}
	if now.Sub(e.Value.(*session).used) > t.cfg.Idle {
		t.drop(e)
		return nil
	}
	return e
}

// trim drops the least recently used beyond what is kept.
func (t *sessions) trim() {
	for len(t.byKey) > t.cfg.Max {
		t.drop(t.order.Back())
	}
}

func (t *sessions) drop(e *list.Element) {
	delete(t.byKey, e.Value.(*session).key)
	t.order.Remove(e)
}

func (t *sessions) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.byKey)
}

// aside reports whether a request, though it carries the conversation's name,
// is not of it: it has another system prompt or other tools, and goes no
// further than the conversation did. Titles are made so, and subagents begin
// so. A conversation whose system prompt changes goes on as it is.
func (s *session) aside(r *Request) bool {
	return s.settled && s.frame != 0 && r.Frame != s.frame && r.Humans <= s.humans && r.Turn != s.turn
}

// begin makes a turn the conversation's first.
func (s *session) begin(asked scoring.Tier, now time.Time) {
	s.top, s.asked = asked, scoring.Heavy
	s.easy, s.ends = [numTiers]int{}, [numTiers]int{}
	s.ask(asked)
	s.move(asked)
	s.traffic = traffic{began: now}
}

// ask notes what a new human turn asks for.
func (s *session) ask(asked scoring.Tier) {
	for i := range numTiers {
		switch t := scoring.Light + scoring.Tier(i); {
		case asked <= t:
			s.runs[i]++
			s.easy[i]++
		case s.asked <= t:
			s.runs[i] = 0
			s.ends[i]++
		default:
			s.runs[i] = 0
		}
	}
	s.asked, s.top = asked, max(s.top, asked)
}

// asksFor reports whether enough turns in a row have asked for a tier at most.
func (s *session) asksFor(t scoring.Tier, downAfter int) bool {
	return s.runs[t-scoring.Light] >= downAfter
}

// move changes the tier; what was asked for before no longer counts.
func (s *session) move(t scoring.Tier) {
	s.tier, s.runs = t, [numTiers]int{}
}
