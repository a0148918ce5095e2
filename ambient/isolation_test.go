package ambient

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// secretTold is a secret that was told in some place, and by whom.
type secretTold struct {
	scope Scope
	by    string // user, "" for nobody
	gone  bool   // erased
}

// world is a store in which people tell secrets, each in words that say which one it is.
type world struct {
	t       *testing.T
	s       *Store
	now     *clock
	rand    *rand.Rand
	secrets []secretTold
}

// tell makes a secret's words.
func (w *world) tell(scope Scope, by string) string {
	w.secrets = append(w.secrets, secretTold{scope: scope, by: by})
	return fmt.Sprintf("I'm telling secret-%d-end", len(w.secrets)-1)
}

func pickOne[T any](w *world, from ...T) T { return from[w.rand.IntN(len(from))] }

// scope is any of a few places.
func (w *world) scope() Scope {
	channel, private := pickOne(w, "", "open-1", "open-2", "hidden-1", "hidden-2"), false
	if strings.HasPrefix(channel, "hidden") {
		private = true
	}
	scope, err := NewScope(pickOne(w, "t", "t1"), pickOne(w, "atlas", "echo"), pickOne(w, "u1", "u10", "u2", ""), channel, private)
	if err != nil {
		w.t.Fatal(err)
	}
	return scope
}

// step does one thing that could bring something where it doesn't belong.
func (w *world) step() {
	w.now.set(w.now.now().Add(time.Duration(w.rand.IntN(100)) * 5 * time.Second))
	scope := w.scope()
	session := pickOne(w, "the same for all", "another", scope.channel)
	var err error
	switch w.rand.IntN(14) {
	default:
		name := "Name " + scope.user
		others := []Voice{{Name: pickOne(w, "Name u1", "Name u2", "Bo"), Text: w.tell(scope, "?")}}
		says(w.t, w.s, scope, session, strings.TrimSpace(name), w.tell(scope, scope.user), others[:w.rand.IntN(2)]...)
	case 0:
		_, err = w.s.Record(w.t.Context(), []Posted{{scope, Event{Type: pickOne(w, Decision, Outcome, System), Summary: w.tell(scope, scope.user)}}})
	case 1:
		if scope.channel != "" {
			_, err = w.s.Backfill(w.t.Context(), scope, []Uttered{{Name: "Name u2", Content: w.tell(scope, "?")}})
		}
	case 2:
		err = w.modelWrites()
	case 3:
		err = w.relink(scope.tenant)
	case 4:
		if w.rand.IntN(4) == 0 && scope.user != "" {
			err = w.erase(scope)
		}
	case 5:
		w.s.rooms.drop(func(roomKey, *room) bool { return true })
		w.s.streets.drop(func(agentKey, *street) bool { return true })
		w.s.feeds.drop(func(hall, *feed) bool { return true })
	case 6:
		w.s.Hear(scope, Heard{
			Session: session, Process: pickOne(w, "worker", "branch"), Words: w.tell(scope, scope.user), NewTurn: true, Final: w.rand.IntN(2) == 0,
			Answer: w.tell(scope, scope.user), Failed: pickOne(w, "", "", "timeout"), At: w.now.now(),
		})
	case 7:
		w.s.HearLearned(scope, Learned{Type: pickOne(w, "decision", "todo"), Content: w.tell(scope, scope.user), Was: pickOne(w, "", w.tell(scope, scope.user)), At: w.now.now()})
	case 8:
		w.now.set(w.now.now().Add(time.Duration(w.rand.IntN(10)) * time.Hour))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// modelWrites has a model quote all that it is handed.
func (w *world) modelWrites() error {
	if err := w.s.Sync(w.t.Context()); err != nil {
		return err
	}
	stale, err := w.s.StaleProfiles(w.t.Context())
	for _, p := range stale {
		text := strings.Join(p.Said, " ")
		for _, k := range p.Known {
			text += " " + k.Content
		}
		if err == nil {
			err = w.s.SetProfile(w.t.Context(), p, text)
		}
	}
	if err != nil {
		return err
	}
	due, err := w.s.DueDigests(w.t.Context(), 10)
	for _, d := range due {
		if err == nil {
			_, err = w.s.SetDigest(w.t.Context(), d, strings.Join(d.Told, " "))
		}
	}
	return err
}

func (w *world) relink(tenant string) error {
	page, err := w.s.Humans(w.t.Context(), tenant, "", 0, "")
	if err != nil || len(page.Items) < 2 {
		return err
	}
	a, b := pickOne(w, page.Items...), pickOne(w, page.Items...)
	if _, err := w.s.Link(w.t.Context(), tenant, a.ID, b.ID); err != nil { // the same person
		_, _ = w.s.Unlink(w.t.Context(), tenant, a.ID) // or not linked at all
	}
	return nil
}

func (w *world) erase(scope Scope) error {
	for i := range w.secrets {
		told := &w.secrets[i]
		if told.scope.tenant == scope.tenant && told.by == scope.user {
			told.gone = true
		}
	}
	_, err := w.s.EraseUser(w.t.Context(), scope.tenant, scope.user, "")
	w.now.set(w.now.now().Add(time.Minute)) // a request that had begun before is heard no more
	return err
}

var secretWords = regexp.MustCompile(`secret-(\d+)-end`)

// look asks for the surroundings of a request, and holds that they have no secret that its scope may not know. It
// returns how many they have.
func (w *world) look() int {
	scope := w.scope()
	v := around(w.t, w.s, scope, Moment{
		Session: pickOne(w, "the same for all", "another", scope.channel), Opening: w.rand.IntN(2) == 0, New: w.rand.IntN(2) == 0, Mode: "ambient", Process: "channel",
		Platform: "slack", Voices: []Voice{{Name: "Name " + scope.user, User: true}},
	})
	text := strings.Join(slices.Concat(lines(v.Knowledge), lines(v.Working), lines(v.Channels), lines(v.Participants), lines(v.Briefing), lines(v.Conversation), lines(v.Status)), "\n")
	events, err := w.s.Recent(w.t.Context(), scope, time.Time{}, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		text += "\n" + e.Summary
	}
	found := secretWords.FindAllStringSubmatch(text, -1)
	for _, match := range found {
		n, err := strconv.Atoi(match[1])
		if err != nil {
			w.t.Fatal(err)
		}
		told := w.secrets[n]
		if told.gone || told.scope.tenant != scope.tenant || told.scope.agent != scope.agent || !slices.Contains(scope.mayRead(), told.scope.Audience()) {
			w.t.Fatalf("%+v is told what was said in %+v (erased: %v):\n%s", scope, told.scope, told.gone, text)
		}
	}
	return len(found)
}

// TestNothingIsOverheard holds, over random operations, that no request is told what was said where it may not listen.
func TestNothingIsOverheard(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &world{t: t, rand: rand.New(rand.NewPCG(seed, 1))}
			memories := map[Scope]string{}
			w.s, w.now = testStore(t, func(c *Config) {
				c.People.Interval = time.Minute
				c.Known = func(_ context.Context, whom Whom) []Known {
					return []Known{{"fact", memories[Scope{tenant: whom.Tenant, agent: whom.Agent, user: whom.User}]}}
				}
			})
			for _, tenant := range []string{"t", "t1"} {
				for _, agent := range []string{"atlas", "echo"} {
					for _, user := range []string{"", "u1", "u10", "u2"} {
						scope := Scope{tenant: tenant, agent: agent, user: user}
						memories[scope] = w.tell(scope, "memory")
					}
				}
			}
			seen := 0
			for range 250 {
				w.step()
				seen += w.look()
			}
			if seen < 300 {
				t.Errorf("only %d secrets were told: the test tests nothing", seen)
			}
		})
	}
}
