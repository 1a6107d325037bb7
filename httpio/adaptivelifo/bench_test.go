package adaptivelifo_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/httpio/adaptivelifo"
)

// fifo is a queue that is served in order only, as a baseline.
type fifo struct {
	length  atomic.Int64
	mutex   sync.Mutex
	tickets []chan struct{}
}

func (q *fifo) Wait(ctx context.Context, options adaptivelifo.Options, ready func() bool) error {
	wake := make(chan struct{}, 1)
	q.mutex.Lock()
	if len(q.tickets) >= options.Limit {
		q.mutex.Unlock()
		return adaptivelifo.ErrFull
	}
	q.tickets = append(q.tickets, wake)
	q.length.Store(int64(len(q.tickets)))
	q.mutex.Unlock()
	defer func() {
		q.mutex.Lock()
		if at := slices.Index(q.tickets, wake); at >= 0 {
			q.tickets = slices.Delete(q.tickets, at, at+1)
		}
		q.length.Store(int64(len(q.tickets)))
		q.mutex.Unlock()
		q.Wake()
	}()
	timer := time.NewTimer(options.Longest)
	defer timer.Stop()
	for {
		q.mutex.Lock()
		first := len(q.tickets) > 0 && q.tickets[0] == wake
		q.mutex.Unlock()
		if first && ready() {
			return nil
		}
		select {
		case <-wake:
		case <-timer.C:
			return adaptivelifo.ErrTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *fifo) Wake() {
	if q.length.Load() == 0 {
		return
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.tickets) > 0 {
		select {
		case q.tickets[0] <- struct{}{}:
		default:
		}
	}
}

type queue interface {
	Wait(ctx context.Context, options adaptivelifo.Options, ready func() bool) error
	Wake()
}

// contended has waiters share one place, and returns how long it takes to hand it over the given number of times.
func contended(b *testing.B, q queue, waiters, handovers int) time.Duration {
	b.Helper()
	var free, left atomic.Int64
	free.Store(1)
	left.Store(int64(handovers))
	options := adaptivelifo.Options{Limit: waiters, Longest: time.Minute}
	var group sync.WaitGroup
	start := time.Now()
	for range waiters {
		group.Go(func() {
			for left.Add(-1) >= 0 {
				if err := q.Wait(b.Context(), options, func() bool { return free.CompareAndSwap(1, 0) }); err != nil {
					b.Error(err)
					return
				}
				free.Store(1)
				q.Wake()
			}
		})
	}
	group.Wait()
	return time.Since(start)
}

// BenchmarkWake is what the end of a request costs while none waits.
func BenchmarkWake(b *testing.B) {
	var q adaptivelifo.Queue
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			q.Wake()
		}
	})
}

// BenchmarkContended hands one place over among waiters, and reports the ratio to a queue that is served in order only:
// both take turns, so that the ratio is that of one run.
func BenchmarkContended(b *testing.B) {
	const handovers = 2000
	for _, waiters := range []int{1, 16, 256} {
		b.Run(fmt.Sprint("waiters=", waiters), func(b *testing.B) {
			var adaptive, ordered time.Duration
			for b.Loop() {
				adaptive += contended(b, new(adaptivelifo.Queue), waiters, handovers)
				ordered += contended(b, new(fifo), waiters, handovers)
			}
			b.ReportMetric(float64(adaptive.Nanoseconds())/float64(b.N*handovers), "ns/handover")
			b.ReportMetric(float64(adaptive)/float64(ordered), "of-fifo")
		})
	}
}
