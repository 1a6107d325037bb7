package datagram

import (
	"cmp"
	"net/netip"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

// keptBytes is the longest datagram that is kept until the endpoint answers: those of most protocols fit in one packet.
const keptBytes = 2 << 10

// key is what datagrams of one session have in common.
type key struct {
	client netip.AddrPort
	// local is the address that the client has sent to. It is invalid where the socket has but one.
	local netip.Addr
}

// session is a client and its endpoint. It belongs to a table.
type session struct {
	key key
	// entryPoint and router are names; entryPoint is empty for that of the server.
	entryPoint string
	router     string
	generation uint64
	target     Target
	// detached has the names of a session whose target is in no pool of this process; nil for others.
	detached    *detached
	connections *connections
	socket      socket
	// lent is the socket while another process may have it; nil otherwise.
	lent *lent

	// list is the list of the table that has the session between older and newer.
	list         *list
	older, newer *session
	// began and active are instants of the server: of the first and the last datagram.
	began, active time.Duration

	fromClient, fromEndpoint Traffic
	// answered is set once the endpoint has sent something, proven once the client has sent something after that.
	answered, proven bool
	ended            bool
	// kept is the last datagram of the client, empty if it was answered.
	kept []byte
	// tried are endpoints that have refused what is kept.
	tried []*loadbalancer.Member
}

// keep copies the last datagram of the client.
func (s *session) keep(datagram []byte) {
	if len(datagram) > keptBytes {
		datagram = nil
	}
	s.kept = append(s.kept[:0], datagram...)
}

// sent notes datagrams that were sent to the endpoint, the last of which is given.
func (s *session) sent(datagrams, bytes int, last []byte) {
	s.fromClient.add(datagrams, bytes)
	s.keep(last)
}

// expected returns how many datagrams of the endpoint may go to the client, of n that have come, and whether they are
// the last of the session.
func (s *session) expected(n int) (allowed int, last bool) {
	if s.target.Responses == 0 {
		return n, false
	}
	left := uint64(s.target.Responses)*s.fromClient.Datagrams - s.fromEndpoint.Datagrams
	if uint64(n) < left { //nolint:gosec // not negative
		return n, false
	}
	return int(left), true //nolint:gosec // at most n
}

// record describes the session at its end.
func (s *session) record(server *Server, reason Reason, now time.Duration) *Record {
	service, endpoint := s.destination()
	return &Record{
		EntryPoint: cmp.Or(s.entryPoint, server.options.EntryPoint), Router: s.router, Service: service,
		Client: s.key.client, Local: s.key.local, Endpoint: endpoint,
		Began: server.epoch.Add(s.began), Duration: now - s.began, Generation: s.generation,
		FromClient: s.fromClient, FromEndpoint: s.fromEndpoint, Reason: reason,
	}
}

// list holds sessions by their last activity.
type list struct {
	oldest, newest *session
	length         int
}

// push makes a session that is in no list the newest.
func (l *list) push(s *session) {
	s.list, s.older, s.newer = l, l.newest, nil
	if l.newest != nil {
		l.newest.newer = s
	} else {
		l.oldest = s
	}
	l.newest = s
	l.length++
}

// remove takes a session out.
func (l *list) remove(s *session) {
	if s.older != nil {
		s.older.newer = s.newer
	} else {
		l.oldest = s.newer
	}
	if s.newer != nil {
		s.newer.older = s.older
	} else {
		l.newest = s.older
	}
	s.list, s.older, s.newer = nil, nil, nil
	l.length--
}
