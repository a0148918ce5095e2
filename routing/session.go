package routing

import (
	"container/list"
	"sync"
	"time"

	"github.com/understudy-ai/understudy/scoring"
)

// SessionConfig bounds what is remembered about conversations.
type SessionConfig struct {
	Idle      time.Duration // forget a conversation after this long without a request
	DownAfter int           // human turns in a row that must ask for less before the tier goes down
	Max       int           // conversations kept; the least recently used goes first
}

// session is what routing remembers of one conversation.
type session struct {
	key     string
	used    time.Time
	turn    string // the human turn decided last
	tier    scoring.Tier
	asked   scoring.Tier // the highest tier asked for since the turns began to ask for less
	lower   int          // human turns in a row that asked for less than tier
	profile string       // in force for that turn
	named   string       // the model that the client named for it
	model   string       // name of the model that served last
	held    string       // name of the model that the turn keeps, "" none yet
}

// sessions is a least-recently-used table. Safe for concurrent use.
type sessions struct {
	cfg   SessionConfig
	clock func() time.Time

	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *session, most recently used first
}

func newSessions(cfg SessionConfig, clock func() time.Time) *sessions {
	return &sessions{cfg: cfg, clock: clock, byKey: make(map[string]*list.Element), order: list.New()}
}

// update runs f on the conversation's state, fresh when it is unknown or has
// been idle for too long. f must not block.
func (t *sessions) update(key string, f func(s *session, fresh bool)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock()
	e, ok := t.byKey[key]
	if ok && now.Sub(e.Value.(*session).used) > t.cfg.Idle {
		t.drop(e)
		ok = false
	}
	if !ok {
		e = t.order.PushFront(&session{key: key})
		t.byKey[key] = e
		for len(t.byKey) > t.cfg.Max {
			t.drop(t.order.Back())
		}
	}
	t.order.MoveToFront(e)
	s := e.Value.(*session)
	s.used = now
	f(s, !ok)
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

// settle turns the tier that a turn asks for into the tier that it gets.
func (s *session) settle(r *Request, fresh bool, downAfter int) (scoring.Tier, string) {
	asked := r.Score.Tier
	switch {
	case fresh:
		s.tier, s.lower = asked, 0
		return s.tier, reasonScore
	case r.Turn == s.turn:
		return s.tier, reasonTurn
	case r.Terse:
		return s.tier, reasonTerse
	case asked >= s.tier:
		s.tier, s.lower = asked, 0
		return s.tier, reasonScore
	}
	if s.lower++; s.lower == 1 || asked > s.asked {
		s.asked = asked
	}
	if s.lower < downAfter {
		return s.tier, reasonHeld
	}
	s.tier, s.lower = s.asked, 0
	return s.tier, reasonScore
}
