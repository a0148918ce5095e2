package memory

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestIsolation runs random operations of users whose names resemble each
// other. Every memory carries the label of the scope that made it, and no
// scope may ever see a label that isn't its own or its workspace's.
func TestIsolation(t *testing.T) {
	s := openStore(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	var scopes []Scope
	for _, tenant := range []string{"t", "t2"} {
		for _, agent := range []string{"a", "a/u1"} {
			for _, user := range []string{"", "u1", "u10", "U1", "u1 "} {
				scope, err := NewScope(tenant, agent, user)
				if err != nil {
					t.Fatal(err)
				}
				scopes = append(scopes, scope)
			}
		}
	}
	label := func(s Scope) string { return fmt.Sprintf("[%s|%s|%s]", s.tenant, s.agent, s.user) }
	sees := func(s Scope, content string) bool {
		return strings.Contains(content, label(s)) || strings.Contains(content, label(Scope{s.tenant, s.agent, ""}))
	}

	type made struct{ id, content string }
	var all []made
	seen := 0
	for step := range 400 {
		scope := scopes[random.IntN(len(scopes))]
		text := fmt.Sprintf("locker %d of %s", random.IntN(20), label(scope))
		var items []Item
		switch op := random.IntN(10); {
		case op < 3:
			s.Learn(Exchange{Scope: scope, UserText: "Remember that " + text})
		case op < 5:
			typ := Fact
			if op == 4 && scope.user != "" {
				typ = Preference
			}
			all = append(all, made{add(t, s, scope, NewItem{Type: typ, Content: text}).ID, text})
		case op < 8:
			got := recall(t, s, scope, text)
			items = append(got.Items, got.Pinned...)
		case op < 9:
			items = list(t, s, scope, Filter{Text: "locker", Limit: 500})
		case len(all) > 0 && step%10 != 0:
			m := all[random.IntN(len(all))]
			if err := s.Forget(t.Context(), scope, m.id); err != nil && !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			} else if err == nil && !sees(scope, m.content) {
				t.Errorf("%s forgot %q", label(scope), m.content)
			}
		case scope.user != "":
			if _, err := s.ForgetUser(t.Context(), scope.tenant, scope.user, scope.agent); err != nil {
				t.Fatal(err)
			}
			for _, item := range list(t, s, scope, Filter{Limit: 500}) {
				if item.User != "" {
					t.Errorf("%s still has %q", label(scope), item.Content)
				}
			}
		}
		for _, item := range items {
			if seen++; !sees(scope, item.Content) {
				t.Errorf("%s sees %q", label(scope), item.Content)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d memories were seen: the test tests nothing", seen)
	}
}
