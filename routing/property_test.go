package routing

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/chat"
	"github.com/understudy-ai/understudy/scoring"
)

// randomRequest is some request of one of three conversations. Its turn is
// sometimes that of an earlier one.
func randomRequest(rnd *rand.Rand, n int) Request {
	pick := func(of ...string) string { return of[rnd.IntN(len(of))] }
	seldom := func() bool { return rnd.IntN(8) == 0 }
	return Request{
		Session: pick("a", "b", "c"), Turn: fmt.Sprint(n - rnd.IntN(2)), Agent: pick("default", "thrifty"),
		Model:   pick("auto", "auto", "auto:premium", "auto:strange", "", "small", "mid", "large", "unpriced", "gpt-x"),
		Profile: pick("", "", "", "eco", "premium"), ProcessType: pick("channel", "channel", "branch", "worker", "cortex"),
		TaskType: pick("", "", "", "coding"), Forced: seldom(), ForcedTier: light + scoring.Tier(rnd.IntN(3)),
		Score: scoring.Score{Tier: light + scoring.Tier(rnd.IntN(3))}, Terse: seldom(), SideCall: seldom(),
		Needs:       chat.Needs{Tools: seldom(), Vision: seldom(), JSONSchema: seldom(), Audio: rnd.IntN(40) == 0},
		InputTokens: rnd.IntN(40_000), MaxOutput: rnd.IntN(4) * 1_000,
	}
}

// forSequences calls f with many random sequences of requests.
func forSequences(f func(seed uint64, requests []Request)) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		requests := make([]Request, 60)
		for i := range requests {
			requests[i] = randomRequest(rnd, i)
		}
		f(seed, requests)
	}
}

// No turn gets less than what it asked for itself, unless its model was named
// or something was chosen for it, or a model lacked something.
func TestNeverBelowTheTurn(t *testing.T) {
	forSequences(func(seed uint64, requests []Request) {
		r := newTestRouter(t, func(c *Config) { c.Explicit = []Explicit{ExplicitCheaper, ExplicitRoute, ExplicitRespect}[seed%3] })
		served := map[string]map[*Model]bool{} // by session and turn, for those that the turn keeps
		for i, req := range requests {
			d, err := r.Decide(req)
			if err != nil {
				continue // none is capable: tested elsewhere
			}
			turn := served[req.Session+req.Turn]
			if turn == nil {
				turn = map[*Model]bool{}
				served[req.Session+req.Turn] = turn
			}
			asked := req.Score.Tier
			if req.Forced {
				asked = req.ForcedTier
				if d.Tier != asked {
					t.Fatalf("seed %d, request %d: forced %v, got %v: %+v", seed, i, asked, d.Tier, req)
				}
			}
			inherits := d.Reason == reasonTerse || d.Reason == reasonTurn
			switch d.Reason {
			case reasonScore, reasonHeld, reasonStay, reasonCheaper, reasonForced, reasonTurn, reasonTerse:
				want, _ := r.cfg.Catalogue.Find(r.cfg.Profiles[d.Profile].Model(d.Tier))
				if d.Reason == reasonTurn && turn[d.Model] {
					want = d.Model
				}
				if d.Model != want || d.Tier < asked && !inherits {
					t.Fatalf("seed %d, request %d: asked %v, got %v and %s: %+v", seed, i, asked, d.Tier, nameOf(d.Model), req)
				}
			case reasonNamed:
				if named, _ := r.cfg.Catalogue.Find(req.Model); d.Model != named || req.Model == "" {
					t.Fatalf("seed %d, request %d: named %q, got %q", seed, i, req.Model, nameOf(d.Model))
				}
			case reasonTask, reasonProcess, reasonCapability:
			default:
				t.Fatalf("seed %d, request %d: reason %q", seed, i, d.Reason)
			}
			turn[d.Model] = true
		}
	})
}

// Whatever is chosen by us can serve the request, and is the one candidate that
// didn't fall.
func TestChoiceIsCapable(t *testing.T) {
	forSequences(func(seed uint64, requests []Request) {
		r := newTestRouter(t, nil)
		for i, req := range requests {
			d, err := r.Decide(req)
			if err != nil || d.Reason == reasonNamed {
				continue
			}
			if lacks := d.Model.lacks(&req); lacks != "" {
				t.Fatalf("seed %d, request %d: %s has %s: %+v", seed, i, d.Model.Name, lacks, req)
			}
			for j, c := range d.Candidates {
				if chosen := j == len(d.Candidates)-1; (c.Fell == "") != chosen || chosen != (c.Model == d.Model.Name) {
					t.Fatalf("seed %d, request %d: chose %s of %+v", seed, i, d.Model.Name, d.Candidates)
				}
			}
		}
	})
}

// Forced tiers, side calls and processes that aren't scored leave no trace: a
// router that never saw them decides all else alike.
func TestOutsidersLeaveNoTrace(t *testing.T) {
	forSequences(func(seed uint64, requests []Request) {
		var switches, twinSwitches []string
		r := newTestRouter(t, func(c *Config) {
			c.ObserveSwitch = func(direction, reason string) { switches = append(switches, direction+reason) }
		})
		twin := newTestRouter(t, func(c *Config) {
			c.ObserveSwitch = func(direction, reason string) { twinSwitches = append(twinSwitches, direction+reason) }
		})
		for i, req := range requests {
			d, err := r.Decide(req)
			if req.Forced || req.SideCall || req.ProcessType == "worker" || req.ProcessType == "cortex" {
				continue
			}
			twinD, twinErr := twin.Decide(req)
			if diff := cmp.Diff(outcomeOf(twinD), outcomeOf(d)); diff != "" || (err == nil) != (twinErr == nil) {
				t.Fatalf("seed %d, request %d (-without +with): %s %v, %v", seed, i, diff, twinErr, err)
			}
		}
		if diff := cmp.Diff(twinSwitches, switches); diff != "" || r.Sessions() != twin.Sessions() {
			t.Fatalf("seed %d: switches (-without +with): %s", seed, diff)
		}
	})
}

func TestDecideConcurrently(t *testing.T) {
	const workers, each, room = 16, 500, 5
	var mu sync.Mutex
	switches := 0
	r := newTestRouter(t, func(c *Config) {
		c.Session.Max = room
		c.ObserveSwitch = func(string, string) {
			mu.Lock()
			defer mu.Unlock()
			switches++
		}
	})
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 0))
			for i := range each {
				req := request("auto", light+scoring.Tier(rnd.IntN(3)))
				req.Session, req.Turn = fmt.Sprint(rnd.IntN(2*room)), fmt.Sprint(w, "/", i)
				d, err := r.Decide(req)
				if err != nil || d.Tier < req.Score.Tier {
					t.Errorf("asked %v, got %+v, %v", req.Score.Tier, d, err)
				}
				if n := r.Sessions(); n > room {
					t.Errorf("Sessions() = %d, want at most %d", n, room)
				}
			}
		})
	}
	wg.Wait()
	if switches == 0 || switches > workers*each {
		t.Errorf("%d switches in %d requests", switches, workers*each)
	}
}
