package adaptivelifo_test

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

	"github.com/sluiceproxy/sluice/httpio/adaptivelifo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// second is a wait of a second at most, with an interval of 250 ms and a target of 10 ms.
func second(limit int) adaptivelifo.Options {
	return adaptivelifo.Options{Limit: limit, Longest: time.Second}
}

func pass(d time.Duration) { <-time.NewTimer(d).C }

// pool is a number of places with a queue.
type pool struct {
	queue adaptivelifo.Queue
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
func (p *pool) arrive(ctx context.Context, name string, options adaptivelifo.Options) {
	go func() {
		err := p.queue.Wait(ctx, options, p.take)
		end := "served"
		switch {
		case errors.Is(err, adaptivelifo.ErrFull):
			end = "full"
		case errors.Is(err, adaptivelifo.ErrTimeout):
			end = "late"
		case errors.Is(err, adaptivelifo.ErrDropped):
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

// overload has a queue of at most ten requests be overloaded: a place becomes free every 30 ms and three requests
// arrive. The requests have the next numbers.
func (p *pool) overload(t *testing.T) (next int) {
	t.Helper()
	for lost := 0; lost < 60; pass(30 * time.Millisecond) {
		for range 3 {
			p.arrive(t.Context(), fmt.Sprint(next), second(10))
			next++
		}
		news := p.give(1)
		lost += strings.Count(news, "full") + strings.Count(news, "dropped")
		if strings.Contains(news, fmt.Sprint(next-1, " served")) {
			return next
		}
	}
	t.Error("the queue is not overloaded")
	return next
}

// TestOverload has a queue stand and lose requests: then the newest is served, the oldest is dropped for one that finds
// the queue full, and those that have waited for longer than the interval are but for a backlog.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		next := p.overload(t)
		if next > 60 {
			t.Errorf("the queue is overloaded after %d requests", next)
		}
		waiting := p.queue.Len()
		for i := range 10 - waiting {
			p.arrive(t.Context(), fmt.Sprint("b", i), second(10))
		}
		want(t, "as many as may wait", p.news(), "")
		p.arrive(t.Context(), "one too many", second(10))
		if news := p.news(); !strings.HasSuffix(news, " dropped") || strings.Contains(news, ",") {
			t.Errorf("one too many: %s", news)
		}
		want(t, "the newest", p.give(1), "one too many served")
		for i := range 5 {
			p.arrive(t.Context(), fmt.Sprint("c", i), second(10))
		}
		p.news()
		pass(251 * time.Millisecond)
		want(t, "but for the backlog", fmt.Sprint(strings.Count(p.give(1), "dropped"), p.queue.Len()), "6 3")
		want(t, "the backlog", p.give(3), "c1 served, c2 served, c3 served")
	})
}

// TestOverloadEnds has the queue empty and no request be lost for the interval: it is served in order again.
func TestOverloadEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		p.overload(t)
		p.give(p.queue.Len())
		for _, calm := range []time.Duration{200 * time.Millisecond, 51 * time.Millisecond} {
			pass(calm)
			p.arrive(t.Context(), "0", second(10))
			p.arrive(t.Context(), "1", second(10))
			first := "1 served"
			if calm < 100*time.Millisecond {
				first = "0 served"
			}
			want(t, fmt.Sprint("after further ", calm), p.give(1), first)
			p.give(1)
		}
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

// TestManyAtOnce has more goroutines than places: no request is left waiting, and no place is given twice.
func TestManyAtOnce(t *testing.T) {
	var p pool
	p.free.Store(3)
	var inside atomic.Int64
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 500 {
				options := adaptivelifo.Options{Limit: 64, Longest: time.Minute}
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
