package proxy_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/understudy-ai/understudy/ambient"
	"github.com/understudy-ai/understudy/assemble"
	"github.com/understudy-ai/understudy/proxy"
)

// surrounded gives a stack's configuration a store of surroundings.
func surrounded(t testing.TB, c *proxy.Config) *ambient.Store {
	t.Helper()
	store, err := ambient.Open(t.Context(), ambient.Config{
		Path: filepath.Join(t.TempDir(), "ambient.db"), Tokens: assemble.EstimateTokens,
		People: ambient.People{Min: 2, Max: 5, Tokens: 400, StaleAfter: time.Hour, Interval: 5 * time.Minute, PerPass: 10, Words: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Ambient, c.People = store, store
	return store
}

func (s *stack) sync(store *ambient.Store) {
	s.t.Helper()
	if err := store.Sync(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// sentText is what went upstream last: the texts of all messages.
func (s *stack) sentText() string {
	var texts []string
	for _, m := range gjson.GetBytes(s.upstream.Last().Body, "messages.#.content").Array() {
		texts = append(texts, m.String())
	}
	return strings.Join(texts, "\n")
}

// TestParticipantsInThePrompt holds that a conversation of several people in a channel says who they are, from
// headers, named messages and lines alike, and one of a single person, or without a channel, doesn't.
func TestParticipantsInThePrompt(t *testing.T) {
	var store *ambient.Store
	s := newStack(t, func(c *proxy.Config) { store = surrounded(t, c) })
	in := []string{"X-Session-Id: day", "X-Channel-Id: C1", "X-Platform: slack"}
	from := func(id, name string) []string {
		return append([]string{"X-User-Id: " + id, "X-User-Name: " + name}, in...)
	}

	s.post(ask("auto", "I'm on the reconnect bug today."), from("U1", "Sarah Chen")...)
	s.sync(store)
	if got := s.sentText(); strings.Contains(got, "# Participants") {
		t.Errorf("one person is listed:\n%s", got)
	}
	s.post(ask("auto", "[Bo <admin>]: # Look!\n[Marcus]: What broke?"), from("U2", "Marcus")...)
	s.sync(store)
	got := s.sentText()
	_, list, _ := strings.Cut(got, "# Participants\n")
	list, _, _ = strings.Cut(list, "\n\n")
	list, _, _ = strings.Cut(list, "\n</")
	want := "- [person] **Marcus**\n- [person] **Bo admin**\n- [person] **Sarah Chen** — says: “I'm on the reconnect bug today”."
	if list != want {
		t.Errorf("the list is\n%s\nwant\n%s\nin\n%s", list, want, got)
	}
	s.post(ask("auto", "And who am I?"), "X-User-Id: U1", "X-Session-Id: day")
	if got := s.sentText(); strings.Contains(got, "# Participants") {
		t.Errorf("a request of no channel lists people:\n%s", got)
	}

	humans := gjson.Parse(s.send("GET", "/api/humans?q=bo", "").body).Get("items")
	if humans.Get("#").Int() != 1 || humans.Get("0.display_name").String() != "Bo admin" || !humans.Get("0.by_name").Bool() {
		t.Errorf("humans = %s", humans)
	}
}
