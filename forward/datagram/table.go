package datagram

import (
	"errors"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

const (
	// maxTries is the number of endpoints that a datagram is sent to.
	maxTries = 3
	// youngShare is the part of all sessions, as a divisor, that those without proof of their client keep in any case.
	youngShare = 4
)

// engine is what a table needs of the system.
type engine interface {
	sweeper
	// connect makes the socket of a session, connected to its endpoint.
	connect(s *session) error
	// disconnect closes it.
	disconnect(s *session)
}

// table holds the sessions of some sockets of a server. It is not safe for concurrent use.
type table struct {
	server   *Server
	engine   engine
	sessions map[key]*session
	// young are sessions whose client has sent nothing after an answer, proven are the others.
	young, proven list
	// now is the instant of the current datagrams.
	now time.Duration
}

func newTable(server *Server, engine engine) table {
	return table{server: server, engine: engine, sessions: map[key]*session{}}
}

// open begins a session with an endpoint that is not among the tried. It returns nil and the cause if it cannot.
func (t *table) open(k key, tried []*loadbalancer.Member) (*session, Cause) {
	route := t.server.router.Route()
	if route == nil || route.Service == nil {
		return nil, NoRoute
	}
	if cause, ok := t.admit(k); !ok {
		return nil, cause
	}
	s := &session{
		key: k, entryPoint: route.EntryPoint, router: route.RouterName, generation: route.Generation,
		tried: tried, began: t.now, active: t.now,
	}
	if cause, ok := t.reach(s, route.Service); !ok {
		t.server.release(k)
		return nil, cause
	}
	t.sessions[k] = s
	t.young.push(s)
	return s, 0
}

// admit counts a new session in, and makes room if there are too many.
func (t *table) admit(k key) (Cause, bool) {
	server := t.server
	if !server.clients.enter(k.client.Addr()) {
		return ClientLimit, false
	}
	count := server.sessions.Add(1)
	if server.draining.Load() {
		server.release(k)
		return Draining, false
	}
	if count > int64(server.options.MaxSessions) {
		// Without a session here those of other sockets are in the way: one more for each socket is accepted.
		t.evict()
	}
	return 0, true
}

// reach connects a session to an endpoint of the service.
func (t *table) reach(s *session, service Service) (Cause, bool) {
	opening := Opening{Client: s.key.client.Addr()}
	for evicted := false; len(s.tried) < maxTries; {
		opening.Tried = s.tried
		target, err := service.Open(&opening)
		if err != nil {
			return NoEndpoint, false
		}
		s.target = target
		connections, ok := target.Member.Upstream().Connections().(*connections)
		if !ok || !connections.enter(t.engine) {
			// It has left the pool just now, and will not be picked again.
			target.end(loadbalancer.Abandoned, 0)
			s.tried = append(s.tried, target.Member)
			continue
		}
		if err = t.connect(s); err == nil {
			s.connections = connections
			return 0, true
		}
		connections.leave(t.engine)
		switch {
		case !exhausted(err):
			target.end(loadbalancer.Unreachable, 0)
			s.tried = append(s.tried, target.Member)
		case evicted || !t.evict():
			target.end(loadbalancer.Abandoned, 0)
			return Resources, false
		default:
			target.end(loadbalancer.Abandoned, 0)
			evicted = true
		}
	}
	return NoEndpoint, false
}

// connect connects a session to its endpoint, where that is permitted.
func (t *table) connect(s *session) error {
	if permits := t.server.options.Permits; permits != nil {
		if err := permits("udp", s.target.Member.Endpoint().Key().Address); err != nil {
			return err
		}
	}
	return t.engine.connect(s)
}

// exhausted reports whether the error of a new socket is about the system rather than the endpoint.
func exhausted(err error) bool {
	for _, one := range []error{
		syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ENOSPC,
		syscall.EAGAIN, syscall.EADDRNOTAVAIL, descriptors.ErrReserved,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// unreachable reports whether the error of a session's socket says that the endpoint got no datagram (ICMP destination
// unreachable).
func unreachable(err error) bool {
	for _, one := range []error{
		syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ENOPROTOOPT, syscall.EHOSTDOWN,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// heard notes a datagram of the client.
func (t *table) heard(s *session) {
	list := s.list
	if s.answered && !s.proven {
		s.proven, list = true, &t.proven
	}
	t.touch(s, list)
}

// answers notes datagrams of the endpoint: what the client has sent was not refused.
func (t *table) answers(s *session) {
	s.answered, s.kept, s.tried = true, s.kept[:0], nil
	t.touch(s, s.list)
}

// touch makes the session the newest of a list.
func (t *table) touch(s *session, list *list) {
	s.active = t.now
	if list.newest != s {
		s.list.remove(s)
		list.push(s)
	}
}

// evict ends the session that should make room, and reports false if there is none.
func (t *table) evict() bool {
	victims, others := &t.young, &t.proven
	if t.young.length*youngShare < len(t.sessions) {
		victims, others = others, victims
	}
	victim := victims.oldest
	if victim == nil {
		victim = others.oldest
	}
	if victim == nil {
		return false
	}
	t.end(victim, Evicted)
	return true
}

// expire ends the sessions that were idle for the time-out, and returns when the next may be; 0 without sessions.
func (t *table) expire() (next time.Duration) {
	timeout := t.server.options.Timeout
	for _, list := range []*list{&t.young, &t.proven} {
		for list.oldest != nil && t.now-list.oldest.active >= timeout {
			t.end(list.oldest, Idle)
		}
		if list.oldest == nil {
			continue
		}
		if due := list.oldest.active + timeout; next == 0 || due < next {
			next = due
		}
	}
	return next
}

// endClosed ends the sessions whose endpoint has left and has had time to drain.
func (t *table) endClosed() {
	for _, s := range t.sessions {
		if s.connections.closed.Load() {
			t.end(s, Drained)
		}
	}
}

// endAll ends what is left.
func (t *table) endAll() {
	for _, s := range t.sessions {
		t.end(s, Shutdown)
	}
}

// forget ends a session that goes on in another process.
func (t *table) forget(s *session) {
	t.remove(s)
	s.target.end(loadbalancer.Abandoned, 0)
	t.server.release(s.key)
}

// remove takes a session out, and closes its socket.
func (t *table) remove(s *session) {
	s.ended = true
	delete(t.sessions, s.key)
	s.list.remove(s)
	t.engine.disconnect(s)
	s.connections.leave(t.engine)
}

// end closes a session.
func (t *table) end(s *session, reason Reason) {
	t.remove(s)
	outcome := loadbalancer.Abandoned
	switch {
	case reason == Refused:
		outcome = loadbalancer.Unreachable
	case s.answered:
		outcome = loadbalancer.Answered
	}
	s.target.end(outcome, t.now-s.began)
	if observer := t.server.options.Observer; observer != nil {
		observer.SessionEnded(s.record(t.server, reason, t.now))
	}
	t.server.release(s.key)
}

// failOver ends a session whose endpoint has refused a datagram, and opens one with another endpoint if the datagram is
// known, which is then to be sent. It returns nil if the datagram is unknown, or was dropped.
func (t *table) failOver(s *session) *session {
	t.end(s, Refused)
	if len(s.kept) == 0 {
		return nil
	}
	tried := s.tried
	if s.target.Member != nil {
		tried = append(tried, s.target.Member)
	}
	next, cause := t.open(s.key, tried)
	if next == nil {
		t.server.drops.add(cause, 1)
		return nil
	}
	next.kept = s.kept
	return next
}
