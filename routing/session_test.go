package routing

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/scoring"
)

// step is one request of a conversation, and the tier and reason it must get.
type step struct {
	turn   string
	asked  scoring.Tier
	change func(*Request) // may be nil
	tier   scoring.Tier
	reason string
}

func terse(r *Request)      { r.Terse = true }
func side(r *Request)       { r.SideCall = true }
func forceHeavy(r *Request) { r.Forced, r.ForcedTier = true, heavy }
func forceLight(r *Request) { r.Forced, r.ForcedTier = true, light }
func worker(r *Request)     { r.ProcessType = "worker" }

func TestSessionTier(t *testing.T) {
	tests := []struct {
		name      string
		downAfter int // 0: 2
		steps     []step
	}{
		{name: "up at once", steps: []step{
			{"1", light, nil, light, "score"},
			{"2", standard, nil, standard, "score"},
			{"3", heavy, nil, heavy, "score"},
		}},
		{name: "down after two lower turns in a row", steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"2", light, nil, heavy, "held"},
			{"3", light, nil, light, "score"},
			{"4", light, nil, light, "score"},
		}},
		{name: "down to the highest of them", steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"2", standard, nil, heavy, "held"},
			{"3", light, nil, standard, "score"},
			{"4", light, nil, standard, "held"},
			{"5", light, nil, light, "score"},
		}},
		{name: "a turn between begins the count anew", steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"2", light, nil, heavy, "held"},
			{"3", heavy, nil, heavy, "score"},
			{"4", standard, nil, heavy, "held"},
			{"5", heavy, nil, heavy, "score"},
			{"6", light, nil, heavy, "held"},
			{"7", light, nil, light, "score"},
		}},
		{name: "down after one", downAfter: 1, steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"2", light, nil, light, "score"},
		}},
		{name: "down after three", downAfter: 3, steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"2", light, nil, heavy, "held"},
			{"3", standard, nil, heavy, "held"},
			{"4", light, nil, standard, "score"},
		}},
		{name: "terse inherits, neither up nor down, and doesn't count", steps: []step{
			{"1", standard, nil, standard, "score"},
			{"2", heavy, terse, standard, "terse"},
			{"3", light, terse, standard, "terse"},
			{"4", light, terse, standard, "terse"},
			{"5", light, nil, standard, "held"},
			{"6", light, terse, standard, "terse"},
			{"7", light, nil, light, "score"},
		}},
		{name: "terse with nothing to inherit", steps: []step{
			{"1", light, terse, light, "score"},
		}},
		{name: "the same turn keeps, and counts once", steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"1", light, nil, heavy, "turn"},
			{"2", light, nil, heavy, "held"},
			{"2", light, nil, heavy, "turn"},
			{"2", heavy, nil, heavy, "turn"},
			{"3", light, nil, light, "score"},
			{"3", heavy, nil, light, "turn"},
		}},
		{name: "no human turn", steps: []step{
			{"", standard, nil, standard, "score"},
			{"", heavy, nil, standard, "turn"},
		}},
		{name: "side calls neither use nor move", steps: []step{
			{"1", heavy, nil, heavy, "score"},
			{"title", light, side, light, "score"},
			{"2", light, nil, heavy, "held"},
			{"title", light, side, light, "score"},
			{"2", light, side, light, "score"},
			{"2", light, nil, heavy, "turn"},
			{"3", light, nil, light, "score"},
			{"title", heavy, side, heavy, "score"},
			{"4", light, nil, light, "score"},
		}},
		{name: "a side call first", steps: []step{
			{"title", heavy, side, heavy, "score"},
			{"1", light, nil, light, "score"},
		}},
		{name: "a forced tier neither uses nor moves", steps: []step{
			{"1", standard, nil, standard, "score"},
			{"2", light, forceHeavy, heavy, "forced"},
			{"3", standard, nil, standard, "score"},
			{"4", heavy, forceLight, light, "forced"},
			{"4", light, nil, standard, "held"},
			{"5", light, forceHeavy, heavy, "forced"},
			{"6", light, nil, light, "score"},
		}},
		{name: "a forced tier first", steps: []step{
			{"1", standard, forceHeavy, heavy, "forced"},
			{"2", light, nil, light, "score"},
		}},
		{name: "a process that isn't scored neither uses nor moves", steps: []step{
			{"1", standard, nil, standard, "score"},
			{"work", heavy, worker, heavy, "process"},
			{"2", standard, nil, standard, "score"},
			{"work", light, worker, light, "process"},
			{"3", light, nil, standard, "held"},
			{"4", light, nil, light, "score"},
		}},
		{name: "a named model doesn't hide what the turn asks for", steps: []step{
			{"1", heavy, func(r *Request) { r.Model = "gpt-x" }, heavy, "named"},
			{"2", light, nil, heavy, "held"},
		}},
		{name: "a task's model doesn't hide what the turn asks for", steps: []step{
			{"1", heavy, func(r *Request) { r.TaskType = "coding" }, heavy, "task"},
			{"2", light, nil, heavy, "held"},
		}},
		{name: "another profile is the same conversation", steps: []step{
			{"1", heavy, func(r *Request) { r.Profile = "eco" }, heavy, "score"},
			{"2", light, func(r *Request) { r.Model = "auto:premium" }, heavy, "held"},
		}},
		{name: "what a model lacked doesn't move the tier", steps: []step{
			{"1", light, func(r *Request) { r.Needs = vision }, light, "capability"},
			{"2", light, nil, light, "score"},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newTestRouter(t, func(c *Config) {
				if tt.downAfter > 0 {
					c.Session.DownAfter = tt.downAfter
				}
			})
			for i, s := range tt.steps {
				req := request("auto", s.asked)
				req.Turn = s.turn
				if s.change != nil {
					s.change(&req)
				}
				d := decide(t, r, req)
				if d.Tier != s.tier || d.Reason != s.reason {
					t.Fatalf("step %d (turn %q): %v, %s, want %v, %s", i, s.turn, d.Tier, d.Reason, s.tier, s.reason)
				}
			}
		})
	}
}

// Alternating easy and hard turns must not throw the prompt cache away on each.
func TestSessionSwitchesOnce(t *testing.T) {
	var switches []string
	r := newTestRouter(t, func(c *Config) {
		c.ObserveSwitch = func(direction, reason string) { switches = append(switches, direction+" "+reason) }
	})
	for i := range 12 {
		req := request("auto", light)
		if i%2 == 1 {
			req.Score.Tier = heavy
		}
		req.Turn = fmt.Sprint(i)
		decide(t, r, req)
	}
	if diff := cmp.Diff([]string{"up score"}, switches); diff != "" {
		t.Errorf("switches (-want +got):\n%s", diff)
	}
}

func TestObserveSwitch(t *testing.T) {
	ask := func(turn string, tier scoring.Tier, change func(*Request)) Request {
		req := request("auto", tier)
		req.Turn = turn
		if change != nil {
			change(&req)
		}
		return req
	}
	tests := []struct {
		name     string
		requests []Request
		want     []string
	}{
		{"none on the first turn", []Request{ask("1", heavy, nil)}, nil},
		{"none while it stays", []Request{ask("1", heavy, nil), ask("2", heavy, nil), ask("3", light, nil)}, nil},
		{"up", []Request{ask("1", light, nil), ask("2", heavy, nil)}, []string{"up score"}},
		{"down", []Request{ask("1", heavy, nil), ask("2", light, nil), ask("3", light, nil)}, []string{"down score"}},
		{
			"level",
			[]Request{ask("1", standard, nil), ask("2", standard, func(r *Request) { r.TaskType = "coding" })},
			[]string{"level task"},
		},
		{
			"there for an image and back",
			[]Request{ask("1", light, nil), ask("2", light, func(r *Request) { r.Needs = vision }), ask("3", light, nil)},
			[]string{"up capability", "down score"},
		},
		{
			"to the named and back",
			[]Request{ask("1", light, nil), ask("2", heavy, func(r *Request) { r.Model = "mid" }), ask("3", heavy, nil)},
			[]string{"up named", "up score"},
		},
		{
			"not what is outside the conversation",
			[]Request{ask("1", light, nil), ask("2", heavy, side), ask("3", light, forceHeavy), ask("4", light, worker), ask("5", light, nil)},
			nil,
		},
		{
			"not between conversations",
			[]Request{ask("1", light, nil), ask("1", heavy, func(r *Request) { r.Session = "other" }), ask("2", light, nil)},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			r := newTestRouter(t, func(c *Config) {
				c.ObserveSwitch = func(direction, reason string) { got = append(got, direction+" "+reason) }
			})
			for _, req := range tt.requests {
				decide(t, r, req)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("switches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSessionsApart(t *testing.T) {
	r := newTestRouter(t, nil)
	first := request("auto", heavy)
	first.Session = "tenant a"
	decide(t, r, first)
	second := request("auto", light) // the same words of another tenant
	second.Session = "tenant b"
	if got, want := outcomeOf(decide(t, r, second)), (outcome{"small", "mid", light, "score"}); got != want {
		t.Errorf("the other conversation gets %+v, want %+v", got, want)
	}
	if n := r.Sessions(); n != 2 {
		t.Errorf("Sessions() = %d, want 2", n)
	}
}

func TestSessionIdle(t *testing.T) {
	tests := []struct {
		name  string
		pause []time.Duration // before each further turn, which asks for light
		want  string          // reason of the last one
	}{
		{"at the limit", []time.Duration{30 * time.Minute}, "held"},
		{"past the limit", []time.Duration{30*time.Minute + 1}, "score"},
		{"each request begins the wait anew", []time.Duration{20 * time.Minute, 20 * time.Minute, 20 * time.Minute}, "held"},
		{"a clock that goes back", []time.Duration{-time.Hour}, "held"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			clock := &fakeClock{now: time.Unix(1_800_000_000, 0)}
			r := newTestRouter(t, func(c *Config) { c.Clock, c.Session.DownAfter = clock.Now, 10 })
			decide(t, r, request("auto", heavy))
			var last Decision
			for i, pause := range tt.pause {
				clock.advance(pause)
				req := request("auto", light)
				req.Turn = fmt.Sprint("later ", i)
				last = decide(t, r, req)
			}
			if last.Reason != tt.want {
				t.Errorf("the last turn is %v because of %q, want %q", last.Tier, last.Reason, tt.want)
			}
			if n := r.Sessions(); n != 1 {
				t.Errorf("Sessions() = %d, want 1", n)
			}
		})
	}
}

func TestSessionsBounded(t *testing.T) {
	ask := func(r *Router, session, turn string, tier scoring.Tier) string {
		req := request("auto", tier)
		req.Session, req.Turn = session, turn
		return decide(t, r, req).Reason
	}
	r := newTestRouter(t, func(c *Config) { c.Session.Max = 3 })
	for _, session := range []string{"a", "b", "c"} {
		ask(r, session, "1", heavy)
	}
	ask(r, "a", "2", heavy) // b is now the one not used for longest
	ask(r, "d", "1", heavy)
	if n := r.Sessions(); n != 3 {
		t.Errorf("Sessions() = %d, want 3", n)
	}
	var got []string
	for _, session := range []string{"a", "c", "d", "b"} {
		got = append(got, session+" "+ask(r, session, "3", light))
	}
	if diff := cmp.Diff([]string{"a held", "c held", "d held", "b score"}, got); diff != "" {
		t.Errorf("after the fourth conversation (-want +got):\n%s", diff)
	}
	for i := range 1_000 {
		ask(r, fmt.Sprint("more ", i), "1", light)
	}
	if n := r.Sessions(); n != 3 {
		t.Errorf("Sessions() = %d after many, want 3", n)
	}
}

// Without room for any conversation each request stands alone.
func TestNoSessions(t *testing.T) {
	r := newTestRouter(t, func(c *Config) { c.Session.Max = 0 })
	decide(t, r, request("auto", heavy))
	req := request("auto", light)
	req.Turn = "2"
	if got, want := outcomeOf(decide(t, r, req)), (outcome{"small", "mid", light, "score"}); got != want {
		t.Errorf("Decide() = %+v, want %+v", got, want)
	}
	if n := r.Sessions(); n != 0 {
		t.Errorf("Sessions() = %d, want 0", n)
	}
}
