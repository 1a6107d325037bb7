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
func (p *Pool) enter(s *Snapshot, m *Member) bool {
	if s.counting {
		if all := p.state.InFlight.Add(1); s.limits.PerPool > 0 && all > int64(s.limits.PerPool) {
			p.state.InFlight.Add(-1)
			return false
		}
		if own := m.active.Add(1); s.limits.PerEndpoint > 0 && own > int64(s.limits.PerEndpoint) {
			m.active.Add(-1)
			p.state.InFlight.Add(-1)
			return false
		}
	}
	m.upstream.begin()
	return true
}

// leave counts a request out. One that came before its pool counted was not counted in.
func (p *Pool) leave(m *Member) {
	below(&p.state.InFlight)
	below(&m.active)
	p.queue.call()
}

func below(counter *atomic.Int64) {
	if counter.Add(-1) < 0 {
		counter.Add(1)
	}
}

// acquireLimited acquires from a pool that counts. Nobody overtakes those that wait.
func (p *Pool) acquireLimited(r *Request) (*Member, error) {
	s := p.snapshot.Load()
	if p.queue.length.Load() == 0 || s.limits.Pending == 0 {
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
