package memory

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/understudy-ai/understudy/internal/sqlite"
)

// TestLateStatements has statements arrive in another order than they were
// made: what was said last is current, and the history is in order.
func TestLateStatements(t *testing.T) {
	const bern, zurich, basel = "I live in Bern.", "I live in Zurich.", "I live in Basel."
	type said struct {
		hour int
		text string
	}
	tests := []struct {
		name string
		said []said
		want []string // by arrival, the last first
	}{
		{
			"older value",
			[]said{{3, zurich}, {1, bern}},
			[]string{"active I live in Bern. hits=1 until 15:00:00", "active I live in Zurich. hits=1"},
		},
		{
			"between two",
			[]said{{1, bern}, {5, basel}, {3, zurich}},
			[]string{"active I live in Zurich. hits=1 until 17:00:00", "active I live in Basel. hits=1", "active I live in Bern. hits=1 until 15:00:00"},
		},
		{
			"before a history",
			[]said{{3, bern}, {5, basel}, {1, zurich}},
			[]string{"active I live in Zurich. hits=1 until 15:00:00", "active I live in Basel. hits=1", "active I live in Bern. hits=1 until 17:00:00"},
		},
		{
			"the history again",
			[]said{{1, bern}, {5, basel}, {3, bern}},
			[]string{"active I live in Basel. hits=1", "active I live in Bern. hits=2 until 17:00:00"},
		},
		{
			"before the current value was stated again",
			[]said{{1, bern}, {5, bern}, {3, zurich}},
			[]string{"active I live in Zurich. hits=1 until 17:00:00", "active I live in Bern. hits=2"},
		},
		{
			"older value, same words as now",
			[]said{{3, bern}, {1, bern}, {2, zurich}},
			[]string{"active I live in Zurich. hits=1 until 15:00:00", "active I live in Bern. hits=2"},
		},
		{
			"at the same time the later arrival counts",
			[]said{{1, bern}, {1, zurich}},
			[]string{"active I live in Zurich. hits=1", "active I live in Bern. hits=1 until 13:00:00"},
		},
	}
	s := openStore(t, nil)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			scope := scopeIn(t, test.name, "ann")
			for _, e := range test.said {
				s.Learn(Exchange{Scope: scope, At: noon.Add(time.Duration(e.hour) * time.Hour), UserText: e.text})
				settle(t, s)
			}
			items := list(t, s, scope, Filter{})
			if diff := cmp.Diff(test.want, states(items)); diff != "" {
				t.Errorf("memories (-want +got):\n%s", diff)
			}
			ids := map[string]bool{"": true}
			for _, item := range items {
				ids[item.ID] = true
			}
			for _, item := range items {
				if !ids[item.SupersededBy] || (item.SupersededBy == "") != (item.ValidTo == nil) {
					t.Errorf("%q is superseded by %q", item.Content, item.SupersededBy)
				}
			}
			if got := recallBoth(t, s, scope, "where do I live?"); len(got.Pinned) != 1 || got.Pinned[0].ValidTo != nil {
				t.Errorf("pinned %v", contents(got.Pinned))
			}
		})
	}
}

// TestOpenFirstSchema opens a file as the first build left it.
func TestOpenFirstSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	first, err := embedded.ReadFile("migrations/0001_init.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, fstest.MapFS{"0001_init.sql": {Data: first}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Writer.Exec(`INSERT INTO memories (id, external_id, tenant, agent, user, type, content, subject, attribute, value,
		importance, source, status, hash, created_at, valid_from) VALUES ('i', '', 'acme', 'bot', 'ann', 'identity', 'I live in Bern.',
		'user', 'location', 'bern', 1, 'user_stated', 'active', x'00', ?1, ?1)`, noon.UnixMilli())
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}

	s := openStore(t, func(cfg *Config) { cfg.Path = path })
	say(t, s, scopeOf(t, "ann"), "I live in Zurich.") // An hour before.
	if got := recall(t, s, scopeOf(t, "ann"), "").Pinned; len(got) != 1 || got[0].Content != "I live in Bern." {
		t.Errorf("pinned %v", contents(got))
	}
}
