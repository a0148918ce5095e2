package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Roll-ups are sums by tenant, hour and one dimension: what [Ledger.Stats]
// reads, so that a year of many requests a day is a few thousand rows. Hours
// of long ago are rolled up once more, to days.
//
// The writer counts each entry that it has written and folds the counts into
// the file every now and then. Together with them it notes the last row that
// they hold, so that what a crash kept from the file is counted again from the
// rows.
const (
	// foldEvery is how often counts go into the file: for a batch of one
	// request they cost as much as the request's own row.
	foldEvery = time.Second

	// maxPending bounds the counts in RAM, at 4 KB each.
	maxPending = 1024

	hour = int64(time.Hour / time.Second)
	day  = 24 * hour
)

// combination is what entries are counted by in RAM, before each dimension
// gets its share.
type combination struct {
	tenant, agent, model, tier, profile, channel string
	start                                        int64 // Of the hour, Unix seconds.
}

// rollKey is a roll-up's key but for its start and span.
type rollKey struct {
	tenant, dimension, agent, key string
}

// dimensions of roll-ups: over all agents, and of one agent. Those of one
// agent are named by "agent", a space, and what they are over all.
const (
	overall = "all"
	byAgent = "agent"
)

// pending is what has been written to requests and not yet to rollups.
type pending struct {
	counts map[combination]*sums
	upto   int64 // The last row that is in counts, or in the file.
	behind bool  // counts are incomplete: the rows after rolled.upto have to be read.
}

// count adds entries that have been written, the last of them as row upto.
func (p *pending) count(entries []*Entry, upto int64) {
	for _, e := range entries {
		at := e.At.Unix()
		c := combination{e.Tenant, e.Agent, e.RoutedModel, e.Tier, e.Profile, e.Channel, at - mod(at, hour)}
		s := p.counts[c]
		if s == nil {
			s = new(sums)
			p.counts[c] = s
		}
		s.count(e)
	}
	p.upto = upto
}

// mod is the remainder that is never negative.
func mod(n, of int64) int64 { return (n%of + of) % of }

// spread gives each dimension its sums, by the start of the hour.
func (p *pending) spread() map[int64]map[rollKey]*sums {
	hours := make(map[int64]map[rollKey]*sums)
	for c, s := range p.counts {
		rolls := hours[c.start]
		if rolls == nil {
			rolls = make(map[rollKey]*sums)
			hours[c.start] = rolls
		}
		add := func(dimension, agent, key string) {
			k := rollKey{c.tenant, dimension, agent, key}
			if rolls[k] == nil {
				rolls[k] = new(sums)
			}
			rolls[k].add(s)
		}
		add(overall, "", "")
		add(byAgent, c.agent, "")
		for _, d := range [...]struct{ name, key string }{
			{"model", c.model}, {"tier", c.tier}, {"profile", c.profile}, {"channel", c.channel},
		} {
			add(d.name, "", d.key)
			add(byAgent+" "+d.name, c.agent, d.key)
		}
	}

	return hours
}

// fold writes the counts into the file. When it fails they are given up, and
// counted from the rows the next time.
func (l *Ledger) fold() error {
	p := &l.pending
	if p.behind {
		return l.catchUp(context.Background())
	}
	if len(p.counts) == 0 {
		return nil
	}
	err := l.writeRollups(p.spread(), p.upto)
	clear(p.counts)
	p.behind = err != nil

	return err
}

// slice is how many rows are read, or deleted, at a time.
const slice = 5000

// catchUp counts the rows that the roll-ups lack.
func (l *Ledger) catchUp(ctx context.Context) error {
	p := &l.pending
	p.behind = true
	if err := l.db.Writer.QueryRowContext(ctx, "SELECT upto FROM rolled").Scan(&p.upto); err != nil {
		return fmt.Errorf("reading how far roll-ups go: %w", err)
	}
	for {
		clear(p.counts)
		entries, upto, err := l.rowsAfter(ctx, p.upto)
		if err != nil {
			return fmt.Errorf("reading rows to roll up: %w", err)
		}
		if len(entries) == 0 {
			p.behind = false
			return nil
		}
		p.count(entries, upto)
		if err := l.writeRollups(p.spread(), upto); err != nil {
			return err
		}
	}
}

// rowsAfter reads a slice of rows in the order of their writing.
func (l *Ledger) rowsAfter(ctx context.Context, rowid int64) (entries []*Entry, last int64, err error) {
	const query = `SELECT rowid, ` + columns + ` FROM requests WHERE rowid > ? ORDER BY rowid LIMIT ?`
	rows, err := l.db.Writer.QueryContext(ctx, query, rowid, slice)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		e, err := scan(rows, &last)
		if err != nil {
			return nil, 0, err
		}
		entries = append(entries, &e)
	}

	return entries, last, rows.Err()
}

// writeRollups adds hours to the file, which then holds every row up to upto.
func (l *Ledger) writeRollups(hours map[int64]map[rollKey]*sums, upto int64) error {
	return l.transact("writing roll-ups", func(ctx context.Context, tx *sql.Tx) error {
		for start, rolls := range hours {
			if err := addRollups(ctx, tx, rolls, start, hour); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "UPDATE rolled SET upto = ?", upto)
		return err
	})
}

// addRollups adds sums to what the file has of the same key, start and span.
func addRollups(ctx context.Context, tx *sql.Tx, rolls map[rollKey]*sums, start, span int64) (err error) {
	const where = ` tenant = ? AND dimension = ? AND agent = ? AND start = ? AND span = ? AND key = ?`
	read, err := tx.PrepareContext(ctx, "SELECT sums FROM rollups WHERE"+where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, read.Close()) }()
	write, err := tx.PrepareContext(ctx, `INSERT OR REPLACE INTO rollups (tenant, dimension, agent, start, span, key, sums) VALUES (?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, write.Close()) }()

	for k, s := range rolls {
		key := []any{k.tenant, k.dimension, k.agent, start, span, k.key}
		var had []byte
		if err := read.QueryRowContext(ctx, key...).Scan(&had); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := addEncoded(s.counters(), had); err != nil {
			return err
		}
		if _, err := write.ExecContext(ctx, append(key, s.encode())...); err != nil {
			return err
		}
	}

	return nil
}

// transact runs what writes in one transaction.
func (l *Ledger) transact(doing string, run func(context.Context, *sql.Tx) error) error {
	ctx := context.Background() // The writer outlives every request; SQLite's busy timeout bounds it.
	if err := l.db.Ready(ctx); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	tx, err := l.db.Writer.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer tx.Rollback() // Nothing to do, and an error to ignore, after Commit.
	if err := run(ctx, tx); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}

	return nil
}
