package ambient

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/understudy-ai/understudy/internal/background"
)

// This file has what a model fails on step aside, so that the rest goes on.
//
// What failed once waits, twice as long after each failure, and comes after all that didn't. Retries end with the first that fails.
// When one after the other fails that never did before, it is the model: then the job fails, and waits as a whole.

// setbacks is what a job's model failed on. The zero value is empty. It is in RAM alone: a restart tries all once more.
type setbacks[K comparable] struct {
	mu sync.Mutex
	of map[K]setback
}

type setback struct {
	failures int // in a row
	until    time.Time
}

const (
	maxSetback  = time.Hour // what fails again and again is tried so often
	maxSetbacks = 10_000    // beyond them all are forgotten, and tried once more
	maxInARow   = 3         // failures of what never failed before: then it is the model
)

// fresh reports whether the model hasn't failed on it, or not since it succeeded.
func (b *setbacks[K]) fresh(key K) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, failed := b.of[key]
	return !failed
}

// again reports whether it failed, and has waited for long enough.
func (b *setbacks[K]) again(key K, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	was, failed := b.of[key]
	return failed && !now.Before(was.until)
}

// add has it wait, and returns how often it failed and for how long it waits.
func (b *setbacks[K]) add(key K, every time.Duration, now time.Time) (failures int, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	failures, wait = b.of[key].failures+1, 2*every
	for n := 1; n < failures && wait < maxSetback; n++ {
		wait *= 2
	}
	wait = max(min(wait, maxSetback), every)
	if b.of == nil || len(b.of) >= maxSetbacks {
		b.of = map[K]setback{}
	}
	b.of[key] = setback{failures, now.Add(wait)}
	return failures, wait
}

func (b *setbacks[K]) settle(key K) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.of, key)
}

// wording is a kind of texts that a model words.
type wording[K comparable, T any] struct {
	purpose string
	every   time.Duration
	aside   setbacks[K]
	key     func(*T) K
	// due lists what there is to word, of what is wanted.
	due  func(ctx context.Context, wanted func(K) bool) ([]T, error)
	word func(s *Store, ctx context.Context, t *T) error
}

// do words what is due: first what the model never failed on, then what has waited.
func (w *wording[K, T]) do(ctx context.Context, s *Store) error {
	now := s.cfg.Clock()
	fresh, err := w.due(ctx, w.aside.fresh)
	if err != nil {
		return err
	}
	inARow := 0
	for i := range fresh {
		switch failed, err := w.try(ctx, s, &fresh[i]); {
		case err != nil:
			return err
		case failed == nil:
			inARow = 0
		default:
			if inARow++; inARow == maxInARow {
				return failed
			}
		}
	}
	waited, err := w.due(ctx, func(key K) bool { return w.aside.again(key, now) })
	if err != nil {
		return err
	}
	for i := range waited {
		if failed, err := w.try(ctx, s, &waited[i]); failed != nil || err != nil {
			return err
		}
	}
	return nil
}

// try words one text. failed is why it must wait; an error is why all must.
func (w *wording[K, T]) try(ctx context.Context, s *Store, t *T) (failed, err error) {
	key := w.key(t)
	failed = w.word(s, ctx, t)
	switch {
	case failed == nil:
		w.aside.settle(key)
		return nil, nil
	case errors.Is(failed, background.ErrBudget) || ctx.Err() != nil:
		return nil, failed
	}
	failures, wait := w.aside.add(key, w.every, s.cfg.Clock())
	s.setAside.Add(1)
	s.cfg.Logger.Warn("a text can't be worded, and waits", "purpose", w.purpose, "failures", failures, "next_in", wait, "error", failed)
	return failed, nil
}

// SetAside is how often a text had to wait because the model failed on it.
func (s *Store) SetAside() int64 { return s.setAside.Load() }
