package datagram

import (
	"net/netip"
	"time"
)

// Observer takes the record of each session that is over. It must not block, and must not keep the pointer. The
// goroutines of an entrypoint call it at the same time.
type Observer interface {
	SessionEnded(record *Record)
}

// Record is what is known of a session that is over.
type Record struct {
	// EntryPoint, Router and Service are names; Service is that of the pool.
	EntryPoint, Router, Service string
	// Client is the source of the client's datagrams, Local the address they came to. Local is invalid where the
	// entrypoint has but one address.
	Client netip.AddrPort
	Local  netip.Addr
	// Endpoint is the endpoint of the service.
	Endpoint netip.AddrPort
	// Began is when the first datagram was read, Duration the time to the end, which is the time-out at least for
	// sessions that were idle.
	Began    time.Time
	Duration time.Duration
	// FromClient counts what was sent to the endpoint, FromEndpoint what was sent to the client.
	FromClient, FromEndpoint Traffic
	Reason                   Reason
	// Generation is that of the route by which the session began.
	Generation uint64
}

// Traffic counts the datagrams of one direction, and the bytes in them without headers.
type Traffic struct {
	Datagrams uint64 `json:"datagrams"`
	Bytes     uint64 `json:"bytes"`
}

func (t *Traffic) add(datagrams, bytes int) {
	t.Datagrams += uint64(datagrams) //nolint:gosec // not negative
	t.Bytes += uint64(bytes)         //nolint:gosec // not negative
}

// Reason is why a session is over.
type Reason uint8

// The reasons.
const (
	// Idle sessions had no datagram in either direction for the time-out (udp.timeout).
	Idle Reason = iota
	// Responses says that the endpoint has sent what the service expects (loadBalancer.responses).
	Responses
	// Evicted sessions made room for another (udp.maxSessions).
	Evicted
	// Refused says that a datagram was refused by the endpoint, or that there is no way to it.
	Refused
	// Drained sessions had an endpoint that has left, and have lasted until its drain time was over
	// (loadBalancer.drainTimeout).
	Drained
	// Shutdown ends what is left when the entrypoint stops.
	Shutdown
)

// String returns the reason as logs and metrics show it.
func (r Reason) String() string {
	return [...]string{"idle", "responses", "evicted", "refused", "drained", "shutdown"}[r]
}
