package memory

import (
	"strings"
	"testing"
)

// TestConnected holds that the profile of that name follows edges from what was
// found, and that no other does.
func TestConnected(t *testing.T) {
	s := openStore(t, nil)
	scope, other := scopeOf(t, "ann"), scopeOf(t, "bob")
	add(t, s, scope, NewItem{Content: "The contract with Nordwind ends in May."})
	add(t, s, scope, NewItem{Content: "We moved the turbines because of Nordwind."})
	add(t, s, other, NewItem{Content: "Bob met Nordwind in Oslo."})
	add(t, s, scope, NewItem{Content: "The kiosk sells umbrellas."})

	for _, test := range []struct {
		name string
		q    Query
		want string
	}{
		{"balanced", Query{Text: "turbines"}, "We moved the turbines because of Nordwind."},
		{"connected", Query{Text: "turbines", Profile: "connected"}, "We moved the turbines because of Nordwind.|The contract with Nordwind ends in May."},
		{"no room", Query{Text: "turbines", Profile: "connected", Limit: 1}, "We moved the turbines because of Nordwind."},
		{"floor", Query{Text: "turbines", Profile: "connected", Floor: 0.5}, "We moved the turbines because of Nordwind."},
		{"nothing found", Query{Text: "monads", Profile: "connected"}, ""},
	} {
		for range 2 { // From the file, then from the index.
			got, err := s.Recall(t.Context(), scope, test.q)
			if err != nil {
				t.Fatal(err)
			}
			if list := strings.Join(contents(got.Items), "|"); list != test.want {
				t.Errorf("%s: %q, want %q", test.name, list, test.want)
			}
			if n := len(got.Items); n == 2 && (!strings.HasPrefix(got.Items[1].Why, edgeCaused) || got.Items[1].Score >= got.Items[0].Score) {
				t.Errorf("%s: %+v", test.name, got.Items[1])
			}
			s.index.await(t.Context(), scope)
		}
	}
}
