package memory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRecallBeyondWords holds that a memory is found by what stands around it,
// by who said it, and by what it means.
func TestRecallBeyondWords(t *testing.T) {
	tests := []struct {
		name  string
		items []NewItem
		query string
		want  string // the first
		why   string
	}{
		{"the answer stands after its question", []NewItem{
			{Session: "1", Name: "Bo", Content: "Which turbine did the harbour order?"},
			{Session: "1", Name: "Ann", Content: "The blue one, at last."},
			{Session: "2", Name: "Ann", Content: "The soup was cold."},
		}, "What did Ann say of the harbour turbine order?", "The blue one, at last.", whyNear},
		{"another session is no neighbour", []NewItem{
			{Session: "1", Name: "Bo", Content: "Which turbine did the harbour order?"},
			{Session: "2", Name: "Ann", Content: "The blue one, at last."},
		}, "What did Ann say of the harbour turbine order?", "", ""},
		{"the speaker who is asked about", []NewItem{
			{Session: "1", Name: "Bo", Content: "Ann, my turbine is painted green."},
			{Session: "1", Name: "Ann", Content: "Bo, my turbine is painted red."},
		}, "What colour is Ann's turbine painted?", "Bo, my turbine is painted red.", "shares turbin, paint"},
		{"what nobody said under a name", []NewItem{
			{Session: "1", Name: "Ann", Content: "The kiosk sells umbrellas."}, {Content: "Ann has her birthday in May."},
		}, "When is Ann's birthday?", "Ann has her birthday in May.", "shares birthday"},
		{"a name is found where nobody speaks under it", []NewItem{
			{Content: "Ann has her birthday in May."}, {Content: "Bo has a kiosk."},
		}, "When is Ann born?", "Ann has her birthday in May.", "shares ann"},
		{"the meaning", []NewItem{
			{Content: "Dr. Smith is my physician"}, {Content: "The kiosk sells umbrellas."},
		}, "Who is my doctor?", "Dr. Smith is my physician", whyMeaning},
		{"a number has no meaning", []NewItem{{Content: "kiosk7x1 turbine"}}, "turbines kiosk7x9 bakery harbour orchard", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, nil)
			scope := scopeOf(t, "ann")
			for _, item := range test.items {
				add(t, s, scope, item)
			}
			warm(t, s, scope)
			var got, why string
			if items := recall(t, s, scope, test.query).Items; len(items) > 0 {
				got, why = items[0].Content, items[0].Why
			}
			if diff := cmp.Diff([]string{test.want, test.why}, []string{got, why}); diff != "" {
				t.Errorf("%q (-want +got):\n%s", test.query, diff)
			}
		})
	}
}
