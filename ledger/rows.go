package ledger

import (
	"database/sql"
	"math"
	"strings"
	"time"
)

// columns are in the order of appendValues and scan.
const columns = `id, at_us, tenant, agent, user, session, channel, process_type, background,
	requested_model, routed_model, answered_model, baseline_model,
	profile, tier, shape, reason, score, switched, streamed, status, outcome,
	usage_known, input, cached, cache_write, cache_write_hour, output, reasoning,
	injected_memory, injected_scaffold, scaffold_arm, warm, retry_cost, disputed,
	cost, baseline, saved_routing, saved_memory, saved_scaffold, saved_cache, saved_retries, saved_background,
	overhead_ns, first_byte_ns, total_ns, memories_used, fail_open, truncated, corrected_arm`

// width is the number of columns.
const width = 50

// columnSet has a bit for each column.
type columnSet uint64

// used is the set of columns whose value is not empty, 0 or NULL: the defaults.
func used(row []any) (set columnSet) {
	for i, v := range row {
		switch v {
		case nil, "", int64(0), float64(0), false:
		default:
			set |= 1 << i
		}
	}

	return set
}

// insertSQL writes n rows, of the columns in set alone. What is written again
// is the same request.
func insertSQL(set columnSet, n int) string {
	var names []string
	for i, name := range strings.Split(columns, ",") {
		if set&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	row := "(?" + strings.Repeat(",?", len(names)-1) + ")"
	return "INSERT INTO requests (" + strings.Join(names, ",") + ") VALUES " + row + strings.Repeat(","+row, n-1) + " ON CONFLICT (id) DO NOTHING"
}

// sane is e as it can be kept. Whatever e holds, SQLite must take it: a row
// that is refused would hold up all those behind it.
func (e *Entry) sane() {
	if math.IsNaN(e.Score) || math.IsInf(e.Score, 0) { // SQLite reads NaN as NULL; JSON has neither.
		e.Score = 0
	}
	if !e.UsageKnown { // It would end up in the sums.
		e.Usage = Usage{}
	}
	if !e.Priced || e.Cost == nil || e.Baseline == nil {
		e.Cost, e.Baseline, e.Saved, e.Priced = nil, nil, Savings{}, false
	}
}

// appendValues appends the columns of e, which is sane.
func appendValues(to []any, e *Entry) []any {
	amount := func(usd float64) any { return int64(toNano(usd)) }
	var cost, baseline, warm any // NULL is not the default of 0: it says unknown.
	if e.Priced {
		cost, baseline = amount(*e.Cost), amount(*e.Baseline)
	}
	if e.WarmTokens != nil {
		warm = *e.WarmTokens
	}

	return append(to,
		e.ID, e.At.UnixMicro(), e.Tenant, e.Agent, e.User, e.Session, e.Channel, e.ProcessType, e.Background,
		e.RequestedModel, e.RoutedModel, e.AnsweredModel, e.BaselineModel,
		e.Profile, e.Tier, e.Shape, e.Reason, e.Score, e.Switched, e.Streamed, int64(e.Status), e.Outcome,
		e.UsageKnown, e.Usage.Input, e.Usage.Cached, e.Usage.CacheWrite, e.Usage.CacheWriteHour, e.Usage.Output, e.Usage.Reasoning,
		e.InjectedMemoryTokens, e.InjectedScaffoldTokens, e.ScaffoldArm, warm, int64(toNano(e.RetryCost)), e.Disputed,
		cost, baseline, amount(e.Saved.Routing), amount(e.Saved.Memory), amount(e.Saved.Scaffold),
		amount(e.Saved.Cache), amount(e.Saved.Retries), amount(e.Saved.Background),
		int64(e.Overhead), int64(e.FirstByte), int64(e.Total), int64(e.MemoriesUsed), e.FailOpen, e.Truncated, e.CorrectedArm,
	)
}

// scan reads the columns of one row, after those that extra receives.
func scan(row interface{ Scan(...any) error }, extra ...any) (Entry, error) {
	var e Entry
	var at int64
	var retries nano
	var cost, baseline sql.Null[nano]
	var saved [numComponents]nano
	err := row.Scan(append(extra,
		&e.ID, &at, &e.Tenant, &e.Agent, &e.User, &e.Session, &e.Channel, &e.ProcessType, &e.Background,
		&e.RequestedModel, &e.RoutedModel, &e.AnsweredModel, &e.BaselineModel,
		&e.Profile, &e.Tier, &e.Shape, &e.Reason, &e.Score, &e.Switched, &e.Streamed, &e.Status, &e.Outcome,
		&e.UsageKnown, &e.Usage.Input, &e.Usage.Cached, &e.Usage.CacheWrite, &e.Usage.CacheWriteHour, &e.Usage.Output, &e.Usage.Reasoning,
		&e.InjectedMemoryTokens, &e.InjectedScaffoldTokens, &e.ScaffoldArm, &e.WarmTokens, &retries, &e.Disputed,
		&cost, &baseline, &saved[0], &saved[1], &saved[2], &saved[3], &saved[4], &saved[5],
		&e.Overhead, &e.FirstByte, &e.Total, &e.MemoriesUsed, &e.FailOpen, &e.Truncated, &e.CorrectedArm,
	)...)
	if err != nil {
		return Entry{}, err
	}

	e.At = time.UnixMicro(at).UTC()
	e.RetryCost = retries.usd()
	if cost.Valid {
		c, b := cost.V.usd(), baseline.V.usd()
		e.Cost, e.Baseline, e.Priced = &c, &b, true
		e.Saved = savingsOf(saved)
	}

	return e, nil
}
