package batch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	wait    = 50 * time.Millisecond
	writing = 30 * time.Millisecond // what a batch takes in tests, by the clock of synctest
)

// written is a batch, and when it was begun.
type written struct {
	At    time.Duration
	Batch []int
}

// writer runs a queue whose writer takes its time, and returns what it wrote
// once the queue is closed.
func writer(q *Queue[int]) (closed func() []written) {
	began := time.Now()
	var all []written
	go q.Run(func(batch []int) {
		if len(batch) > 0 { // else somebody was in a hurry for nothing
			all = append(all, written{time.Since(began), slices.Clone(batch)})
			time.Sleep(writing)
		}
	})

	return func() []written {
		q.Close()
		return all
	}
}

const ms = time.Millisecond

func TestGathering(t *testing.T) {
	type step struct {
		at  time.Duration
		put []int // nil: hurry
	}
	tests := []struct {
		name       string
		size, most int
		steps      []step
		want       []written
	}{
		{"entries wait for company", 100, 10, []step{{0, []int{1}}, {20 * ms, []int{2}}, {49 * ms, []int{3}}}, []written{{50 * ms, []int{1, 2, 3}}}},
		{
			"not longer for what came during a write", 100, 10,
			[]step{{0, []int{1}}, {60 * ms, []int{2}}, {100 * ms, []int{3}}},
			[]written{{50 * ms, []int{1}}, {110 * ms, []int{2, 3}}},
		},
		{
			"at most so many at once", 100, 3,
			[]step{{0, []int{1}}, {20 * ms, nil}, {21 * ms, []int{2, 3, 4, 5, 6}}},
			[]written{{20 * ms, []int{1}}, {50 * ms, []int{2, 3, 4}}, {80 * ms, []int{5, 6}}},
		},
		{"a batch need not wait", 100, 3, []step{{0, []int{1}}, {5 * ms, []int{2, 3, 4}}}, []written{{5 * ms, []int{1, 2, 3}}, {55 * ms, []int{4}}}},
		{"nor half of a small queue", 4, 10, []step{{5 * ms, []int{1, 2, 3}}}, []written{{5 * ms, []int{1, 2, 3}}}},
		{"nor anything in a hurry", 100, 10, []step{{0, []int{1, 2}}, {10 * ms, nil}, {45 * ms, []int{3}}}, []written{{10 * ms, []int{1, 2}}, {95 * ms, []int{3}}}},
		{"nothing", 100, 10, []step{{10 * ms, nil}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[int](tt.size, tt.most, wait)
				began, closed := time.Now(), writer(q)
				for _, s := range tt.steps {
					time.Sleep(s.at - time.Since(began))
					synctest.Wait()
					if s.put == nil {
						q.Hurry()
					}
					for _, n := range s.put {
						if err := q.Put(n); err != nil {
							t.Error(err)
						}
					}
				}
				time.Sleep(time.Second)
				if diff := cmp.Diff(tt.want, closed()); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestSync asks while nothing, something that gathers, and something else that
// is being written is there.
func TestSync(t *testing.T) {
	tests := []struct {
		name   string
		before time.Duration // between the first entry and the second
		at     time.Duration // of Sync
		took   time.Duration
		want   []written
	}{
		{"while they gather", 5 * ms, 10 * ms, writing, []written{{10 * ms, []int{1, 2}}, {60 * ms, []int{3}}}},
		{"during a write", 55 * ms, 60 * ms, 50 * ms, []written{{50 * ms, []int{1}}, {80 * ms, []int{2}}, {110 * ms, []int{3}}}},
		{"of what is written", 5 * ms, 200 * ms, 0, []written{{50 * ms, []int{1, 2}}, {250 * ms, []int{3}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[int](100, 10, wait)
				closed := writer(q)
				put(t, q, 1)
				time.Sleep(tt.before)
				put(t, q, 2)
				time.Sleep(tt.at - tt.before)
				began := time.Now()
				go func() { // what is put behind it does not count
					synctest.Wait()
					put(t, q, 3)
				}()
				if err := q.Sync(t.Context()); err != nil || time.Since(began) != tt.took {
					t.Errorf("Sync = %v after %v, want %v", err, time.Since(began), tt.took)
				}
				time.Sleep(time.Second)
				if diff := cmp.Diff(tt.want, closed()); diff != "" {
					t.Errorf("batches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func put(t *testing.T, q *Queue[int], n int) {
	t.Helper()
	if err := q.Put(n); err != nil {
		t.Error(err)
	}
}

// TestFull fills a queue before its writer starts.
func TestFull(t *testing.T) {
	q := New[int](2, 10, wait)
	put(t, q, 1)
	put(t, q, 2)
	if err := q.Put(3); !errors.Is(err, ErrFull) || q.Len() != 2 {
		t.Errorf("Put = %v with %d waiting, want %v, 2", err, q.Len(), ErrFull)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.PutWait(ctx, 3); !errors.Is(err, ErrFull) || !errors.Is(err, context.Canceled) {
		t.Errorf("PutWait = %v, want %v, %v", err, ErrFull, context.Canceled)
	}
	if err := q.Sync(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Sync = %v, want %v", err, context.Canceled)
	}
	var got []int
	go q.Run(func(batch []int) { got = append(got, batch...) })
	if err := q.PutWait(t.Context(), 4); err != nil {
		t.Error(err)
	}
	if err := q.Sync(t.Context()); err != nil || q.Len() != 0 {
		t.Errorf("Sync = %v with %d waiting", err, q.Len())
	}
	q.Close()
	if want := []int{1, 2, 4}; !slices.Equal(got, want) {
		t.Errorf("written %v, want %v", got, want)
	}
}

// TestClose closes a queue during a write: it returns once all is written.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New[int](100, 2, wait)
		closed := writer(q)
		for n := range 5 {
			put(t, q, n)
		}
		synctest.Wait()
		want := []written{{0, []int{0, 1}}, {30 * ms, []int{2, 3}}, {60 * ms, []int{4}}}
		began := time.Now()
		if diff := cmp.Diff(want, closed()); diff != "" || time.Since(began) != 90*ms {
			t.Errorf("closed after %v; batches (-want +got):\n%s", time.Since(began), diff)
		}
		q.Close()
		if err := q.Put(5); !errors.Is(err, ErrClosed) {
			t.Errorf("Put = %v, want %v", err, ErrClosed)
		}
		if err := q.PutWait(t.Context(), 5); !errors.Is(err, ErrClosed) {
			t.Errorf("PutWait = %v, want %v", err, ErrClosed)
		}
		if err := q.Sync(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Sync = %v, want %v", err, ErrClosed)
		}
	})
}

func TestRetry(t *testing.T) {
	tests := []struct {
		name  string
		good  int // the attempt that succeeds
		close time.Duration
		want  []time.Duration // of attempts
	}{
		{"good at once", 1, time.Hour, []time.Duration{0}},
		{"good later", 4, time.Hour, []time.Duration{0, 50 * ms, 150 * ms, 350 * ms}},
		{"closed between two", 0, 200 * ms, []time.Duration{0, 50 * ms, 150 * ms, 200 * ms}},
		{"never more than five seconds", 11, time.Hour, []time.Duration{
			0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 3150 * ms, 6350 * ms, 11350 * ms, 16350 * ms, 21350 * ms,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := New[int](10, 10, 0)
				began := time.Now()
				var got []time.Duration
				go q.Run(func(batch []int) {
					if len(batch) == 0 {
						return
					}
					q.Retry(func() bool {
						got = append(got, time.Since(began))
						return len(got) == tt.good
					})
				})
				put(t, q, 1)
				time.Sleep(tt.close)
				q.Close()
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("attempts (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestManyPut has many put more than there is room for, some of them in a
// hurry: nothing is lost, and what each of them put stays in order.
func TestManyPut(t *testing.T) {
	const workers, each = 20, 500
	q := New[[2]int](16, 64, wait)
	var got [workers][]int
	go q.Run(func(batch [][2]int) {
		for _, e := range batch {
			got[e[0]] = append(got[e[0]], e[1])
		}
	})
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range each {
				err := q.Put([2]int{w, i})
				if errors.Is(err, ErrFull) {
					err = q.PutWait(t.Context(), [2]int{w, i})
				}
				if i%100 == w {
					err = errors.Join(err, q.Sync(t.Context()))
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	q.Close()
	for w := range got {
		if len(got[w]) != each || !slices.IsSorted(got[w]) {
			t.Errorf("of worker %d %d came, in order %t; want %d", w, len(got[w]), slices.IsSorted(got[w]), each)
		}
	}
}

// BenchmarkPut is what a request pays, with the writer at work beside it.
func BenchmarkPut(b *testing.B) {
	q := New[*int](8192, 512, wait)
	go q.Run(func([]*int) {})
	defer q.Close()
	n := new(int)
	b.ReportAllocs()
	for b.Loop() {
		if q.Put(n) != nil {
			b.StopTimer()
			if err := q.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}
