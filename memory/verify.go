package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Report is what [Store.Verify] found.
type Report struct {
	Memories int `json:"memories"` // history and quarantine included
	Scopes   int `json:"scopes"`
	Turns    int `json:"turns"`

	// Vectors are of the models that memory.embedder has had. Of more than one
	// kind, all but one are what the background has yet to make anew.
	Vectors []Vectors `json:"vectors,omitempty"`

	// Problems is empty when all is well. A problem that many rows share is
	// named for the first of them.
	Problems []string `json:"problems"`
}

// Vectors counts the memories that have a vector of a model and length.
type Vectors struct {
	Model     string `json:"model"`
	Dimension int    `json:"dimension"`
	Memories  int    `json:"memories"`
}

// Verify reads the whole file and holds its parts against each other: pages and
// references, each memory against the words by which it is found, each slot
// against its one current value, the graph against the scopes, and the indexes
// in RAM against the file. Writes wait meanwhile. The error is that of ctx, or
// of a file that can't be read at all.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	report, err := s.verify(ctx)
	if err != nil {
		return report, fmt.Errorf("verifying memory: %w", err)
	}

	return report, nil
}

func (s *Store) verify(ctx context.Context) (report Report, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return report, ctx.Err()
	}
	defer func() { <-s.turn }()

	if report.Problems, err = s.db.Integrity(ctx); err != nil {
		return report, err
	}
	if report.Problems == nil {
		report.Problems = []string{}
	}
	counts := `SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM turns)`
	if err = s.db.Reader.QueryRowContext(ctx, counts).Scan(&report.Memories, &report.Turns); err != nil {
		return report, err
	}
	for _, check := range []func(context.Context, *Report) error{s.verifyText, s.verifyRules, s.verifyVectors, s.verifyIndexes} {
		if err = check(ctx, &report); err != nil {
			return report, err
		}
	}

	return report, nil
}

func (r *Report) problem(format string, args ...any) {
	r.Problems = append(r.Problems, fmt.Sprintf(format, args...))
}

const selectTexts = `SELECT coalesce(m.n, 0), coalesce(f.rowid, 0), coalesce(m.tenant, ''), coalesce(m.agent, ''), coalesce(m.user, ''),
	coalesce(m.content, ''), coalesce(m.status = 'active' AND m.valid_to IS NULL, 0), coalesce(f.scope, ''), coalesce(f.text, '')
	FROM memories m FULL JOIN memories_fts f ON f.rowid = m.n`

// verifyText holds each memory against its search text.
func (s *Store) verifyText(ctx context.Context, report *Report) (err error) {
	// FTS5's own check: its index against the text that it keeps.
	if _, err = s.db.Writer.ExecContext(ctx, `INSERT INTO memories_fts (memories_fts, rank) VALUES ('integrity-check', 1)`); err != nil {
		if ctx.Err() != nil {
			return err
		}
		report.problem("search text: %v", err)
	}
	rows, err := s.db.Reader.QueryContext(ctx, selectTexts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	bad := map[string]int64{} // what is wrong, and the first row where it is
	for rows.Next() {
		var n, row int64
		var scope Scope
		var content, search, text string
		var current bool
		if err = rows.Scan(&n, &row, &scope.tenant, &scope.agent, &scope.user, &content, &current, &search, &text); err != nil {
			return err
		}
		want := scope.historyKey()
		if current {
			want = scope.key()
		}
		kind := ""
		switch {
		case n == 0:
			kind = "search text without a memory"
		case row == 0:
			kind = "memory without search text"
		case search != want:
			kind = "memory searched in the wrong place"
		case text != strings.Join(tokens(content), " "):
			kind = "memory with search text that is not its own"
		}
		if kind != "" && bad[kind] == 0 {
			bad[kind] = max(n, row)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(bad)) {
		report.problem("%s, first in row %d", kind, bad[kind])
	}

	return rows.Err()
}

// rulesOfRows are what must hold between rows; each finds the first that
// doesn't.
var rulesOfRows = []struct{ problem, query string }{
	{"two current values in one slot, one of them row", `SELECT max(n) FROM memories WHERE value <> '' AND valid_to IS NULL AND status = 'active'
		GROUP BY tenant, agent, user, subject, attribute HAVING count(*) > 1 LIMIT 1`},
	{"a memory twice, once in row", `SELECT max(n) FROM memories WHERE valid_to IS NULL GROUP BY hash HAVING count(*) > 1 LIMIT 1`},
	{"an edge out of its scope, from row", `SELECT e.source FROM edges e JOIN memories a ON a.n = e.source JOIN memories b ON b.n = e.target
		WHERE a.tenant <> b.tenant OR a.agent <> b.agent OR a.user <> b.user LIMIT 1`},
	{"a mention out of its scope, in row", `SELECT m.n FROM mentions x JOIN memories m ON m.n = x.memory JOIN entities e ON e.id = x.entity
		WHERE m.tenant <> e.tenant OR m.agent <> e.agent OR m.user <> e.user LIMIT 1`},
	{"a vector that isn't as long as it says, of row", `SELECT memory FROM vectors WHERE length(vector) <> dim LIMIT 1`},
	{"a source out of its scope, of row", `SELECT m.n FROM sources x JOIN memories m ON m.n = x.memory JOIN exchanges e ON e.n = x.exchange
		WHERE m.tenant <> e.tenant OR m.agent <> e.agent OR m.user <> e.user LIMIT 1`},
}

func (s *Store) verifyRules(ctx context.Context, report *Report) error {
	for _, rule := range rulesOfRows {
		var n int64
		err := s.db.Reader.QueryRowContext(ctx, rule.query).Scan(&n)
		if err == nil {
			report.problem("%s %d", rule.problem, n)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}

	return nil
}

const selectVectorKinds = `SELECT model, dim, count(*) FROM vectors GROUP BY 1, 2 ORDER BY 1, 2`

// verifyVectors counts the vectors by model and dimension.
func (s *Store) verifyVectors(ctx context.Context, report *Report) (err error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectVectorKinds)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v Vectors
		if err = rows.Scan(&v.Model, &v.Dimension, &v.Memories); err != nil {
			return err
		}
		report.Vectors = append(report.Vectors, v)
	}

	return rows.Err()
}

// verifyIndexes holds the tables in RAM against fresh ones.
func (s *Store) verifyIndexes(ctx context.Context, report *Report) error {
	scopes, err := s.scopes(ctx)
	if err != nil {
		return err
	}
	report.Scopes = len(scopes)
	for _, scope := range scopes {
		s.index.mu.RLock()
		have := s.index.find(scope)
		s.index.mu.RUnlock()
		if have == nil {
			continue
		}
		want := newTable(scope, s.index.embed)
		if err = s.index.read(ctx, want); err != nil {
			return err
		}
		if have.contents() != want.contents() {
			report.problem("an index in RAM has other memories than the file: %d, not %d", len(have.rows), len(want.rows))
		}
	}

	return nil
}

const selectScopes = `SELECT DISTINCT tenant, agent, user FROM memories`

// scopes returns those that have memories.
func (s *Store) scopes(ctx context.Context) (list []Scope, err error) {
	rows, err := s.db.Reader.QueryContext(ctx, selectScopes)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var scope Scope
		if err = rows.Scan(&scope.tenant, &scope.agent, &scope.user); err != nil {
			return nil, err
		}
		list = append(list, scope)
	}

	return list, rows.Err()
}

// contents is all that a table says, in one text that doesn't depend on the
// order in which it came.
func (t *table) contents() string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var b strings.Builder
	fmt.Fprintln(&b, t.huge, t.length)
	for _, row := range slices.Sorted(maps.Keys(t.rows)) {
		item := t.records[t.rows[row]].item
		fmt.Fprintf(&b, "%d %+v\n", row, item)
	}
	for _, place := range t.pinned {
		fmt.Fprintln(&b, "pinned", t.entries[place].row)
	}
	for _, word := range slices.Sorted(maps.Keys(t.terms)) {
		list := slices.Clone(t.terms[word])
		slices.SortFunc(list, func(a, b posting) int { return int(t.entries[a.place].row - t.entries[b.place].row) })
		fmt.Fprint(&b, word)
		for _, p := range list {
			fmt.Fprint(&b, " ", t.entries[p.place].row, p.times, p.length)
		}
		fmt.Fprintln(&b)
	}

	return b.String()
}
