// Package adaptivelifo has a queue of requests that wait for a place, such as one of a service that is at its limit.
//
// A [Queue] that drains is served in the order of arrival, so that a burst loses nothing. One that stands, because more
// requests arrive than are served, would have all of them wait for about as long as clients do, and be served too late.
// It is overloaded then: the newest request is served first (adaptive LIFO), and those that have waited for long are
// dropped, as in CoDel (RFC 8289).
//
// A wait alone is no sign of overload. Clients that send a request only after the response to the one before keep a
// queue standing for ever without any loss. The queue is overloaded if for an interval it was never empty, none of the
// requests that it served had waited for less than a target, and a share of the requests was lost: found the queue
// full, waited for too long, or had clients that left while they waited, or later before their response. Overload ends
// when none was lost for an interval.
//
// Input are calls of [Queue.Wait], each with what takes a place, and of [Queue.Wake] when one may be free; output are
// errors. The package starts no goroutine.
package adaptivelifo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrFull is the error of a request that found Options.Limit requests waiting.
	ErrFull = errors.New("the queue is full")
	// ErrTimeout is the error of a request that has waited for Options.Longest.
	ErrTimeout = errors.New("the time in the queue is over")
	// ErrDropped is the error of a request that was dropped from an overloaded queue, in favour of newer ones.
	ErrDropped = errors.New("the queue is overloaded")
)

// Options say how a request waits. They may differ from call to call.
type Options struct {
	// Limit is how many requests may wait at a time. With less than 1 none may.
	Limit int
	// Longest is how long the request may wait, more than 0. The interval of the queue is a quarter of that of the
	// latest request, which also is how long a request may wait in an overloaded queue; the target is a hundredth.
	Longest time.Duration
}

// Queue holds waiting requests. The zero value is an empty queue. It is safe for concurrent use, and takes its lock
// only while requests wait.
type Queue struct {
	length atomic.Int64

	mutex sync.Mutex
	// oldest and newest are the ends of a list, nil while it is empty.
	oldest, newest *ticket
	verdict        verdict
}

// ticket is one waiting request. All but wake is guarded by the queue.
type ticket struct {
	joined       time.Time
	older, newer *ticket
	queued       bool
	// wake receives a value when the request should look at its state.
	wake chan struct{}
}

// call makes the request look at its state.
func (t *ticket) call() {
	select {
	case t.wake <- struct{}{}:
	default: // It is about to.
	}
}

// Len returns how many requests wait.
func (q *Queue) Len() int { return int(q.length.Load()) }

// Wait waits until ready returns true, which takes a place if there is one. Ready is called when it is the turn of the
// request: at once if no other goes first, and after each [Queue.Wake] then; calls of different requests may overlap.
// The error is [ErrFull], [ErrTimeout] or [ErrDropped], or that of the context if that ends first.
func (q *Queue) Wait(ctx context.Context, options Options, ready func() bool) error {
	t, err := q.join(options, time.Now())
	if err != nil {
		return err
	}
	served := false
	defer func() { q.leave(t, served) }()
	if first, _ := q.place(t); first {
		if served = ready(); served {
			return nil
		}
	}
	timer := time.NewTimer(options.Longest)
	defer timer.Stop()
	for {
		select {
		case <-t.wake:
		case <-timer.C:
			return ErrTimeout
		case <-ctx.Done():
			return ctx.Err()
		}
		switch first, queued := q.place(t); {
		case !queued:
			return ErrDropped
		case !first: // The order has changed since the call, which is for the first.
			q.pass()
		default:
			if served = ready(); served {
				return nil
			}
		}
	}
}

// Wake says that a place may be free. It is called after the place was given back.
func (q *Queue) Wake() {
	if q.length.Load() == 0 {
		return
	}
	now := time.Now()
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.verdict.overloaded {
		for q.length.Load() > backlog && now.Sub(q.oldest.joined) > q.verdict.interval {
			q.drop(now)
		}
	}
	q.verdict.judge(now)
	q.callHead()
}

// Abandoned says that a request that Wait had served has lost its client before the response. It counts as lost.
func (q *Queue) Abandoned() {
	now := time.Now()
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.verdict.abandon(now)
}

// pass calls the request whose turn it is.
func (q *Queue) pass() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.callHead()
}

func (q *Queue) callHead() {
	if t := q.head(); t != nil {
		t.call()
	}
}

// join appends a request. In an overloaded queue that is full, the oldest one is dropped for it.
func (q *Queue) join(options Options, now time.Time) (*ticket, error) {
	t := &ticket{joined: now, queued: true, wake: make(chan struct{}, 1)}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.verdict.interval = options.Longest / intervalPart
	q.verdict.target = options.Longest / targetPart
	if q.oldest == nil {
		q.verdict.fill(now)
	}
	for q.length.Load() >= int64(options.Limit) {
		if !q.verdict.overloaded || options.Limit < 1 {
			q.verdict.lose(now)
			return nil, ErrFull
		}
		q.drop(now)
	}
	if t.older = q.newest; t.older != nil {
		t.older.newer = t
	} else {
		q.oldest = t
	}
	q.newest = t
	q.length.Add(1)
	return t, nil
}

// leave removes a request, and calls the next one, for which there may be a place as well.
func (q *Queue) leave(t *ticket, served bool) {
	now := time.Now()
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if t.queued { // Otherwise it was dropped, and is counted.
		if q.remove(t); served {
			q.verdict.serve(now.Sub(t.joined))
		} else {
			q.verdict.lose(now)
		}
	}
	q.verdict.judge(now)
	q.callHead()
}

// head returns the request whose turn it is.
func (q *Queue) head() *ticket {
	if q.verdict.overloaded {
		return q.newest
	}
	return q.oldest
}

// place reports whether it is the turn of a request, and whether it has not been dropped.
func (q *Queue) place(t *ticket) (first, queued bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.head() == t, t.queued
}

// drop removes the oldest request.
func (q *Queue) drop(now time.Time) {
	t := q.oldest
	q.remove(t)
	q.verdict.lose(now)
	t.call()
}

// remove takes a request out of the list.
func (q *Queue) remove(t *ticket) {
	if t.older != nil {
		t.older.newer = t.newer
	} else {
		q.oldest = t.newer
	}
	if t.newer != nil {
		t.newer.older = t.older
	} else {
		q.newest = t.older
	}
	t.older, t.newer, t.queued = nil, nil, false
	q.length.Add(-1)
}
