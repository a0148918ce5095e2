package ledger

import (
	"database/sql"
	"math"
	"strings"
	"time"
)

// columns are in the order of values and scan.
const columns = `id, at_us, tenant, agent, user, session, channel, process_type, background,
	requested_model, routed_model, answered_model, baseline_model,
	profile, tier, shape, reason, score, switched, streamed, status, outcome,
	usage_known, input, cached, cache_write, cache_write_hour, output, reasoning,
	injected_memory, injected_scaffold, scaffold_arm, warm, retry_cost, disputed,
	cost, baseline, saved_routing, saved_memory, saved_scaffold, saved_cache, saved_retries, saved_background,
	overhead_ns, first_byte_ns, total_ns, memories_used, fail_open`

// width is the number of columns.
const width = 48

// insertSQL writes n rows. What is written again is the same request.
func insertSQL(n int) string {
	row := "(?" + strings.Repeat(",?", width-1) + ")"
	return "INSERT INTO requests (" + columns + ") VALUES " + row + strings.Repeat(","+row, n-1) + " ON CONFLICT (id) DO NOTHING"
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
	amount := func(usd float64) any {
		if !e.Priced {
			return nil
		}
		return int64(toNano(usd))
	}
	var cost, baseline float64
	if e.Priced {
		cost, baseline = *e.Cost, *e.Baseline
	}
	var warm any
	if e.WarmTokens != nil {
		warm = *e.WarmTokens
	}

	return append(to,
		e.ID, e.At.UnixMicro(), e.Tenant, e.Agent, e.User, e.Session, e.Channel, e.ProcessType, e.Background,
		e.RequestedModel, e.RoutedModel, e.AnsweredModel, e.BaselineModel,
		e.Profile, e.Tier, e.Shape, e.Reason, e.Score, e.Switched, e.Streamed, int64(e.Status), e.Outcome,
		e.UsageKnown, e.Usage.Input, e.Usage.Cached, e.Usage.CacheWrite, e.Usage.CacheWriteHour, e.Usage.Output, e.Usage.Reasoning,
		e.InjectedMemoryTokens, e.InjectedScaffoldTokens, e.ScaffoldArm, warm, int64(toNano(e.RetryCost)), e.Disputed,
		amount(cost), amount(baseline), amount(e.Saved.Routing), amount(e.Saved.Memory), amount(e.Saved.Scaffold),
		amount(e.Saved.Cache), amount(e.Saved.Retries), amount(e.Saved.Background),
		int64(e.Overhead), int64(e.FirstByte), int64(e.Total), int64(e.MemoriesUsed), e.FailOpen,
	)
}

// scan reads the columns of one row, after those that extra receives.
func scan(row interface{ Scan(...any) error }, extra ...any) (Entry, error) {
	var e Entry
	var at int64
	var retries nano
	var cost, baseline sql.Null[nano]
	var saved [6]sql.Null[nano]
	err := row.Scan(append(extra,
		&e.ID, &at, &e.Tenant, &e.Agent, &e.User, &e.Session, &e.Channel, &e.ProcessType, &e.Background,
		&e.RequestedModel, &e.RoutedModel, &e.AnsweredModel, &e.BaselineModel,
		&e.Profile, &e.Tier, &e.Shape, &e.Reason, &e.Score, &e.Switched, &e.Streamed, &e.Status, &e.Outcome,
		&e.UsageKnown, &e.Usage.Input, &e.Usage.Cached, &e.Usage.CacheWrite, &e.Usage.CacheWriteHour, &e.Usage.Output, &e.Usage.Reasoning,
		&e.InjectedMemoryTokens, &e.InjectedScaffoldTokens, &e.ScaffoldArm, &e.WarmTokens, &retries, &e.Disputed,
		&cost, &baseline, &saved[0], &saved[1], &saved[2], &saved[3], &saved[4], &saved[5],
		&e.Overhead, &e.FirstByte, &e.Total, &e.MemoriesUsed, &e.FailOpen,
	)...)
	if err != nil {
		return Entry{}, err
	}

	e.At = time.UnixMicro(at).UTC()
	e.RetryCost = retries.usd()
	if cost.Valid {
		c, b := cost.V.usd(), baseline.V.usd()
		e.Cost, e.Baseline, e.Priced = &c, &b, true
		e.Saved = Savings{
			Routing:    saved[0].V.usd(),
			Memory:     saved[1].V.usd(),
			Scaffold:   saved[2].V.usd(),
			Cache:      saved[3].V.usd(),
			Retries:    saved[4].V.usd(),
			Background: saved[5].V.usd(),
		}
	}

	return e, nil
}
