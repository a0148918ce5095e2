package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
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

// Stats adds up what has been written of the selected entries; Sync first
// where the newest matter. Since and Until hold to the microsecond, as long as
// single entries are kept; beyond that to the hour, and after 35 days in any
// case to the day, of which a part counts as the whole. The error wraps [ErrGroupBy] for an
// unknown grouping.
func (r *Reader) Stats(ctx context.Context, q StatsQuery) (Stats, error) {
	if !slices.Contains([]string{"", "agent", "model", "tier", "profile", "channel", "day"}, q.GroupBy) {
		return Stats{}, fmt.Errorf("grouping by %q: %w", q.GroupBy, ErrGroupBy)
	}
	groups := make(map[string]*sums)
	if err := r.addUp(ctx, q, groups); err != nil {
		return Stats{}, fmt.Errorf("reading stats: %w", err)
	}

	return statsOf(groups, q.GroupBy != ""), nil
}

// statsOf adds up groups, and lists them where they are wanted.
func statsOf(groups map[string]*sums, list bool) Stats {
	var total sums
	stats := Stats{Groups: []Group{}}
	for key, s := range groups {
		total.add(s)
		if list {
			stats.Groups = append(stats.Groups, Group{Key: key, Totals: s.totals()})
		}
	}
	slices.SortFunc(stats.Groups, func(a, b Group) int { return cmp.Compare(a.Key, b.Key) })
	stats.Total = total.totals()

	return stats
}

// addUp adds the selected entries to the sums of their groups: whole hours
// from roll-ups; from rows what is left at both ends, and what has not been
// rolled up yet. All is of one moment.
func (r *Reader) addUp(ctx context.Context, q StatsQuery, groups map[string]*sums) error {
	tx, err := r.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback() // It has changed nothing.
	var upto, gone int64
	if err := tx.QueryRowContext(ctx, "SELECT upto, gone_us FROM rolled").Scan(&upto, &gone); err != nil {
		return err
	}
	s := splitSpan(q, gone)
	if err := addRolled(ctx, tx, q, s.from, s.to, groups); err != nil {
		return err
	}
	for _, end := range s.ends {
		if err := addRows(ctx, tx, q, end[0], end[1], rolledUp, upto, groups); err != nil {
			return err
		}
	}
	since, until := bounds(q.Since, q.Until)

	return addRows(ctx, tx, q, since, until, fresh, upto, groups)
}

// span is a query's time: whole hours from and to, in Unix seconds, and what
// is left at the ends, in Unix microseconds.
type span struct {
	from, to int64
	ends     [][2]int64
}

// splitSpan splits a query's time. What came before gone (Unix microseconds)
// may not be there any more as rows, or is in the sums of a whole day, so hours
// before it count as a whole.
func splitSpan(q StatsQuery, gone int64) span {
	since, until := bounds(q.Since, q.Until)
	s := span{from: math.MinInt64, to: math.MaxInt64}
	if !q.Since.IsZero() {
		s.from = hourOf(since)
		if since > s.from*1e6 && s.from*1e6 >= gone {
			s.from += hour
		}
	}
	if !q.Until.IsZero() {
		s.to = hourOf(until)
		if until > s.to*1e6 && s.to*1e6 < gone {
			s.to += hour
		}
	}
	if s.from > s.to { // Within one hour.
		return span{ends: [][2]int64{{since, until}}}
	}
	if !q.Since.IsZero() && since < s.from*1e6 {
		s.ends = append(s.ends, [2]int64{since, s.from * 1e6})
	}
	if !q.Until.IsZero() && until > s.to*1e6 {
		s.ends = append(s.ends, [2]int64{s.to * 1e6, until})
	}

	return s
}

// hourOf returns the Unix second at which the hour of a microsecond began.
func hourOf(us int64) int64 {
	s := (us - mod(us, 1e6)) / 1e6

	return s - mod(s, hour)
}

// addRolled adds the roll-ups of [from, to) to groups.
func addRolled(ctx context.Context, tx *sql.Tx, q StatsQuery, from, to int64, groups map[string]*sums) (err error) {
	dimension, key := overall, "key"
	switch q.GroupBy {
	case "", "day":
		if q.Agent != "" {
			dimension = byAgent
		}
	case "agent":
		dimension, key = byAgent, "agent"
	default:
		dimension = q.GroupBy
		if q.Agent != "" {
			dimension = byAgent + " " + dimension
		}
	}
	query := `SELECT ` + key + `, start, sums FROM rollups WHERE tenant = ? AND dimension = ? AND start > ? - span AND start < ?
		AND (span > ? OR start >= ?)`
	args := []any{q.Tenant, dimension, max(from, math.MinInt64+day), to, hour, from}
	if q.Agent != "" {
		query += " AND agent = ?"
		args = append(args, q.Agent)
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	counters := make(map[string][]*int64)
	for rows.Next() {
		var key string
		var start int64
		var data sql.RawBytes
		if err := rows.Scan(&key, &start, &data); err != nil {
			return err
		}
		if q.GroupBy == "day" {
			key = time.Unix(start, 0).UTC().Format(time.DateOnly)
		}
		if counters[key] == nil {
			groups[key] = new(sums)
			counters[key] = groups[key].counters()
		}
		if err := addEncoded(counters[key], data); err != nil {
			return err
		}
	}

	return rows.Err()
}

// Rows that are in the roll-ups, of which few are wanted, and those that are
// not yet, of which there are few. SQLite can't know which index is the better.
const (
	rolledUp = `requests INDEXED BY requests_tenant_at WHERE rowid <= ?`
	fresh    = `requests NOT INDEXED WHERE rowid > ?`
)

// addRows adds the rows of [from, to) to groups.
func addRows(ctx context.Context, tx *sql.Tx, q StatsQuery, from, to int64, which string, upto int64, groups map[string]*sums) (err error) {
	query := `SELECT ` + summed + ` FROM ` + which + ` AND tenant = ? AND at_us >= ? AND at_us < ?`
	args := []any{upto, q.Tenant, from, to}
	if q.Agent != "" {
		query += " AND agent = ?"
		args = append(args, q.Agent)
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e, err := scanSummed(rows)
		if err != nil {
			return err
		}
		key := e.group(q.GroupBy)
		if groups[key] == nil {
			groups[key] = new(sums)
		}
		groups[key].count(&e)
	}

	return rows.Err()
}

// summed are the columns that sums and groups are made of.
const summed = `at_us, agent, channel, background, routed_model, profile, tier, switched, outcome,
	input, cached, cache_write, cache_write_hour, output, reasoning, injected_memory, injected_scaffold, scaffold_arm, truncated, corrected_arm, disputed,
	cost, baseline, saved_routing, saved_memory, saved_scaffold, saved_cache, saved_retries, saved_background,
	overhead_ns, first_byte_ns, total_ns`

// scanSummed reads them.
func scanSummed(rows *sql.Rows) (Entry, error) {
	var e Entry
	var at int64
	var cost, baseline sql.Null[int64]
	var saved [numComponents]nano
	err := rows.Scan(&at, &e.Agent, &e.Channel, &e.Background, &e.RoutedModel, &e.Profile, &e.Tier, &e.Switched, &e.Outcome,
		&e.Usage.Input, &e.Usage.Cached, &e.Usage.CacheWrite, &e.Usage.CacheWriteHour, &e.Usage.Output, &e.Usage.Reasoning,
		&e.InjectedMemoryTokens, &e.InjectedScaffoldTokens, &e.ScaffoldArm, &e.Truncated, &e.CorrectedArm, &e.Disputed,
		&cost, &baseline, &saved[0], &saved[1], &saved[2], &saved[3], &saved[4], &saved[5],
		&e.Overhead, &e.FirstByte, &e.Total)
	if err != nil {
		return Entry{}, err
	}
	e.At = time.UnixMicro(at)
	if cost.Valid {
		c, b := nano(cost.V).usd(), nano(baseline.V).usd()
		e.Cost, e.Baseline, e.Priced, e.Saved = &c, &b, true, savingsOf(saved)
	}

	return e, nil
}

// group is the key of an entry's group.
func (e *Entry) group(by string) string {
	switch by {
	case "agent":
		return e.Agent
	case "model":
		return e.RoutedModel
	case "tier":
		return e.Tier
	case "profile":
		return e.Profile
	case "channel":
		return e.Channel
	case "day":
		return e.At.UTC().Format(time.DateOnly)
	default:
		return ""
	}
}
