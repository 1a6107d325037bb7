package datagram

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

// Options configure a [Server].
type Options struct {
	// EntryPoint is the name of the entrypoint.
	EntryPoint string
	// Timeout ends sessions that are idle in both directions (udp.timeout). It must be above 0.
	Timeout time.Duration
	// MaxSessions is how many sessions there may be (udp.maxSessions); the least recently used makes room for the next. It
	// must be above 0.
	MaxSessions int
	// MaxSessionsPerClient is how many sessions an IPv4 address or an IPv6 network of 64 bits may have
	// (udp.maxSessionsPerClient). Datagrams of further sessions are dropped. 0 is no limit.
	MaxSessionsPerClient int
	// Descriptors are those that sessions leave in reserve; nil keeps none.
	Descriptors *descriptors.Limit
	// Permits returns an error for an address to which sessions are not connected; nil permits all.
	Permits func(network string, address netip.AddrPort) error
	// Observer may be nil.
	Observer Observer
}

// Server relays the datagrams of one entrypoint.
type Server struct {
	router  *Router
	options Options
	// epoch is the time of instant 0.
	epoch    time.Time
	sessions atomic.Int64
	clients  clients
	drops    drops
	draining atomic.Bool
	parking  parking
	// emptied has a value when the last session has ended while draining.
	emptied chan struct{}
}

// NewServer returns a server whose sessions follow the routes of router.
func NewServer(router *Router, options Options) *Server {
	return &Server{
		router: router, options: options, epoch: time.Now(), emptied: make(chan struct{}, 1),
		clients: clients{limit: options.MaxSessionsPerClient, counts: map[netip.Addr]int{}},
	}
}

// Sessions returns how many sessions there are.
func (s *Server) Sessions() int { return int(s.sessions.Load()) }

// Dropped returns how many datagrams were dropped for a cause so far.
func (s *Server) Dropped(cause Cause) uint64 { return s.drops[cause].Load() }

// ServePackets takes over the sockets of one address, among which the system divides the clients, and relays their
// datagrams until ctx ends. Then it ends all sessions, closes the sockets and returns nil; it returns an error, and
// closes the sockets, if it cannot begin. It is called once.
func (s *Server) ServePackets(ctx context.Context, sockets []net.PacketConn) error {
	return s.serve(ctx, sockets)
}

// Shutdown takes no new sessions, and returns nil once none is left, or the error of ctx when that ends first. Sessions
// go on meanwhile.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	for s.sessions.Load() > 0 {
		select {
		case <-s.emptied:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// instant returns the current instant.
func (s *Server) instant() time.Duration { return time.Since(s.epoch) }

// release counts a session out.
func (s *Server) release(k key) {
	s.clients.leave(k.client.Addr())
	if s.sessions.Add(-1) == 0 && s.draining.Load() {
		select {
		case s.emptied <- struct{}{}:
		default:
		}
	}
}

// clients counts sessions by client, if they are limited.
type clients struct {
	limit  int
	mutex  sync.Mutex
	counts map[netip.Addr]int
}

// enter counts a session in, unless the client has as many as allowed.
func (c *clients) enter(addr netip.Addr) bool {
	if c.limit <= 0 {
		return true
	}
	client := network(addr)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.counts[client] >= c.limit {
		return false
	}
	c.counts[client]++
	return true
}

func (c *clients) leave(addr netip.Addr) {
	if c.limit <= 0 {
		return
	}
	client := network(addr)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.counts[client]--; c.counts[client] <= 0 {
		delete(c.counts, client)
	}
}

// network returns what counts as one client: an IPv4 address, or the /64 that one host is commonly given (RFC 6177,
// section 2).
func network(addr netip.Addr) netip.Addr {
	if addr.Is4() {
		return addr
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr
	}
	return prefix.Addr()
}
