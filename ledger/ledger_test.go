package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/understudy-ai/understudy/internal/batch"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests' entries come, unless they say otherwise.
var noon = time.Date(2026, 3, 18, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, cfg Config) *Ledger {
	t.Helper()
	if cfg.Path == "" {
		cfg.Path = filepath.Join(t.TempDir(), "ledger.db")
	}
	if cfg.Clock == nil {
		cfg.Clock = func() time.Time { return noon }
	}
	l, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })

	return l
}

// outsider opens the file beside the ledger, as another process would.
func outsider(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		db.Close()
	})

	return conn
}

func exec(t *testing.T, conn *sql.Conn, query string) {
	t.Helper()
	if _, err := conn.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func countRows(t *testing.T, path string) (n int) {
	t.Helper()
	if err := outsider(t, path).QueryRowContext(t.Context(), "SELECT count(*) FROM requests").Scan(&n); err != nil {
		t.Fatal(err)
	}

	return n
}

// logs is a log that a test can wait for.
type logs chan string

func (l logs) Enabled(context.Context, slog.Level) bool { return true }
func (l logs) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l logs) WithGroup(string) slog.Handler            { return l }
func (l logs) Handle(_ context.Context, r slog.Record) error {
	l <- r.Message

	return nil
}

func TestEveryEntryIsWritten(t *testing.T) {
	const workers, each = 50, 200
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path, Queue: 16})
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				l.Record(Entry{ID: fmt.Sprintf("%d-%d", w, i), Outcome: OutcomeOK})
			}
		})
	}
	group.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, path); n != workers*each {
		t.Errorf("%d rows after Close, want %d", n, workers*each)
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	for i := range 3 {
		l := open(t, Config{Path: path})
		l.Record(Entry{ID: fmt.Sprint(i), Tenant: "a"})
		l.Record(Entry{ID: "again", Tenant: "a"}) // Once, however often it is recorded.
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		stats, err := l.Stats(t.Context(), StatsQuery{Tenant: "a"})
		if want := int64(i + 2); err != nil || stats.Total.Requests != want {
			t.Errorf("opened %d times: %d requests, error %v, want %d", i+1, stats.Total.Requests, err, want)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEntriesAreFlushedUnasked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path, FlushEvery: time.Microsecond})
	l.Record(Entry{ID: "r", Tenant: "a"})
	for {
		_, err := l.Get(t.Context(), "a", "r")
		if err == nil {
			return
		}
		if !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
}

func TestLockedFileHoldsUpNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	const queue = 64
	l := open(t, Config{Path: path, Queue: queue})
	conn := outsider(t, path)
	exec(t, conn, "BEGIN IMMEDIATE")

	for i := range queue { // Would hang here if Record waited for the file.
		l.Record(Entry{ID: fmt.Sprint(i)})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Sync of a locked file = %v, want the context's error", err)
	}

	exec(t, conn, "ROLLBACK")
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, path); n != queue {
		t.Errorf("%d rows once the lock is gone, want %d", n, queue)
	}
}

func TestFailingFileRecovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	log := make(logs, 100)
	l := open(t, Config{Path: path, Logger: slog.New(log), FlushEvery: time.Microsecond})
	conn := outsider(t, path)
	exec(t, conn, "ALTER TABLE requests RENAME TO gone")

	l.Record(Entry{ID: "r", Tenant: "a"})
	if got, want := <-log, "ledger cannot write, entries wait"; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
	if err := l.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "no such table") {
		t.Errorf("Check while writes fail = %v, want no such table", err)
	}

	exec(t, conn, "ALTER TABLE gone RENAME TO requests")
	if err := l.Sync(t.Context()); err != nil {
		t.Errorf("Sync after the recovery: %v", err)
	}
	if got, want := <-log, "ledger writes again"; got != want {
		t.Errorf("logged %q, want %q: one line for the outage, one for its end", got, want)
	}
	if err := l.Check(t.Context()); err != nil {
		t.Errorf("Check after the recovery = %v", err)
	}
	if _, err := l.Get(t.Context(), "a", "r"); err != nil {
		t.Errorf("Get of what waited: %v", err)
	}
}

// TestBrokenFileHoldsUpNobody records more than the queue holds while the file
// can't be written: Record returns, and what was lost is counted.
func TestBrokenFileHoldsUpNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	const queue, entries = 4, 4 + maxBatch + 10
	log := make(logs, 10)
	l := open(t, Config{Path: path, Queue: queue, Logger: slog.New(log), FlushEvery: time.Microsecond})
	conn := outsider(t, path)
	exec(t, conn, "ALTER TABLE requests RENAME TO gone")
	l.Record(Entry{ID: "first"})
	<-log // the writer knows
	var group sync.WaitGroup
	for i := range entries {
		group.Go(func() { l.Record(Entry{ID: fmt.Sprint(i)}) })
	}
	group.Wait()
	lost := l.Lost()
	if lost == 0 {
		t.Errorf("Lost = 0 of %d entries with a queue of %d", entries, queue)
	}
	exec(t, conn, "ALTER TABLE gone RENAME TO requests")
	if err := l.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, path); int64(n)+lost != entries+1 {
		t.Errorf("%d rows and %d lost, want %d together", n, lost, entries+1)
	}
}

// TestRefusedEntry has the file refuse one entry of a batch: the others are
// written, and that one doesn't keep what comes after it waiting.
func TestRefusedEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	log := make(logs, 1)
	l := open(t, Config{Path: path, Logger: slog.New(log)})
	exec(t, outsider(t, path), "CREATE TRIGGER refuse BEFORE INSERT ON requests WHEN NEW.id = 'odd' BEGIN SELECT RAISE(ABORT, 'odd'); END")
	for _, id := range []string{"a", "odd", "b"} {
		l.Record(Entry{ID: id})
	}
	for range 2 {
		if err := l.Sync(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.Record(Entry{ID: "c"})
	}
	if got, want := <-log, "ledger entry lost"; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
	if n := countRows(t, path); n != 3 || l.Lost() != 1 {
		t.Errorf("%d rows and %d lost, want 3 and 1", n, l.Lost())
	}
}

func TestCloseSaysWhatIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	l := open(t, Config{Path: path, Queue: 2})
	exec(t, outsider(t, path), "ALTER TABLE requests RENAME TO gone")

	var group sync.WaitGroup
	started := make(chan struct{})
	group.Go(func() {
		for i := range 10 { // More than the queue holds: some may wait at its door.
			l.Record(Entry{ID: fmt.Sprint(i)})
			if i == 0 {
				close(started)
			}
		}
	})
	<-started
	err := l.Close()
	group.Wait()
	if err == nil || !strings.Contains(err.Error(), "lost: writing ledger: ") {
		t.Errorf("Close = %v, want how many are lost and why", err)
	}
	if again := l.Close(); !errors.Is(again, err) {
		t.Errorf("second Close = %v, want %v", again, err)
	}
}

func TestAfterClose(t *testing.T) {
	log := make(logs, 1)
	l := open(t, Config{Logger: slog.New(log)})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Record(Entry{ID: "late"})
	if got, want := <-log, "ledger entry lost"; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
	if err := l.Sync(t.Context()); !errors.Is(err, batch.ErrClosed) {
		t.Errorf("Sync = %v, want %v", err, batch.ErrClosed)
	}
}

func TestOpenError(t *testing.T) {
	if l, err := Open(t.Context(), Config{Path: t.TempDir()}); err == nil {
		l.Close()
		t.Error("Open of a folder succeeded")
	}
}

func BenchmarkRecord(b *testing.B) {
	l := open(b, Config{Queue: 4096})
	cost := 0.01
	e := Entry{
		Tenant: "a", Agent: "agent", RoutedModel: "model", Tier: "light", Outcome: OutcomeOK, Status: 200,
		Usage: Usage{Input: 1000, Output: 100}, UsageKnown: true, Cost: &cost, Baseline: &cost, Priced: true,
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() { // Includes the writing, since the queue is soon full.
		i++
		e.ID = fmt.Sprint(i)
		l.Record(e)
	}
}
