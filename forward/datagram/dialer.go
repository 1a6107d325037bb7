package datagram

import (
	"sync"
	"sync/atomic"

	"github.com/sluiceproxy/sluice/loadbalancer"
)

// Scheme is the scheme of the servers of pools whose transport is a [Dialer].
const Scheme = "udp"

// Dialer is the transport of pools of UDP. The sockets of sessions belong to the servers of the entrypoints; the dialer
// has them closed.
type Dialer struct {
	// A pointer to nothing would not be distinct.
	_ byte
}

// NewDialer returns a transport.
func NewDialer() *Dialer { return &Dialer{} }

// Connect returns the sessions with an endpoint. It connects nothing.
func (d *Dialer) Connect(loadbalancer.UpstreamKey) loadbalancer.Connections {
	return &connections{owners: map[sweeper]int{}}
}

// sweeper ends sessions whose connections are closed, soon and elsewhere.
type sweeper interface{ sweep() }

// connections are the sessions with one endpoint.
type connections struct {
	closed atomic.Bool
	mutex  sync.Mutex
	// owners are those who have the sessions, with their number.
	owners map[sweeper]int
}

// enter counts a session in, and reports false if the connections are closed.
func (c *connections) enter(owner sweeper) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed.Load() {
		return false
	}
	c.owners[owner]++
	return true
}

func (c *connections) leave(owner sweeper) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.owners[owner]--; c.owners[owner] == 0 {
		delete(c.owners, owner)
	}
}

// IdleConnections returns 0: a socket belongs to its session.
func (c *connections) IdleConnections() (idle, shared int) { return 0, 0 }

// CloseIdleConnections does nothing.
func (c *connections) CloseIdleConnections() {}

// Close ends the sessions.
func (c *connections) Close() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.closed.Store(true)
	for owner := range c.owners {
		owner.sweep()
	}
}
