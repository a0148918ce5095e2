package memory

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEntities(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"none", "we decided to go on as before", nil},
		{"empty", "", nil},
		{"one word", "I moved to Zurich.", []string{"zurich"}},
		{"several words", "Aktivan kontakt je Clipperton Finance, partner Dr. Nikolas Westphal.", []string{"aktivan", "clipperton finance", "dr", "nikolas westphal"}},
		{"abbreviations and codes", "We decided to sign the NDA for M2-2 on H200 hardware", []string{"nda", "m2-2", "h200"}},
		{"parted by a comma", "Serbia, Bosnia and Montenegro", []string{"serbia", "bosnia", "montenegro"}},
		{"possessive", "Stripe's webhook is Stripe's", []string{"stripe"}},
		{"calendar and starts", "Deadline is Friday. We meet in April. The Acme team waits.", []string{"acme"}},
		{"start of a sentence", "PostgreSQL runs the ledger", []string{"postgresql"}},
		{"quotes and brackets", `the "Bluebird" (Acme) launch`, []string{"bluebird", "acme"}},
		{"Cyrillic and Latin meet", "Dogovor sa Ђоковић i Đoković", []string{"dogovor", "djokovic"}},
		{"long name is cut in parts", "meet Anna Maria Bella Carla Donna", []string{"anna maria bella carla", "donna"}},
		{"bounded", "in Aa1 Bb2, Cc3, Dd4, Ee5, Ff6, Gg7, Hh8", []string{"aa1 bb2", "cc3", "dd4", "ee5", "ff6", "gg7"}},
		{"no name of a number", "pay 300 by 12:30", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, e := range entities(test.text) {
				got = append(got, e.name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("entities(%q) (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

func FuzzEntities(f *testing.F) {
	f.Add("Aktivan kontakt je Clipperton Finance, partner Dr. Nikolas Westphal. \xff")
	f.Add(" (A) B'S ’s Đ 9a")
	f.Fuzz(func(t *testing.T, text string) {
		got := entities(text)
		if len(got) > maxEntities {
			t.Errorf("%d entities", len(got))
		}
		for _, e := range got {
			if e.name == "" || len(e.name) > maxEntityName || !strings.HasPrefix(text[e.at:], strings.SplitN(e.label, " ", 2)[0]) {
				t.Errorf("entity %+v of %q", e, text)
			}
		}
	})
}

// edgesOf returns the edges of a scope as "new text -kind-> old text".
func edgesOf(t *testing.T, s *Store) []string {
	t.Helper()
	rows, err := s.db.Reader.Query(`SELECT a.content || ' -' || kind || '-> ' || b.content FROM edges e
		JOIN memories a ON a.n = e.source JOIN memories b ON b.n = e.target ORDER BY e.source, e.target, kind`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var text string
		if err = rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	if err = rows.Err(); err != nil {
		t.Fatal(err)
	}

	return out
}

func TestEdges(t *testing.T) {
	tests := []struct {
		name string
		said []string
		want []string
	}{
		{"nothing in common", []string{"We decided to use Go.", "We decided to use Kafka."}, []string{}},
		{
			"an entity in common",
			[]string{"We decided to use Kafka.", "Our API runs on Kafka."},
			[]string{"Our API runs on Kafka. -related_to-> We decided to use Kafka."},
		},
		{
			"a new value",
			[]string{"I live in Bern.", "I moved to Zurich."},
			[]string{"I moved to Zurich. -updates-> I live in Bern."},
		},
		{
			"a change of heart",
			[]string{"I love Chinese food.", "I hate Chinese food."},
			[]string{"I hate Chinese food. -contradicts-> I love Chinese food.", "I hate Chinese food. -related_to-> I love Chinese food."},
		},
		{
			"a reason",
			[]string{"We decided to use Redis.", "We decided to move the queue because of Redis."},
			[]string{"We decided to move the queue because of Redis. -caused_by-> We decided to use Redis."},
		},
		{
			"a part",
			[]string{"We decided to keep Atlas.", "Remember that the importer is part of Atlas."},
			[]string{"the importer is part of Atlas. -part_of-> We decided to keep Atlas."},
		},
		{
			"a result",
			[]string{"I live in Bern. Therefore we decided to meet at noon."},
			[]string{"Therefore we decided to meet at noon. -result_of-> I live in Bern."},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openStore(t, nil)
			say(t, s, scopeOf(t, "ann"), test.said...)
			if diff := cmp.Diff(test.want, edgesOf(t, s)); diff != "" {
				t.Errorf("edges (-want +got):\n%s", diff)
			}
		})
	}
}

const (
	// selectMentioning finds the memories that mention an entity of the scope,
	// the newest first.
	selectMentioning = `SELECT memory FROM mentions WHERE entity = ? ORDER BY memory DESC LIMIT ?`

	// selectNeighbours finds the other ends of a memory's edges.
	selectNeighbours = `SELECT target, kind FROM edges WHERE source = ?1 UNION ALL SELECT source, kind FROM edges WHERE target = ?1 LIMIT ?2`
)

// neighbour is the other end of an edge.
type neighbour struct {
	row  int64 // memories.n
	kind string
}

// mentioning returns the rows of the scope's own memories that mention an
// entity by its folded name, the newest first, at most limit.
func (s *Store) mentioning(ctx context.Context, scope Scope, name string, limit int) ([]int64, error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectMentioning, scope.entityID(name), limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []int64
	for rows.Next() {
		var row int64
		if err = rows.Scan(&row); err != nil {
			return nil, err
		}
		out = append(out, row)
	}

	return out, rows.Err()
}

// neighbours returns what edges lead to from a memory, in both directions, at
// most limit. All are of its scope.
func (s *Store) neighbours(ctx context.Context, row int64, limit int) ([]neighbour, error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectNeighbours, row, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []neighbour
	for rows.Next() {
		var n neighbour
		if err = rows.Scan(&n.row, &n.kind); err != nil {
			return nil, err
		}
		out = append(out, n)
	}

	return out, rows.Err()
}

// TestGraphReads finds memories by an entity, and what edges lead to, inside
// one scope.
func TestGraphReads(t *testing.T) {
	s := openStore(t, nil)
	ann, ben := scopeOf(t, "ann"), scopeOf(t, "ben")
	say(t, s, ann, "We decided to use Kafka.", "Our API runs on Kafka.")
	say(t, s, ben, "We decided to leave Kafka.")

	rows, err := s.mentioning(t.Context(), ann, "kafka", 10)
	if err != nil || len(rows) != 2 || rows[0] < rows[1] {
		t.Fatalf("mentioning Kafka: %v, %v, want Ann's two, the newest first", rows, err)
	}
	got, err := s.neighbours(t.Context(), rows[1], 10)
	if diff := cmp.Diff([]neighbour{{rows[0], edgeRelated}}, got, cmp.AllowUnexported(neighbour{})); err != nil || diff != "" {
		t.Errorf("neighbours (-want +got):\n%s%v", diff, err)
	}
	if rows, err = s.mentioning(t.Context(), scopeOf(t, ""), "kafka", 10); err != nil || len(rows) != 0 {
		t.Errorf("the workspace's mentions: %v, %v, want none", rows, err)
	}
}

// count returns the number of rows of a table.
func count(t *testing.T, s *Store, table string) (n int) {
	t.Helper()
	if err := s.db.Reader.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
		t.Fatal(err)
	}

	return n
}

// TestGraphGrowsLinearly has every memory mention the same names.
func TestGraphGrowsLinearly(t *testing.T) {
	const n = 300
	s := openStore(t, nil)
	var items []NewItem
	for i := range n {
		items = append(items, NewItem{Content: fmt.Sprintf("the team of Acme, Bolt, Crane, Delta, Ember, Frost, Grove and Heath met %d times", i)})
	}
	addAll(t, s, scopeOf(t, "ann"), items...)
	if got := count(t, s, "entities"); got != maxEntities {
		t.Errorf("%d entities, want %d", got, maxEntities)
	}
	if got := count(t, s, "mentions"); got != n*maxEntities {
		t.Errorf("%d mentions, want %d", got, n*maxEntities)
	}
	if got, most := count(t, s, "edges"), n*maxEntities*perEntity; got < n-1 || got > most {
		t.Errorf("%d edges, want at least %d and at most %d", got, n-1, most)
	}
}

// TestForgettingEmptiesTheGraph leaves no name behind.
func TestForgettingEmptiesTheGraph(t *testing.T) {
	s := openStore(t, nil)
	ann := scopeOf(t, "ann")
	say(t, s, ann, "We decided to use Kafka.", "Our API runs on Kafka in Oslo.")
	for _, item := range list(t, s, ann, Filter{Text: "oslo"}) {
		if _, err := s.Forget(t.Context(), ann, item.ID); err != nil {
			t.Fatal(err)
		}
	}
	if e, m, d := count(t, s, "entities"), count(t, s, "mentions"), count(t, s, "edges"); e != 1 || m != 1 || d != 0 {
		t.Errorf("after one: %d entities, %d mentions, %d edges, want 1, 1, 0", e, m, d)
	}
	if _, err := s.ForgetUser(t.Context(), "acme", "ann", ""); err != nil {
		t.Fatal(err)
	}
	if e, m := count(t, s, "entities"), count(t, s, "mentions"); e+m != 0 {
		t.Errorf("after all: %d entities, %d mentions, want none", e, m)
	}
}
