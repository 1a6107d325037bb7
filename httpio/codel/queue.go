// Package codel has a queue of requests that wait for a place, such as a connection to a service that is at its limit.
//
// The queue absorbs bursts: it is served in the order of arrival, and each request waits as long as it may. If the
// queue stands instead, as it does when more requests arrive than are served, this order would have all requests wait
// for nearly that long, and many in vain. The queue then is overloaded until it is empty: the newest request is served
// first (adaptive LIFO), and requests that have waited longer than a target are dropped each time a place becomes free.
//
// A queue stands if for an interval no request got a place within the target, the criterion of CoDel (RFC 8289). As
// there, a minimal backlog is never dropped, so that a place does not stay free for want of a request.
//
// In flow calls of [Queue.Wait], each with what takes a place, and [Queue.Wake] when one may be free; out flow errors.
// The queue starts no goroutine, and imports no other package of the module.
package codel

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
	// ErrDropped is the error of a request that was dropped because the queue is overloaded.
	ErrDropped = errors.New("the queue is overloaded")
)

const (
	// targetPart is the part of the interval that is the default of the target, as RFC 8289, section 4.3 recommends.
	targetPart = 20
	// backlog is how many requests are not dropped, however long they have waited.
	backlog = 4
)

// Options say how a request waits. They may differ from call to call; Interval and Target are those of the latest.
type Options struct {
	// Limit is how many requests may wait at a time. With less than 1 none may.
	Limit int
	// Longest is how long the request may wait.
	Longest time.Duration
	// Interval is how long the queue has to stand until it is overloaded. Default: Longest.
	Interval time.Duration
	// Target is how long a request may wait in a queue that does not stand, and in one that is overloaded. Default: a
	// twentieth of Interval.
	Target time.Duration
}

// Queue holds waiting requests. The zero value is an empty queue. It is safe for concurrent use, and takes its lock
// only while requests wait.
type Queue struct {
	length atomic.Int64

	mutex sync.Mutex
	// oldest and newest are the ends of a list, nil while it is empty.
	oldest, newest   *ticket
	interval, target time.Duration
	// standing is since when no request has got a place within the target, or else since when requests wait.
	standing   time.Time
	overloaded bool
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
	if q.first(t) {
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
	q.judge(now)
	if q.overloaded {
		for q.length.Load() > backlog && now.Sub(q.oldest.joined) > q.target {
			q.drop()
		}
	}
	q.callHead()
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

// join appends a request.
func (q *Queue) join(options Options, now time.Time) (*ticket, error) {
	t := &ticket{joined: now, queued: true, wake: make(chan struct{}, 1)}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.interval = options.Interval; q.interval == 0 {
		q.interval = options.Longest
	}
	if q.target = options.Target; q.target == 0 {
		q.target = q.interval / targetPart
	}
	q.judge(now)
	for q.length.Load() >= int64(options.Limit) {
		// The oldest one would be dropped by the next place that becomes free.
		if !q.overloaded || options.Limit < 1 {
			return nil, ErrFull
		}
		q.drop()
	}
	if t.older = q.newest; t.older != nil {
		t.older.newer = t
	} else {
		q.oldest, q.standing = t, now
	}
	q.newest = t
	q.length.Add(1)
	return t, nil
}

// leave removes a request, and calls the next one, for which there may be a place as well.
func (q *Queue) leave(t *ticket, served bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if t.queued {
		q.remove(t)
	}
	if now := time.Now(); served && now.Sub(t.joined) <= q.target {
		q.standing = now
	}
	q.callHead()
}

// judge notes that the queue is overloaded, which it is until it is empty.
func (q *Queue) judge(now time.Time) {
	q.overloaded = q.oldest != nil && (q.overloaded || now.Sub(q.standing) >= q.interval)
}

// head returns the request whose turn it is.
func (q *Queue) head() *ticket {
	if q.overloaded {
		return q.newest
	}
	return q.oldest
}

// first reports whether it is the turn of a request.
func (q *Queue) first(t *ticket) bool {
	first, _ := q.place(t)
	return first
}

// place reports whether it is the turn of a request, and whether it has not been dropped.
func (q *Queue) place(t *ticket) (first, queued bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.head() == t, t.queued
}

// drop removes the oldest request.
func (q *Queue) drop() {
	t := q.oldest
	q.remove(t)
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
	if q.oldest == nil {
		q.overloaded = false
	}
}
