package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// cell is one kind of request under one kind of load.
type cell struct {
	name   string
	size   int // of a request body, about
	conns  int // to each target
	stream bool
	gap    time.Duration // between two chunks of a stream
	delay  time.Duration // of the upstream before it answers
	rate   int           // requests per second, whatever comes back; 0: each after the last
}

func cells() []cell {
	return []cell{
		{name: "300B/1", size: 300, conns: 1},
		{name: "300B/64", size: 300, conns: 64},
		{name: "30KB/1", size: 30_000, conns: 1},
		{name: "30KB/64", size: 30_000, conns: 64},
		{name: "400KB/1", size: 400_000, conns: 1},
		{name: "400KB/64", size: 400_000, conns: 64},
		{name: "stream/1", size: 300, conns: 1, stream: true},
		{name: "stream/64", size: 300, conns: 64, stream: true},
		// As models stream, so that no two chunks go out in one write.
		{name: "paced/64", size: 300, conns: 64, stream: true, gap: 5 * time.Millisecond},
		{name: "rate/1000", size: 300, conns: 64, delay: 20 * time.Millisecond, rate: 1000},
	}
}

func (c cell) workload(model string) *workload {
	headers := ""
	if c.delay > 0 {
		headers += fmt.Sprintf("X-Canned-Delay: %v\r\n", c.delay)
	}
	if c.gap > 0 {
		headers += fmt.Sprintf("X-Canned-Gap: %v\r\n", c.gap)
	}
	return newWorkload(c.name, model, c.size, headers, c.stream)
}

// tally is what came back, by target and request: the target's own timing, and
// that of the same request sent directly.
type tally struct {
	own, direct [][]timing
	mu          sync.Mutex
	errors      []int
	first       []error // one for each target
}

func newTally(targets, requests int) *tally {
	t := &tally{own: make([][]timing, targets), direct: make([][]timing, targets), errors: make([]int, targets), first: make([]error, targets)}
	for i := range t.own {
		t.own[i], t.direct[i] = make([]timing, requests), make([]timing, requests)
	}
	return t
}

// fail counts a failed request, whose timing stays zero.
func (t *tally) fail(target int, err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.errors[target]++
	if t.first[target] == nil {
		t.first[target] = err
	}
}

// measure runs a cell: some requests to warm up, then those that count.
func (r *rig) measure(ctx context.Context, c cell) ([]Row, error) {
	load := r.newLoad(c)
	defer load.close()
	run := load.interleaved
	requests := r.cfg.Requests
	if c.rate > 0 {
		run, requests = load.scheduled, requests*rateTimes
	}
	run(ctx, max(requests/10, c.conns))
	failedBefore, err := r.failOpens(ctx)
	if err != nil {
		return nil, err
	}
	before := settled(ctx, r.targets)
	got := run(ctx, requests)
	after := settled(ctx, r.targets)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	failed, err := r.failOpens(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, len(r.targets))
	for i, t := range r.targets {
		rows[i] = newRow(c, t, got.direct[i], got.own[i], after[i]-before[i])
		if rows[i].Errors = got.errors[i]; got.first[i] != nil {
			rows[i].Error = got.first[i].Error()
		}
	}
	rows[1].FailOpen = since(failed, failedBefore)
	setRatios(rows)
	return rows, nil
}

// warm asks Understudy for every scope often enough that its index is loaded:
// what is measured is a proxy that has been running for a while.
func (r *rig) warm(ctx context.Context) {
	load := r.newLoad(cell{name: "warm", size: 300, conns: 1})
	defer load.close()
	const times = 20 // a scope
	load.pairs(ctx, newTally(len(r.targets), times*scopes), 1, 0, times*scopes)
	settled(ctx, r.targets)
}

// load is the workers of a cell with their connections.
type load struct {
	cell    cell
	targets []*target
	clients [][]*client // by worker and target
	writers []*writer
	sent    int // requests of earlier runs, which are not sent again
}

func (r *rig) newLoad(c cell) *load {
	l := &load{cell: c, targets: r.targets}
	w := c.workload(r.cfg.Model)
	for worker := range c.conns {
		var clients []*client
		for _, t := range r.targets {
			clients = append(clients, newClient(t))
		}
		l.clients = append(l.clients, clients)
		l.writers = append(l.writers, &writer{w: w, worker: worker})
	}
	return l
}

func (l *load) close() {
	for _, clients := range l.clients {
		for _, c := range clients {
			c.close()
		}
	}
}

// rounds is how often the targets take turns. While one has its turn it works
// as it would alone; that turns are short makes the machine's slow moments
// everyone's.
const rounds = 10

// interleaved sends each request directly and to a target, in random order and
// as fast as the answers come, to one target after the other in random order.
func (l *load) interleaved(ctx context.Context, requests int) *tally {
	t := newTally(len(l.targets), requests)
	r := rand.New(rand.NewPCG(uint64(requests), 1))
	size := max(l.cell.conns, (requests+rounds-1)/rounds)
	for from := 0; from < requests && ctx.Err() == nil; from += size {
		for _, i := range r.Perm(len(l.targets) - 1) {
			l.pairs(ctx, t, i+1, from, min(from+size, requests))
		}
	}
	t.own[0] = slices.Concat(t.direct...)
	l.sent += requests
	return t
}

// pairs sends the requests of one turn.
func (l *load) pairs(ctx context.Context, t *tally, target, from, to int) {
	var wg sync.WaitGroup
	for worker := range l.cell.conns {
		wg.Go(func() {
			direct, proxied := l.clients[worker][0], l.clients[worker][target]
			r := rand.New(rand.NewPCG(uint64(worker), uint64(from)))
			for i := from + worker; i < to && ctx.Err() == nil; i += l.cell.conns {
				message := l.writers[worker].message((l.sent + i) / l.cell.conns)
				directFirst := r.IntN(2) == 0
				var errDirect, err error
				if directFirst {
					t.direct[target][i], errDirect = direct.do(message)
				}
				t.own[target][i], err = proxied.do(message)
				if !directFirst {
					t.direct[target][i], errDirect = direct.do(message)
				}
				t.fail(0, errDirect)
				t.fail(target, err)
			}
		})
	}
	wg.Wait()
}
