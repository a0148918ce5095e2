package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrNotFound says that a tenant has no entry of the wanted ID.
var ErrNotFound = errors.New("no such request in the ledger")

// columns are in the order of values and scan.
const columns = `id, at_us, tenant, agent, user, session, channel, process_type,
	requested_model, routed_model, answered_model, baseline_model,
	profile, tier, shape, reason, score, streamed, status, outcome,
	usage_known, input, cached, cache_write, output, reasoning,
	injected_memory, injected_scaffold, warm, retry_cost,
	cost, baseline, saved_routing, saved_memory, saved_scaffold, saved_cache, saved_retries,
	overhead_ns, first_byte_ns, total_ns, memories_used, fail_open`

const insertSQL = `INSERT INTO requests (` + columns + `) VALUES (
	?, ?, ?, ?, ?, ?, ?, ?,
	?, ?, ?, ?,
	?, ?, ?, ?, ?, ?, ?, ?,
	?, ?, ?, ?, ?, ?,
	?, ?, ?, ?,
	?, ?, ?, ?, ?, ?, ?,
	?, ?, ?, ?, ?)
	ON CONFLICT (id) DO NOTHING`

// values returns e's columns. Whatever e holds, SQLite must take it: a row
// that is refused would hold up all those behind it.
func values(e *Entry) []any {
	score := e.Score
	if math.IsNaN(score) || math.IsInf(score, 0) { // SQLite reads NaN as NULL; JSON has neither.
		score = 0
	}
	usage := e.Usage
	if !e.UsageKnown { // It would end up in the sums.
		usage = Usage{}
	}
	priced := e.Priced && e.Cost != nil && e.Baseline != nil
	amount := func(usd float64) any {
		if !priced {
			return nil
		}
		return int64(toNano(usd))
	}
	var cost, baseline float64
	if priced {
		cost, baseline = *e.Cost, *e.Baseline
	}

	return []any{
		e.ID, e.At.UnixMicro(), e.Tenant, e.Agent, e.User, e.Session, e.Channel, e.ProcessType,
		e.RequestedModel, e.RoutedModel, e.AnsweredModel, e.BaselineModel,
		e.Profile, e.Tier, e.Shape, e.Reason, score, e.Streamed, e.Status, e.Outcome,
		e.UsageKnown, usage.Input, usage.Cached, usage.CacheWrite, usage.Output, usage.Reasoning,
		e.InjectedMemoryTokens, e.InjectedScaffoldTokens, e.WarmTokens, int64(toNano(e.RetryCost)),
		amount(cost), amount(baseline), amount(e.Saved.Routing), amount(e.Saved.Memory),
		amount(e.Saved.Scaffold), amount(e.Saved.Cache), amount(e.Saved.Retries),
		int64(e.Overhead), int64(e.FirstByte), int64(e.Total), e.MemoriesUsed, e.FailOpen,
	}
}

// scan reads the columns of one row.
func scan(row interface{ Scan(...any) error }) (Entry, error) {
	var e Entry
	var at int64
	var retries nano
	var cost, baseline sql.Null[nano]
	var saved [5]sql.Null[nano]
	err := row.Scan(
		&e.ID, &at, &e.Tenant, &e.Agent, &e.User, &e.Session, &e.Channel, &e.ProcessType,
		&e.RequestedModel, &e.RoutedModel, &e.AnsweredModel, &e.BaselineModel,
		&e.Profile, &e.Tier, &e.Shape, &e.Reason, &e.Score, &e.Streamed, &e.Status, &e.Outcome,
		&e.UsageKnown, &e.Usage.Input, &e.Usage.Cached, &e.Usage.CacheWrite, &e.Usage.Output, &e.Usage.Reasoning,
		&e.InjectedMemoryTokens, &e.InjectedScaffoldTokens, &e.WarmTokens, &retries,
		&cost, &baseline, &saved[0], &saved[1], &saved[2], &saved[3], &saved[4],
		&e.Overhead, &e.FirstByte, &e.Total, &e.MemoriesUsed, &e.FailOpen,
	)
	if err != nil {
		return Entry{}, err
	}

	e.At = time.UnixMicro(at).UTC()
	e.RetryCost = retries.usd()
	if cost.Valid {
		c, b := cost.V.usd(), baseline.V.usd()
		e.Cost, e.Baseline, e.Priced = &c, &b, true
		e.Saved = Savings{
			Routing:  saved[0].V.usd(),
			Memory:   saved[1].V.usd(),
			Scaffold: saved[2].V.usd(),
			Cache:    saved[3].V.usd(),
			Retries:  saved[4].V.usd(),
		}
	}

	return e, nil
}

// Get returns the tenant's entry of that ID, or [ErrNotFound]. Entries that
// still wait to be written aren't found; Sync first where that matters.
func (l *Ledger) Get(ctx context.Context, tenant, id string) (Entry, error) {
	const query = `SELECT ` + columns + ` FROM requests WHERE id = ? AND tenant = ?`
	e, err := scan(l.db.Reader.QueryRowContext(ctx, query, id, tenant))
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, ErrNotFound
	}
	if err != nil {
		return Entry{}, fmt.Errorf("reading request %q: %w", id, err)
	}

	return e, nil
}

// Recent returns the tenant's newest entries, at most limit of them, the
// newest first. Like Get it sees what has been written.
func (l *Ledger) Recent(ctx context.Context, tenant string, limit int) (_ []Entry, err error) {
	const query = `SELECT ` + columns + ` FROM requests
		WHERE tenant = ? ORDER BY at_us DESC, rowid DESC LIMIT ?`
	rows, err := l.db.Reader.QueryContext(ctx, query, tenant, max(0, limit))
	if err != nil {
		return nil, fmt.Errorf("reading recent requests: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()

	var entries []Entry
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("reading recent requests: %w", err)
		}
		entries = append(entries, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading recent requests: %w", err)
	}

	return entries, nil
}
