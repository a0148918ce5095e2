package ambient

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStaleProfiles holds that a model is handed what is stale, is told what the audience may know and no more, and that
// its text is shown until it is stale again.
func TestStaleProfiles(t *testing.T) {
	s, now := testStore(t, func(c *Config) {
		c.Known = func(_ context.Context, w Whom) []Known {
			if w.User == "U1" {
				return []Known{{"fact", "Her salary is 100"}}
			}
			return nil
		}
	})
	open, private := place(t, "U1", "C1", false), place(t, "U1", "P1", true)
	says(t, s, open, "a", "Sarah", "The fix is in review.", Voice{Name: "Bo", Text: "fine"})
	says(t, s, private, "b", "Sarah", "We let Bo go.")
	stale := func() map[string]StaleProfile {
		t.Helper()
		if err := s.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := s.StaleProfiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]StaleProfile{}
		for _, p := range list {
			out[p.Name+" for "+string(p.Audience)] = p
		}
		return out
	}
	got := map[string]string{}
	for name, p := range stale() {
		got[name] = strings.Join(p.Said, "|")
		for _, k := range p.Known {
			got[name] += k.Content
		}
	}
	want := map[string]string{"Sarah for ": "The fix is in review.", "Bo for ": "fine", "Sarah for c/P1": "We let Bo go.", "Sarah for u/U1": "Her salary is 100"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stale profiles (-want +got):\n%s", diff)
	}

	for _, p := range stale() {
		if err := s.SetProfile(t.Context(), p, "By a model, for "+string(p.Audience)+"."); err != nil {
			t.Fatal(err)
		}
	}
	if left := stale(); len(left) != 0 {
		t.Errorf("right after that %v are stale", left)
	}
	lines := texts(around(t, s, place(t, "U2", "C1", false), Moment{Session: "a", Opening: true}).Participants)
	if len(lines) != 2 || lines[0] != "**Sarah** — By a model, for ." && lines[1] != "**Sarah** — By a model, for ." {
		t.Errorf("everybody is told %q", lines)
	}
	if err := s.SetProfile(t.Context(), StaleProfile{Tenant: "default", Agent: "atlas", Person: humanID("default", "slack", "U1", false)}, "Late."); err != nil {
		t.Fatal(err)
	}
	if lines := texts(around(t, s, place(t, "U2", "C1", false), Moment{Session: "a", Opening: true}).Participants); slices.Contains(lines, "**Sarah** — Late.") {
		t.Error("a text of an older profile takes the place of a newer one")
	}
	now.set(noon.Add(30 * time.Minute))
	says(t, s, open, "a", "Sarah", "And merged.")
	if left := stale(); len(left) != 0 {
		t.Errorf("after half an hour %v are stale", left)
	}
	now.set(noon.Add(61 * time.Minute))
	says(t, s, open, "a", "Sarah", "And shipped.")
	if left := stale(); len(left) != 2 || left["Sarah for "].Person == "" {
		t.Errorf("after an hour %v are stale", left)
	}
}
