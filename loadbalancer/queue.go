package loadbalancer

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// queue is the requests that wait because a limit of their pool is reached, first come first served.
type queue struct {
	length  atomic.Int64
	mutex   sync.Mutex
	tickets []*ticket
}

// ticket is a place in a queue. It is told when it is worth trying again.
type ticket struct{ wake chan struct{} }

// join returns a place at the end, unless there are that many before it.
func (q *queue) join(limit int) (*ticket, bool) {
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

// quit gives a place up and tells whoever is first now, who may be able to go as well.
func (q *queue) quit(t *ticket) {
	q.mutex.Lock()
	if at := slices.Index(q.tickets, t); at >= 0 {
		q.tickets = slices.Delete(q.tickets, at, at+1)
	}
	q.length.Store(int64(len(q.tickets)))
	q.mutex.Unlock()
	q.call()
}

// first reports whether it is the ticket's turn.
func (q *queue) first(t *ticket) bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.tickets) > 0 && q.tickets[0] == t
}

// call tells the first that it is worth trying.
func (q *queue) call() {
	if q.length.Load() == 0 {
		return
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if len(q.tickets) > 0 {
		select {
		case q.tickets[0].wake <- struct{}{}:
		default: // It has been told already.
		}
	}
}

// enter counts a request in, unless a limit forbids it.
func (p *Pool) enter(s *Snapshot, m *Member, r *Request) bool {
	if s.counting && !p.count(&s.limits, m) {
		return false
	}
	r.Counted = s.counting
	m.upstream.begin()
	return true
}

// full reports whether nobody can take a request, whoever is asked.
func (s *Snapshot) full(p *Pool) bool {
	return s.counting && s.limits.PerPool > 0 && p.state.InFlight.Load() >= int64(s.limits.PerPool)
}

// count counts a request for its member and the pool, unless a limit forbids it.
func (p *Pool) count(limits *Limits, m *Member) bool {
	if !raise(&m.active, limits.PerEndpoint) {
		return false
	}
	if raise(&p.state.InFlight, limits.PerPool) {
		return true
	}
	m.active.Add(-1)
	p.queue.call() // Who is first may have met the member meanwhile.
	return false
}

// raise counts up to a limit, of which 0 is none.
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

// leave counts a request out that was counted in.
func (p *Pool) leave(m *Member) {
	p.state.InFlight.Add(-1)
	m.active.Add(-1)
	p.queue.call()
}

// acquireLimited acquires from a pool that counts. Nobody overtakes those that wait but further tries, which do not wait: the one
// before may hold the place that the first of the queue waits for.
func (p *Pool) acquireLimited(r *Request) (*Member, error) {
	s := p.snapshot.Load()
	if len(r.Tried) > 0 || p.queue.length.Load() == 0 || s.limits.Pending == 0 {
		if member := s.choose(p, r); member != nil {
			return member, nil
		}
		refusal := s.refuse(r)
		if !refusal.Saturated {
			return nil, refusal
		}
		if s.limits.Pending == 0 {
			p.counters.Saturated.Add(1)
			return nil, refusal
		}
	}
	return p.wait(r, s.limits)
}

// wait acquires when it is the request's turn.
func (p *Pool) wait(r *Request, limits Limits) (*Member, error) {
	place, ok := p.queue.join(limits.Pending)
	if !ok {
		p.counters.Saturated.Add(1)
		return nil, &Refusal{Reason: strconv.Itoa(limits.Pending) + " requests wait for an endpoint already", Saturated: true}
	}
	defer p.queue.quit(place)
	p.counters.Waited.Add(1)
	timer := time.NewTimer(limits.PendingTime)
	defer timer.Stop()
	for {
		if p.queue.first(place) {
			s := p.snapshot.Load()
			if member := s.choose(p, r); member != nil {
				return member, nil
			}
			if refusal := s.refuse(r); !refusal.Saturated {
				return nil, refusal
			}
		}
		select {
		case <-place.wake:
		case <-timer.C:
			p.counters.Saturated.Add(1)
			return nil, &Refusal{Reason: "no endpoint became free within " + limits.PendingTime.String(), Saturated: true}
		case <-r.HTTP.Context().Done():
			return nil, r.HTTP.Context().Err()
		}
	}
}
