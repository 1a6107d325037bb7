package loadbalancer

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// pendingQueue holds the requests that wait for a limit of their pool, first come first served.
type pendingQueue struct {
	length  atomic.Int64
	mutex   sync.Mutex
	tickets []*ticket
}

// ticket is one waiting request. wake receives a value when another attempt to acquire is worthwhile.
type ticket struct{ wake chan struct{} }

// join appends a ticket, unless limit tickets are queued already.
func (q *pendingQueue) join(limit int) (*ticket, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.tickets) >= limit {
		return nil, false
	}
	t := &ticket{wake: make(chan struct{}, 1)}
	q.tickets = append(q.tickets, t)
	q.length.Store(int64(len(q.tickets)))
	return t, true
}

// quit removes a ticket and wakes the new head of the queue, which may be able to proceed as well.
func (q *pendingQueue) quit(t *ticket) {
	q.mutex.Lock()
	if at := slices.Index(q.tickets, t); at >= 0 {
		q.tickets = slices.Delete(q.tickets, at, at+1)
	}
	q.length.Store(int64(len(q.tickets)))
	q.mutex.Unlock()
	q.call()
}

// first reports whether the ticket is the head of the queue.
func (q *pendingQueue) first(t *ticket) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.tickets) > 0 && q.tickets[0] == t
}

// call wakes the head of the queue.
func (q *pendingQueue) call() {
	if q.length.Load() == 0 {
		return
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.tickets) > 0 {
		select {
		case q.tickets[0].wake <- struct{}{}:
		default: // A wake-up is pending already.
		}
	}
}

// enter counts a request in, unless a limit is reached.
func (p *Pool) enter(s *Snapshot, m *Member, r *Request) bool {
	if s.counting && !p.count(&s.policies.Limits, m) {
		return false
	}
	r.Counted = s.counting
	m.upstream.begin()
	return true
}

// full reports whether the limit of the whole pool is reached.
func (s *Snapshot) full(p *Pool) bool {
	return s.counting && s.policies.Limits.PerPool > 0 && p.state.InFlight.Load() >= int64(s.policies.Limits.PerPool)
}

// count counts a request for its member and the pool, unless a limit is reached.
func (p *Pool) count(limits *Limits, m *Member) bool {
	if !raise(&m.active, limits.PerEndpoint) {
		return false
	}
	if raise(&p.state.InFlight, limits.PerPool) {
		return true
	}
	m.active.Add(-1)
	p.pending.call() // The head of the queue may have found the member at its limit meanwhile.
	return false
}

// raise increments a counter up to a limit; 0 is no limit.
func raise(counter *atomic.Int64, limit int) bool {
	for limit > 0 {
		old := counter.Load()
		if old >= int64(limit) {
			return false
		}
		if counter.CompareAndSwap(old, old+1) {
			return true
		}
	}
	counter.Add(1)
	return true
}

// leave counts a request out.
func (p *Pool) leave(m *Member) {
	p.state.InFlight.Add(-1)
	m.active.Add(-1)
	p.pending.call()
}

// acquireLimited acquires from a pool with limits. Only retries may overtake waiting requests, because the
// previous attempt may hold the slot that the head of the queue waits for.
func (p *Pool) acquireLimited(r *Request) (*Member, error) {
	s := p.snapshot.Load()
	if len(r.Tried) > 0 || p.pending.length.Load() == 0 || s.policies.Limits.Pending == 0 {
		if member := s.choose(p, r); member != nil {
			return member, nil
		}
		refusal := s.refuse(r)
		if !refusal.Saturated {
			return nil, refusal
		}
		if s.policies.Limits.Pending == 0 {
			p.counters.Saturated.Add(1)
			return nil, refusal
		}
	}
	return p.wait(r, &s.policies.Limits)
}

// wait queues the request and acquires when it is the head of the queue.
func (p *Pool) wait(r *Request, limits *Limits) (*Member, error) {
	ticket, ok := p.pending.join(limits.Pending)
	if !ok {
		p.counters.Saturated.Add(1)
		return nil, &Refusal{Reason: strconv.Itoa(limits.Pending) + " requests wait for an endpoint already", Saturated: true}
	}
	defer p.pending.quit(ticket)
	p.counters.Waited.Add(1)
	ctx := r.Context
	if r.HTTP != nil {
		ctx = r.HTTP.Context()
	}
	timer := time.NewTimer(limits.PendingTime)
	defer timer.Stop()
	for {
		if p.pending.first(ticket) {
			s := p.snapshot.Load()
			if member := s.choose(p, r); member != nil {
				return member, nil
			}
			if refusal := s.refuse(r); !refusal.Saturated {
				return nil, refusal
			}
		}
		select {
		case <-ticket.wake:
		case <-timer.C:
			p.counters.Saturated.Add(1)
			return nil, &Refusal{Reason: "no endpoint became free within " + limits.PendingTime.String(), Saturated: true}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
