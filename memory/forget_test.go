package memory

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestForgetUserUnderWay learns, after a user was forgotten, what was said
// before: a request may be answered late.
func TestForgetUserUnderWay(t *testing.T) {
	for _, agent := range []string{"bot", ""} {
		for _, capture := range []Capture{CaptureTurns, CaptureFacts} {
			s := openStore(t, func(cfg *Config) { cfg.Capture = capture })
			ann, bob := scopeOf(t, "ann"), scopeOf(t, "bob")
			if n, err := s.ForgetUser(t.Context(), "acme", "ann", agent); n != 0 || err != nil {
				t.Fatalf("ForgetUser = %d, %v", n, err)
			}
			for _, e := range []Exchange{
				{Scope: ann, At: noon.Add(-time.Minute), UserText: "We decided to rent a cello."},
				{Scope: ann, At: noon.Add(time.Minute), UserText: "We decided to rent a harp."},
				{Scope: bob, At: noon.Add(-time.Minute), UserText: "We decided to rent a drum."},
				{Scope: scopeOf(t, ""), At: noon.Add(-time.Minute), UserText: "We decided to rent a hall."},
			} {
				s.Learn(e)
			}
			settle(t, s)
			want := []string{"We decided to rent a hall.", "We decided to rent a harp."}
			if diff := cmp.Diff(want, contents(list(t, s, ann, Filter{}))); diff != "" {
				t.Errorf("forgotten with agent %q, %s (-want +got):\n%s", agent, capture, diff)
			}
			if got := list(t, s, bob, Filter{Text: "drum"}); len(got) != 1 {
				t.Errorf("of another user there is %v", contents(got))
			}
			if page, err := s.Users(t.Context(), "acme", "ann", "", 0, ""); err != nil || len(page.Items) != 1 || page.Items[0].Memories != 1 {
				t.Errorf("held of the user: %+v, %v", page.Items, err)
			}
		}
	}
}
