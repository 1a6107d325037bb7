package datagram

import (
	"io"
	"net/netip"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

// Handed is what the server of an address hands over to that of another process.
type Handed struct {
	// Sessions are those that go on there, beginning with the most recently used.
	Sessions []Session `json:"sessions"`
	// Overflow is how many datagrams each socket of the address has lost since it was opened, modulo 2^32, in the order of
	// the sockets.
	Overflow []uint32 `json:"overflow,omitempty"`
	// Omitted is how many further sessions there are; they end.
	Omitted int `json:"-"`
}

// Session is a session that goes on in another process.
type Session struct {
	// Conn is the socket that is connected to the endpoint.
	Conn syscall.Conn `json:"-"`
	// Socket is the position of the socket to which the client sends in the group of the address, from 0.
	Socket int `json:"socket,omitempty"`
	// Client is the source of the client's datagrams, and Local the address they come to; that is invalid where the
	// entrypoint has but one address.
	Client netip.AddrPort `json:"client"`
	Local  netip.Addr     `json:"local,omitzero"`
	// EntryPoint, Router and Service are names. EntryPoint is empty for that of the server, and Service is that of the
	// pool.
	EntryPoint string `json:"entryPoint,omitempty"`
	Router     string `json:"router"`
	Service    string `json:"service"`
	// Endpoint is the endpoint of the service.
	Endpoint netip.AddrPort `json:"endpoint"`
	// Responses is [Target.Responses], and DrainTime how long the session may last after its endpoint has left; 0 is no
	// limit for both.
	Responses int           `json:"responses,omitempty"`
	DrainTime time.Duration `json:"drainTime,omitempty"`
	// Generation is that of the route by which the session began, in the process in which it did.
	Generation uint64 `json:"generation,omitempty"`
	// Age is the time since the first datagram, and Idle that since the last one.
	Age  time.Duration `json:"age"`
	Idle time.Duration `json:"idle"`
	// FromClient and FromEndpoint count all datagrams since the session began.
	FromClient   Traffic `json:"fromClient"`
	FromEndpoint Traffic `json:"fromEndpoint"`
	// Answered says that the endpoint has sent something, and Proven that the client has after that.
	Answered bool `json:"answered,omitempty"`
	Proven   bool `json:"proven,omitempty"`
	// Kept is the last datagram of the client, which goes to another endpoint if this one refuses it; empty if it was
	// answered or is not known.
	Kept []byte `json:"kept,omitempty"`
}

// Pools has the pools of services.
type Pools interface {
	// Lookup returns the pool of that name; loadbalancer.Registry does.
	Lookup(name string) (*loadbalancer.Pool, bool)
}

// maxHandedKept bounds the kept datagrams of all sessions that a server hands over.
const maxHandedKept = 4 << 20

// detached is the target of a session that has no endpoint in the pools of this process.
type detached struct {
	service  string
	endpoint netip.AddrPort
	// until is when the session ends at the latest; zero for no limit.
	until time.Time
}

// destination returns the name of the service and the address of the endpoint.
func (s *session) destination() (service string, endpoint netip.AddrPort) {
	if s.detached != nil {
		return s.detached.service, s.detached.endpoint
	}
	return s.target.Pool.Name(), s.target.Member.Endpoint().Key().Address
}

// handed returns what another process needs to go on with a session; room is how many bytes may be kept.
func (s *session) handed(now time.Duration, room *int) Session {
	handed := Session{
		Client: s.key.client, Local: s.key.local, EntryPoint: s.entryPoint, Router: s.router, Generation: s.generation,
		Responses: s.target.Responses, Age: now - s.began, Idle: now - s.active,
		FromClient: s.fromClient, FromEndpoint: s.fromEndpoint, Answered: s.answered, Proven: s.proven,
	}
	handed.Service, handed.Endpoint = s.destination()
	switch {
	case s.detached == nil:
		handed.DrainTime = s.target.Pool.DrainTime()
	case !s.detached.until.IsZero():
		handed.DrainTime = max(time.Until(s.detached.until), 1)
	}
	if *room -= len(s.kept); *room >= 0 {
		handed.Kept = s.kept
	}
	return handed
}

// End ends sessions of another process with records, and closes their sockets.
func (s *Server) End(sessions []Session) {
	for i := range sessions {
		s.decline(&sessions[i], Shutdown)
	}
}

// decline ends a session that this process does not go on with.
func (s *Server) decline(handed *Session, reason Reason) {
	closeConn(handed.Conn)
	if s.options.Observer != nil {
		s.options.Observer.SessionEnded(handed.Record(s.options.EntryPoint, reason))
	}
}

// Record describes a session that ends now. entryPoint is the name where the session has none.
func (h *Session) Record(entryPoint string, reason Reason) *Record {
	if h.EntryPoint != "" {
		entryPoint = h.EntryPoint
	}
	return &Record{
		EntryPoint: entryPoint, Router: h.Router, Service: h.Service, Client: h.Client, Local: h.Local,
		Endpoint: h.Endpoint, Began: time.Now().Add(-h.Age), Duration: h.Age, Generation: h.Generation,
		FromClient: h.FromClient, FromEndpoint: h.FromEndpoint, Reason: reason,
	}
}

// adoption is where the sessions of another process go on.
type adoption struct {
	pools Pools
	// members are those of the pools by their addresses, and leaving the connections of sessions whose endpoint is in no
	// pool.
	members map[string]map[netip.AddrPort]*loadbalancer.Member
	leaving map[departure]*connections
}

// departure is what sessions without an endpoint have in common.
type departure struct {
	service string
	drain   time.Duration
}

func newAdoption(pools Pools) *adoption {
	return &adoption{
		pools: pools, members: map[string]map[netip.AddrPort]*loadbalancer.Member{},
		leaving: map[departure]*connections{},
	}
}

// attach counts a session in at its endpoint. Where the service or the endpoint is gone, the session ends as after a
// change of the configuration: when it is idle, or at the end of the drain time.
func (a *adoption) attach(s *session, handed *Session, owner sweeper) {
	s.target.Responses = handed.Responses
	pool, known := a.pools.Lookup(handed.Service)
	if known {
		if member := a.membersOf(pool)[handed.Endpoint]; member != nil {
			s.target.Pool, s.target.Member, s.target.Counted = pool, member, pool.Enter(member)
			connections, ok := member.Upstream().Connections().(*connections)
			if ok && connections.enter(owner) {
				s.connections = connections
				return
			}
			s.target.end(loadbalancer.Abandoned, 0) // It has left the pool just now.
			s.target.Pool, s.target.Member = nil, nil
		}
	}
	drain := handed.DrainTime
	if known {
		drain = pool.DrainTime()
	}
	s.detached = &detached{service: handed.Service, endpoint: handed.Endpoint}
	if drain > 0 {
		s.detached.until = time.Now().Add(drain)
	}
	s.connections = a.connectionsOf(departure{handed.Service, drain})
	s.connections.enter(owner)
}

// membersOf returns the members of a pool. Of those with one address, the first one counts, which serves if any does.
func (a *adoption) membersOf(pool *loadbalancer.Pool) map[netip.AddrPort]*loadbalancer.Member {
	if members, known := a.members[pool.Name()]; known {
		return members
	}
	members := map[netip.AddrPort]*loadbalancer.Member{}
	for member := range pool.Snapshot().Members() {
		if address := member.Endpoint().Key().Address; members[address] == nil {
			members[address] = member
		}
	}
	a.members[pool.Name()] = members
	return members
}

// connectionsOf returns the connections of sessions without an endpoint, which are closed at the end of the drain time.
func (a *adoption) connectionsOf(of departure) *connections {
	if known := a.leaving[of]; known != nil {
		return known
	}
	c := &connections{owners: map[sweeper]int{}}
	if a.leaving[of] = c; of.drain > 0 {
		time.AfterFunc(of.drain, c.Close)
	}
	return c
}

// closeConn closes a socket that was handed over.
func closeConn(conn syscall.Conn) {
	if closer, ok := conn.(io.Closer); ok {
		_ = closer.Close()
	}
}
