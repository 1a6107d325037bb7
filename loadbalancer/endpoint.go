package loadbalancer

import (
	"net/netip"
	"sync/atomic"
)

// EndpointKey identifies one incarnation of an address.
type EndpointKey struct {
	// Source is the origin of the endpoint: the part of the endpoint set's key before its first slash, empty
	// for an address from the configuration itself.
	Source string
	// Address is the address on which it listens.
	Address netip.AddrPort
	// UID identifies the incarnation (the pod's uid), empty where the source has none. A new UID at an old
	// address is another endpoint.
	UID string
}

// Endpoint is the state of one incarnation of an address, shared by all pools.
type Endpoint struct {
	key EndpointKey
	// first is one of its upstreams, others are those beside it; nearly all endpoints have one. Both belong to the single
	// writer.
	first           *Upstream
	others          map[way]*Upstream
	inFlight        atomic.Int64
	connectFailures atomic.Int64
}

// Key returns the key of the endpoint.
func (e *Endpoint) Key() EndpointKey { return e.key }

// InFlight returns the number of requests in flight, over all pools.
func (e *Endpoint) InFlight() int { return int(e.inFlight.Load()) }

// ConnectFailures returns the number of failed connects since the last response of the endpoint.
func (e *Endpoint) ConnectFailures() int { return int(e.connectFailures.Load()) }

// upstream returns the upstream that reaches the endpoint in a way, or nil.
func (e *Endpoint) upstream(by way) *Upstream {
	if e.first != nil && e.first.way == by {
		return e.first
	}
	return e.others[by]
}

// add takes an upstream in.
func (e *Endpoint) add(upstream *Upstream) {
	switch {
	case e.first == nil:
		e.first = upstream
	case e.others == nil:
		e.others = map[way]*Upstream{}
		fallthrough
	default:
		e.others[upstream.way] = upstream
	}
}

// drop takes an upstream out.
func (e *Endpoint) drop(upstream *Upstream) {
	if e.first == upstream {
		e.first = nil
	} else {
		delete(e.others, upstream.way)
	}
}

// unused reports whether the endpoint has no upstream.
func (e *Endpoint) unused() bool { return e.first == nil && len(e.others) == 0 }

func (e *Endpoint) done(outcome Outcome) {
	e.inFlight.Add(-1)
	switch outcome {
	case Unreachable:
		e.connectFailures.Add(1)
	case Answered:
		e.answered()
	case Broken, TimedOut, Abandoned:
	}
}

func (e *Endpoint) answered() {
	// Writing only when there is something to write keeps the cache line shared on the usual path.
	if e.connectFailures.Load() != 0 {
		e.connectFailures.Store(0)
	}
}

// Outcome is the kind of result of a request to an endpoint.
type Outcome uint8

// The outcomes of a request.
const (
	// Answered means that a complete response arrived, whatever its status.
	Answered Outcome = iota
	// Unreachable means that no connection was established: the endpoint received nothing of the request.
	Unreachable
	// Broken means that the connection failed, or the response was not HTTP, after a part of the request may
	// have been sent.
	Broken
	// TimedOut means that the endpoint took too long.
	TimedOut
	// Abandoned means that the client left or sent an invalid request; it is no evidence against the endpoint.
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
