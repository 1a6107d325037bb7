package loadbalancer

import (
	"net/netip"
	"sync/atomic"
)

// EndpointKey tells one incarnation of an address from every other.
type EndpointKey struct {
	// Source is who knows of the endpoint: the part of the endpoint set's key before its first slash, empty for an
	// address that the configuration itself lists.
	Source string
	// Address is where it listens.
	Address netip.AddrPort
	// UID is the incarnation, empty where the source has none. A new UID at an old address is another endpoint.
	UID string
}

// Endpoint is what is known about one incarnation of an address, whichever pools use it.
type Endpoint struct {
	key             EndpointKey
	refs            int
	inFlight        atomic.Int64
	connectFailures atomic.Int64
}

// Key returns what tells the endpoint from every other.
func (e *Endpoint) Key() EndpointKey { return e.key }

// InFlight returns the number of requests that have begun and are not done, over all pools.
func (e *Endpoint) InFlight() int { return int(e.inFlight.Load()) }

// ConnectFailures returns how many connects failed since the endpoint last answered.
func (e *Endpoint) ConnectFailures() int { return int(e.connectFailures.Load()) }

func (e *Endpoint) done(outcome Outcome) {
	e.inFlight.Add(-1)
	switch outcome {
	case Unreachable:
		e.connectFailures.Add(1)
	case Answered:
		// Writing only when there is something to write keeps the cache line shared on the usual path.
		if e.connectFailures.Load() != 0 {
			e.connectFailures.Store(0)
		}
	case Broken, TimedOut, Abandoned:
	}
}

// Outcome is how a request to an endpoint ended.
type Outcome uint8

// The outcomes of a request.
const (
	// Answered means that a whole response came, whatever its status.
	Answered Outcome = iota
	// Unreachable means that there was no connection, so that the endpoint saw nothing of the request.
	Unreachable
	// Broken means that the connection failed, or the response was not HTTP, after something may have been sent.
	Broken
	// TimedOut means that the endpoint took too long.
	TimedOut
	// Abandoned means that the client left or sent a broken request; it says nothing about the endpoint.
	Abandoned
)

// String returns the outcome in a word, for logs.
func (o Outcome) String() string {
	switch o {
	case Answered:
		return "answered"
	case Unreachable:
		return "unreachable"
	case Broken:
		return "broken"
	case TimedOut:
		return "timed out"
	case Abandoned:
		return "abandoned"
	}
	return "unknown"
}
