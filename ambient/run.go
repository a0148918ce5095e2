package ambient

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"
)

// This file tells runs from the traffic: what workers, branches and timetables do between a task and its result.
//
// A run begins with the first request of a worker's or branch's conversation, or of one that a timetable triggered. It
// ends with an answer that calls no tool, or when it has been silent for Config.RunIdle. A new turn in a conversation
// whose run has ended begins another.

// Kinds of runs.
const (
	workerRun = "worker"
	branchRun = "branch"
	cronRun   = "cron"
)

// run is one of them.
type run struct {
	hall    hall
	session string
	kind    string
	channel string
	user    string
	name    string
	task    string // redacted
	started time.Time
	last    time.Time // when it was heard of last
	open    bool
	failed  string // why its last request got no answer
}

// runKind says what kind of run a request is of, "" for none.
func runKind(h *Heard) string {
	switch strings.ToLower(h.Trigger) {
	case "cron", "schedule", "scheduled", "timer":
		return cronRun
	}
	switch h.Process {
	case workerRun, branchRun:
		return h.Process
	}
	return ""
}

const (
	selectRun = `SELECT session, kind, channel, user, name, task, started, last, open, failed FROM runs
		WHERE tenant = ? AND agent = ? AND audience = ? AND session = ? AND kind = ?`
	selectRuns = `SELECT session, kind, channel, user, name, task, started, last, open, failed FROM runs
		WHERE tenant = ? AND agent = ? AND audience = ? AND last >= ? ORDER BY last DESC LIMIT 50`
	upsertRun = `INSERT INTO runs (tenant, agent, audience, session, kind, channel, user, name, task, started, last, open, failed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET channel = excluded.channel, user = excluded.user, name = excluded.name, task = excluded.task,
			started = excluded.started, last = excluded.last, open = excluded.open, failed = excluded.failed`
)

const (
	maxRunTask = 120 // characters of a task in an event
	maxResult  = 160 // and of its result
)

// hearRun takes note of a request of a run, or of one in a channel that failed.
func (s *Store) hearRun(scope Scope, h *Heard) bool {
	kind, failed := runKind(h), isFailure(h.Failed)
	if kind == "" && !(failed && scope.channel != "") {
		return true
	}
	r := run{
		hall: hall{scope.tenant, scope.agent, scope.Audience()}, session: h.Session, kind: kind, channel: scope.channel, user: scope.user,
		name: s.called(h.UserName), task: s.task(h.Words), started: h.At, last: s.cfg.Clock(), open: true,
	}
	if failed {
		r.failed = h.Failed
	}
	result := ""
	if h.Final && h.Failed == "" {
		result = firstSentence(h.Answer)
	}
	newTurn, final := h.NewTurn, h.Final && h.Failed == ""
	queue := s.soon
	if !final && !failed && s.goesOn(&r) {
		queue = s.later
	}
	return s.writeRuns(queue, func(w *runWriting, ctx context.Context, tx *sql.Tx) error {
		return w.hear(ctx, tx, scope, r, newTurn, final, result)
	})
}

// isFailure reports whether an outcome means that something broke: not that somebody left, or asked what can't be.
func isFailure(outcome string) bool {
	switch outcome {
	case "upstream_error", "unreachable", "timeout", "stream_incomplete":
		return true
	}
	return false
}

// task is what a run is told to do, in one redacted line; "" when it must not be shown.
func (s *Store) task(words string) string {
	text, ok := s.tidy(words, maxRunTask)
	if !ok {
		return ""
	}
	return text
}

// firstSentence is the first sentence of an answer, without marks of lists and headings.
func firstSentence(text string) string {
	text = strings.TrimLeft(strings.TrimSpace(text[:min(len(text), maxRawText)]), "#*->_` ")
	if at := strings.IndexByte(text, '\n'); at > 0 {
		text = text[:at]
	}
	if at := strings.Index(text, ". "); at > 0 {
		text = text[:at]
	}
	return shorten(strings.ReplaceAll(text, "**", ""), maxResult)
}

// runWriting is the work on runs in one transaction.
type runWriting struct {
	summing
	events []told
	step   *run // that changed in nothing but its time
}

// writeRuns queues work on runs, and what follows it.
func (s *Store) writeRuns(queue func(write, func()) bool, work func(*runWriting, context.Context, *sql.Tx) error) bool {
	w := &runWriting{}
	return queue(func(ctx context.Context, tx *sql.Tx) error {
		*w = runWriting{summing: summing{s: s}}
		return work(w, ctx, tx)
	}, func() {
		w.done()
		s.hearNew(w.events)
		if w.step != nil {
			s.heardOf(w.step)
		}
	})
}

// hear brings a run up to a request of it.
func (w *runWriting) hear(ctx context.Context, tx *sql.Tx, scope Scope, now run, newTurn, final bool, result string) error {
	if now.failed != "" {
		if err := w.fail(ctx, tx, scope, &now); err != nil {
			return err
		}
	}
	if now.kind == "" {
		return w.record(ctx, tx, w.events)
	}
	was, known, err := readRun(ctx, tx, &now)
	if err != nil {
		return err
	}
	began := !known || !was.open && newTurn
	if !began {
		now.task, now.started = was.task, was.started
	}
	now.open = !final
	if began && now.open && now.kind == workerRun {
		w.add(scope, &now, WorkerSpawned, now.task, now.started)
	}
	if final && (began || was.open) {
		w.finish(scope, &now, result)
	}
	if err := writeRun(ctx, tx, &now); err != nil {
		return err
	}
	if began || final || now.failed != was.failed {
		w.changed = append(w.changed, now.hall)
	} else {
		w.step = &now
	}
	if err := w.endSilent(ctx, tx, now.hall, now.last); err != nil {
		return err
	}
	return w.record(ctx, tx, w.events)
}

// add makes an event of a run.
func (w *runWriting) add(scope Scope, r *run, typ EventType, summary string, at time.Time) {
	e := Event{Type: typ, Session: r.session, Name: r.name, Summary: summary, At: at}
	if w.s.prepare(&e) {
		w.events = append(w.events, w.s.toldBy(scope, e))
	}
}

// finish makes the event of a run's end.
func (w *runWriting) finish(scope Scope, r *run, result string) {
	summary := r.task
	if result != "" && result != r.task {
		summary = strings.TrimPrefix(summary+" → "+result, " → ")
	}
	typ := map[string]EventType{workerRun: WorkerCompleted, branchRun: BranchCompleted, cronRun: CronExecuted}[r.kind]
	w.add(scope, r, typ, summary, r.last)
}

// againAfter is how soon a failure in one conversation is told again.
const againAfter = 10 * time.Minute

const selectFailure = `SELECT EXISTS (SELECT 1 FROM events WHERE tenant = ? AND agent = ? AND audience = ? AND day >= ? AND session = ? AND type = 'error' AND at > ?)`

// fail makes the event of a failure.
func (w *runWriting) fail(ctx context.Context, tx *sql.Tx, scope Scope, r *run) error {
	since := r.last.Add(-againAfter)
	var told bool
	err := tx.QueryRowContext(ctx, selectFailure, r.hall.tenant, r.hall.agent, r.hall.audience,
		since.In(w.s.zone(r.hall.agent)).Format(time.DateOnly), r.session, since.UnixMilli()).Scan(&told)
	if err != nil || told {
		return err
	}
	what := "An answer"
	if r.kind != "" {
		what = "The " + r.kind + "'s step"
	}
	summary := what + " failed (" + strings.ReplaceAll(r.failed, "_", " ") + ")"
	if r.kind != "" && r.task != "" {
		summary += ": " + r.task
	}
	w.add(scope, r, Failure, summary, r.last)
	return nil
}

const selectSilent = `SELECT session, kind, channel, user, name, task, started, last, open, failed FROM runs
	WHERE tenant = ? AND agent = ? AND audience = ? AND open = 1 AND last < ?`

// endSilent ends the runs that nothing was heard of for a while, seen from a time.
func (w *runWriting) endSilent(ctx context.Context, tx *sql.Tx, h hall, now time.Time) error {
	list, err := readRuns(ctx, tx, h, selectSilent, h.tenant, h.agent, h.audience, now.Add(-w.s.cfg.RunIdle).UnixMilli())
	if err != nil {
		return err
	}
	for i := range list {
		r := &list[i]
		r.open = false
		scope := Scope{tenant: h.tenant, agent: h.agent, user: r.user, channel: r.channel, private: h.audience == channelAudience(r.channel)}
		result := ""
		if r.failed != "" {
			result = "ended after an error"
		}
		w.finish(scope, r, result)
		if err := writeRun(ctx, tx, r); err != nil {
			return err
		}
		w.changed = append(w.changed, h)
	}
	return nil
}

func readRun(ctx context.Context, tx *sql.Tx, like *run) (run, bool, error) {
	h := like.hall
	list, err := readRuns(ctx, tx, h, selectRun, h.tenant, h.agent, h.audience, like.session, like.kind)
	if err != nil || len(list) == 0 {
		return run{}, false, err
	}
	return list[0], true, nil
}

func readRuns(ctx context.Context, tx *sql.Tx, h hall, query string, args ...any) (out []run, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r := run{hall: h}
		var started, last int64
		if err := rows.Scan(&r.session, &r.kind, &r.channel, &r.user, &r.name, &r.task, &started, &last, &r.open, &r.failed); err != nil {
			return nil, err
		}
		r.started, r.last = time.UnixMilli(started), time.UnixMilli(last)
		out = append(out, r)
	}
	return out, rows.Err()
}

func writeRun(ctx context.Context, tx *sql.Tx, r *run) error {
	_, err := tx.ExecContext(ctx, upsertRun, r.hall.tenant, r.hall.agent, r.hall.audience, r.session, r.kind, r.channel, r.user, r.name, r.task,
		r.started.UnixMilli(), r.last.UnixMilli(), r.open, r.failed)
	return err
}

// runKept is how long a run that has ended counts as one of late.
const runKept = time.Hour

// runs lists the runs that a scope may know of: under way, or ended within the last hour; the newest first.
func (s *Store) runs(ctx context.Context, scope Scope, at time.Time) (out []run, err error) {
	day := at.In(s.zone(scope.agent)).Format(time.DateOnly)
	for _, a := range scope.mayRead() {
		got, err := s.heardIn(ctx, hall{scope.tenant, scope.agent, a}, day)
		if err != nil {
			return nil, err
		}
		for _, r := range got.runs {
			if at.Sub(r.last) < runKept {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b run) int { return b.last.Compare(a.last) })
	return out, nil
}
