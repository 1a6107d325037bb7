package codel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/httpio/codel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// second is a wait of a second at most, with a target of 50 ms.
func second(limit int) codel.Options { return codel.Options{Limit: limit, Longest: time.Second} }

func pass(d time.Duration) { <-time.NewTimer(d).C }

// pool is a number of places with a queue.
type pool struct {
	queue codel.Queue
	free  atomic.Int64
	mutex sync.Mutex
	ended []string
}

// take takes a place.
func (p *pool) take() bool {
	for {
		free := p.free.Load()
		if free <= 0 {
			return false
		}
		if p.free.CompareAndSwap(free, free-1) {
			return true
		}
	}
}

// give gives places back, and returns how the requests have ended that ended by it.
func (p *pool) give(places int) string {
	for range places {
		p.free.Add(1)
		p.queue.Wake()
	}
	return p.news()
}

// news returns the ends since the last call, sorted.
func (p *pool) news() string {
	synctest.Wait()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	ended := p.ended
	p.ended = nil
	slices.Sort(ended)
	return strings.Join(ended, ", ")
}

// arrive has a request wait, whose end is its name and how it ended.
func (p *pool) arrive(ctx context.Context, name string, options codel.Options) {
	go func() {
		err := p.queue.Wait(ctx, options, p.take)
		end := "served"
		switch {
		case errors.Is(err, codel.ErrFull):
			end = "full"
		case errors.Is(err, codel.ErrTimeout):
			end = "late"
		case errors.Is(err, codel.ErrDropped):
			end = "dropped"
		case err != nil:
			end = err.Error()
		}
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.ended = append(p.ended, name+" "+end)
	}()
	synctest.Wait()
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestOrder serves a burst in order, one after another or several at a time.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		for i := range 5 {
			p.arrive(t.Context(), fmt.Sprint(i), second(5))
		}
		p.arrive(t.Context(), "5", second(5))
		want(t, "one too many", p.news(), "5 full")
		p.arrive(t.Context(), "6", second(0))
		want(t, "without a queue", p.news(), "6 full")
		want(t, "a place", p.give(1), "0 served")
		p.free.Add(2)
		p.queue.Wake()
		want(t, "two places, and one call", p.news(), "1 served, 2 served")
		pass(999 * time.Millisecond)
		want(t, "within the time", p.give(1), "3 served")
		pass(time.Millisecond)
		want(t, "the last", p.news(), "4 late")
		if p.queue.Len() != 0 {
			t.Errorf("%d wait", p.queue.Len())
		}
		want(t, "nothing waits", p.give(1), "")
		p.arrive(t.Context(), "7", second(1))
		want(t, "a free place", p.news(), "7 served")
	})
}

// TestLeaving has requests leave whose turn it is or is not. The next one is called.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		ctx, leave := context.WithCancel(t.Context())
		p.arrive(ctx, "0", second(5))
		p.arrive(t.Context(), "1", second(5))
		p.arrive(ctx, "2", second(5))
		p.arrive(t.Context(), "3", second(5))
		leave()
		want(t, "left", p.news(), "0 context canceled, 2 context canceled")
		want(t, "served", p.give(1), "1 served")
		want(t, "served", p.give(1), "3 served")
	})
}

// TestOverload has a queue stand: then the newest is served, and those that have waited longer than the target are
// dropped but for a backlog, until the queue has been empty.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		arrive := func(from, to int) {
			for i := from; i <= to; i++ {
				p.arrive(t.Context(), fmt.Sprint(i), codel.Options{
					Limit: 10, Longest: time.Hour, Interval: time.Second, Target: 50 * time.Millisecond,
				})
			}
		}
		arrive(0, 7)
		pass(999 * time.Millisecond)
		want(t, "before the interval is over", p.give(1), "0 served")
		pass(time.Millisecond)
		arrive(8, 9)
		want(t, "nothing is free", p.news(), "")
		want(t, "after the interval", p.give(1), "1 dropped, 2 dropped, 3 dropped, 4 dropped, 5 dropped, 9 served")
		want(t, "the backlog", p.give(2), "7 served, 8 served")
		arrive(10, 18)
		want(t, "as many as may wait", p.news(), "")
		pass(50 * time.Millisecond)
		arrive(19, 19)
		want(t, "one too many", p.news(), "6 dropped")
		want(t, "within the target", p.give(1), "19 served")
		pass(time.Nanosecond)
		want(t, "beyond the target", p.give(1),
			"10 dropped, 11 dropped, 12 dropped, 13 dropped, 14 dropped, 18 served")
		want(t, "the rest", p.give(3), "15 served, 16 served, 17 served")
		arrive(20, 22)
		want(t, "the queue has been empty", p.give(1), "20 served")
		want(t, "the queue has been empty", p.give(2), "21 served, 22 served")
	})
}

// TestShortWaitsAreNoOverload has requests wait all the time, but for less than the target.
func TestShortWaitsAreNoOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		p.arrive(t.Context(), "0", second(10))
		for i := range 200 {
			p.arrive(t.Context(), fmt.Sprint(i+1), second(10))
			pass(20 * time.Millisecond)
			want(t, "in order", p.give(1), fmt.Sprint(i, " served"))
		}
		want(t, "the last", p.give(1), "200 served")
	})
}

// TestNoPlaceNoDrop has a queue stand without a place that becomes free: each waits as long as it may.
func TestNoPlaceNoDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		for i := range 10 {
			p.arrive(t.Context(), fmt.Sprint(i), second(10))
			pass(time.Second / 10)
		}
		synctest.Wait()
		for i := range 9 {
			want(t, "its time is over", p.news(), fmt.Sprint(i, " late"))
			pass(time.Second / 10)
		}
		want(t, "its time is over", p.news(), "9 late")
	})
}

// TestAnOrderThatChanges has a call be on its way to the oldest request when the queue becomes overloaded, and the
// place must not stay free.
func TestAnOrderThatChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		p.arrive(t.Context(), "0", second(10))
		pass(999 * time.Millisecond)
		p.arrive(t.Context(), "1", codel.Options{Limit: 10, Longest: time.Hour, Interval: time.Second})
		var group sync.WaitGroup
		p.free.Add(1)
		p.queue.Wake() // The oldest one is called, and runs only when this goroutine blocks.
		refusing := codel.Options{Limit: 10, Longest: time.Hour, Interval: time.Nanosecond}
		group.Go(func() {
			// The newest one finds that the queue stands, and has no use for a place.
			_ = p.queue.Wait(t.Context(), refusing, func() bool { return true })
		})
		group.Wait()
		if got := p.news(); got != "0 served" && got != "1 served" {
			t.Errorf("%q with %d free places", got, p.free.Load())
		}
		p.give(1)
	})
}

// TestManyAtOnce has more goroutines than places: no request is left waiting, and no place is given twice.
func TestManyAtOnce(t *testing.T) {
	var p pool
	p.free.Store(3)
	var inside atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 500 {
				options := codel.Options{
					Limit: 64, Longest: time.Minute, Interval: time.Microsecond, Target: time.Minute,
				}
				if err := p.queue.Wait(t.Context(), options, p.take); err != nil {
					t.Error(err)
					return
				}
				if inside.Add(1) > 3 {
					t.Error("more requests than places")
				}
				inside.Add(-1)
				p.free.Add(1)
				p.queue.Wake()
			}
		})
	}
	group.Wait()
	if p.free.Load() != 3 || p.queue.Len() != 0 {
		t.Errorf("%d places are free, %d requests wait", p.free.Load(), p.queue.Len())
	}
}
