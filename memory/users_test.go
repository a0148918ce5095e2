package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestUsers(t *testing.T) {
	s := openStore(t, nil)
	say(t, s, scopeOf(t, "ann"), "We decided to keep the piano.", "What is a monad?")
	add(t, s, scopeIn(t, "other", "ann"), NewItem{Content: "the door is red"})
	say(t, s, scopeOf(t, "bob"), "What is a monad?")
	add(t, s, scopeOf(t, ""), NewItem{Content: "the harbour is closed"})
	stranger, err := NewScope("another tenant", "bot", "carl")
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, stranger, NewItem{Content: "the kiosk is closed"})

	hourAgo := noon.Add(-time.Hour)
	annBot, annOther, bob := User{"ann", "bot", 1, 2, hourAgo}, User{"ann", "other", 1, 0, noon}, User{"bob", "bot", 0, 1, hourAgo}
	tests := []struct {
		name, user, agent string
		want              []User
	}{
		{"all", "", "", []User{annBot, annOther, bob}},
		{"of an agent", "", "bot", []User{annBot, bob}},
		{"one", "ann", "", []User{annBot, annOther}},
		{"another tenant's", "carl", "", []User{}},
		{"a name's beginning", "an", "", []User{}},
	}
	for _, test := range tests {
		for limit := range 4 { // 0 means many
			got, cursor := []User{}, ""
			for pages := 0; ; pages++ {
				page, err := s.Users(t.Context(), "acme", test.user, test.agent, limit, cursor)
				if err != nil || pages > 3 || limit > 0 && len(page.Items) > limit {
					t.Fatalf("%s: page %d has %d users, error %v", test.name, pages, len(page.Items), err)
				}
				got = append(got, page.Items...)
				if cursor = page.NextCursor; cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s, %d a page (-want +got):\n%s", test.name, limit, diff)
			}
		}
	}

	if _, err := s.ForgetUser(t.Context(), "acme", "ann", ""); err != nil {
		t.Fatal(err)
	}
	if page, err := s.Users(t.Context(), "acme", "ann", "", 0, ""); err != nil || len(page.Items) != 0 {
		t.Errorf("after ForgetUser there is %v, error %v", page.Items, err)
	}
	for _, bad := range []string{"!", "YW5u"} {
		if _, err := s.Users(t.Context(), "acme", "", "", 0, bad); !errors.Is(err, ErrCursor) {
			t.Errorf("Users from %q = %v, want ErrCursor", bad, err)
		}
	}
	if _, err := s.Users(t.Context(), "", "", "", 0, ""); !errors.Is(err, ErrScope) {
		t.Errorf("Users of no tenant = %v, want ErrScope", err)
	}
}
