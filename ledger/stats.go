package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrGroupBy says that a query groups by what there is no grouping by.
var ErrGroupBy = errors.New("want agent, model, tier, profile, channel or day")

// StatsQuery selects entries. A zero Since, Until or Agent selects all.
type StatsQuery struct {
	Tenant       string    // Always its own entries alone.
	Since, Until time.Time // Since ≤ Entry.At < Until.
	Agent        string

	// GroupBy is agent, model (the routed one), tier, profile, channel, day
	// (UTC), or empty for no groups.
	GroupBy string
}

// Stats is the sum over the selected entries, and over each group of them,
// sorted by key.
type Stats struct {
	Total  Totals  `json:"total"`
	Groups []Group `json:"groups"`
}

// Group is the sum over the entries with one value of the grouping.
type Group struct {
	Key string `json:"key"`
	Totals
}

// Totals is a sum over entries. Amounts are USD over those that are priced;
// Unpriced counts the others. BaselineUSD − CostUSD is Saved.Total().
type Totals struct {
	Requests    int64   `json:"requests"`
	CostUSD     float64 `json:"cost_usd"`
	BaselineUSD float64 `json:"baseline_usd"`
	Saved       Savings `json:"saved"`
	Unpriced    int64   `json:"unpriced"`
	Tokens      Tokens  `json:"tokens"`
}

// Tokens are those of a [Usage], and of them what we injected.
type Tokens struct {
	Usage
	InjectedMemory   int64 `json:"injected_memory"`
	InjectedScaffold int64 `json:"injected_scaffold"`
}

// sums is Totals in the file's units.
type sums struct {
	requests, unpriced                        int64
	cost, baseline                            nano
	routing, memory, scaffold, cache, retries nano
	tokens                                    Tokens
}

// Stats adds up what has been written of the selected entries; Sync first
// where the newest matter. The error wraps [ErrGroupBy] for an unknown
// grouping.
func (l *Ledger) Stats(ctx context.Context, q StatsQuery) (_ Stats, err error) {
	query, args, err := q.sql()
	if err != nil {
		return Stats{}, err
	}
	rows, err := l.db.Reader.QueryContext(ctx, query, args...)
	if err != nil {
		return Stats{}, fmt.Errorf("reading stats: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	var total sums
	stats := Stats{Groups: []Group{}}
	for rows.Next() {
		key, s, err := scanSums(rows)
		if err != nil {
			return Stats{}, fmt.Errorf("reading stats: %w", err)
		}
		total.add(s)
		if q.GroupBy != "" {
			stats.Groups = append(stats.Groups, Group{Key: key, Totals: s.totals()})
		}
	}
	if err := rows.Err(); err != nil {
		return Stats{}, fmt.Errorf("reading stats: %w", err)
	}
	stats.Total = total.totals()

	return stats, nil
}

// sql returns the query that groups the selected entries and adds them up.
func (q StatsQuery) sql() (query string, args []any, err error) {
	key, err := keyOf(q.GroupBy)
	if err != nil {
		return "", nil, err
	}
	where := "tenant = ? AND at_us >= ? AND at_us < ?"
	since, until := q.bounds()
	args = []any{q.Tenant, since, until}
	if q.Agent != "" {
		where += " AND agent = ?"
		args = append(args, q.Agent)
	}

	return `SELECT ` + key + ` AS key, count(*), count(*) - count(cost),
			coalesce(sum(cost), 0), coalesce(sum(baseline), 0),
			coalesce(sum(saved_routing), 0), coalesce(sum(saved_memory), 0), coalesce(sum(saved_scaffold), 0),
			coalesce(sum(saved_cache), 0), coalesce(sum(saved_retries), 0),
			sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning),
			sum(injected_memory), sum(injected_scaffold)
		FROM requests WHERE ` + where + ` GROUP BY key ORDER BY key`, args, nil
}

func scanSums(rows *sql.Rows) (key string, s sums, err error) {
	err = rows.Scan(&key, &s.requests, &s.unpriced, &s.cost, &s.baseline,
		&s.routing, &s.memory, &s.scaffold, &s.cache, &s.retries,
		&s.tokens.Input, &s.tokens.Cached, &s.tokens.CacheWrite, &s.tokens.Output, &s.tokens.Reasoning,
		&s.tokens.InjectedMemory, &s.tokens.InjectedScaffold)

	return key, s, err
}

// keyOf returns the SQL of a grouping's key.
func keyOf(groupBy string) (string, error) {
	switch groupBy {
	case "":
		return "''", nil
	case "agent", "tier", "profile", "channel":
		return groupBy, nil
	case "model":
		return "routed_model", nil
	case "day":
		return "date(at_us / 1000000, 'unixepoch')", nil
	default:
		return "", fmt.Errorf("grouping by %q: %w", groupBy, ErrGroupBy)
	}
}

func (q StatsQuery) bounds() (since, until int64) {
	since, until = math.MinInt64, math.MaxInt64
	if !q.Since.IsZero() {
		since = q.Since.UnixMicro()
	}
	if !q.Until.IsZero() {
		until = q.Until.UnixMicro()
	}

	return since, until
}

func (s *sums) add(o sums) {
	s.requests += o.requests
	s.unpriced += o.unpriced
	s.cost += o.cost
	s.baseline += o.baseline
	s.routing += o.routing
	s.memory += o.memory
	s.scaffold += o.scaffold
	s.cache += o.cache
	s.retries += o.retries
	s.tokens.Input += o.tokens.Input
	s.tokens.Cached += o.tokens.Cached
	s.tokens.CacheWrite += o.tokens.CacheWrite
	s.tokens.Output += o.tokens.Output
	s.tokens.Reasoning += o.tokens.Reasoning
	s.tokens.InjectedMemory += o.tokens.InjectedMemory
	s.tokens.InjectedScaffold += o.tokens.InjectedScaffold
}

func (s *sums) totals() Totals {
	return Totals{
		Requests:    s.requests,
		CostUSD:     s.cost.usd(),
		BaselineUSD: s.baseline.usd(),
		Saved: Savings{
			Routing:  s.routing.usd(),
			Memory:   s.memory.usd(),
			Scaffold: s.scaffold.usd(),
			Cache:    s.cache.usd(),
			Retries:  s.retries.usd(),
		},
		Unpriced: s.unpriced,
		Tokens:   s.tokens,
	}
}
