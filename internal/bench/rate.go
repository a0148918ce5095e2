package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// rateTimes lengthens runs at a fixed rate: a thousand requests are over in a
// second.
const rateTimes = 4

// block is how many requests at a fixed rate go to one target before another
// has its turn.
const block = 500

// scheduled sends requests at a fixed rate, in blocks that visit the targets in
// random order. Time counts from when a request was due, not from when it got
// its turn, so that a stall shows in every request that it held up.
func (l *load) scheduled(ctx context.Context, requests int) *tally {
	t := newTally(len(l.targets), requests)
	r := rand.New(rand.NewPCG(uint64(requests), 2))
	for from := 0; from < requests && ctx.Err() == nil; from += block {
		for _, target := range r.Perm(len(l.targets)) {
			l.runBlock(ctx, t, target, from, min(from+block, requests))
		}
	}
	for i := range t.direct {
		t.direct[i] = t.own[0]
	}
	l.sent += requests
	return t
}

func (l *load) runBlock(ctx context.Context, t *tally, target, from, to int) {
	interval := time.Second / time.Duration(l.cell.rate)
	var next atomic.Int64
	next.Store(int64(from))
	began := time.Now()
	var wg sync.WaitGroup
	for worker := range l.cell.conns {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= to {
					return
				}
				message := l.writers[worker].message(l.sent + i)
				due := began.Add(time.Duration(i-from) * interval)
				time.Sleep(time.Until(due))
				late := max(0, time.Since(due))
				took, err := l.clients[worker][target].do(message)
				if err == nil {
					t.own[target][i] = timing{first: took.first + late, total: took.total + late}
				}
				t.fail(target, err)
			}
		})
	}
	wg.Wait()
}
