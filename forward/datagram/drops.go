package datagram

import "sync/atomic"

// Cause is why a datagram was dropped.
type Cause uint8

// The causes.
const (
	// NoRoute says that the entrypoint has no router.
	NoRoute Cause = iota
	// NoEndpoint says that the service has no endpoint that may take the datagram, or that those tried have refused it.
	NoEndpoint
	// ClientLimit says that the client has as many sessions as allowed (udp.maxSessionsPerClient).
	ClientLimit
	// Draining says that the entrypoint takes no new sessions because it stops.
	Draining
	// Resources says that the system has no socket or no local port for one more session.
	Resources
	// Unsent says that the system refused to send the datagram, because it is too long or its queue is full.
	Unsent
	// Surplus datagrams of endpoints came after the last that was expected (loadBalancer.responses).
	Surplus
	// Overflow says that the receive queue of the entrypoint was full. Only Linux reports it.
	Overflow

	causes
)

// String returns the cause as metrics show it.
func (c Cause) String() string {
	return [...]string{
		"no_route", "no_endpoint", "client_limit", "draining", "resources", "unsent", "surplus", "overflow",
	}[c]
}

// Causes returns all causes.
func Causes() []Cause {
	all := make([]Cause, causes)
	for i := range all {
		all[i] = Cause(i) //nolint:gosec // few
	}
	return all
}

// drops counts dropped datagrams by cause.
type drops [causes]atomic.Uint64

func (d *drops) add(cause Cause, n int) {
	if n > 0 {
		d[cause].Add(uint64(n))
	}
}
