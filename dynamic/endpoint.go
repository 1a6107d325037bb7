package dynamic

import (
	"net/netip"
	"time"
)

// EndpointSet holds all current endpoints of one key; it is never a difference.
//
// Three states are distinguished: a set without endpoints (Deleted false) is an existing service without endpoints; a
// deleted set belongs to a removed service; a key without a set is not known yet.
type EndpointSet struct {
	// Key is source/namespace/service:port (source/namespace/service:port/udp for a UDP port), dns/name:port for a server
	// given by name, or source/namespace/service:port#tag for the endpoints of one environment of a Service.
	Key string
	// Version grows from one delivered set to the next, over all keys, for the lifetime of the process. The hub
	// assigns it; providers leave it 0.
	Version uint64
	// Endpoints is sorted by address and free of duplicates.
	Endpoints []Endpoint
	// Deleted is set if the source has removed the key.
	Deleted bool
	// Environment is how the set is divided into environments; nil if it is not. The services of its subsets, and that of
	// all endpoints, are keys of endpoint sets. It is not changed.
	Environment *Environment
	// Noticed is when the provider received the change; zero if unknown. It is used for measurements only.
	Noticed time.Time
}

// Endpoint is one address that serves a key.
type Endpoint struct {
	// Address is an IP address and port.
	Address netip.AddrPort
	// UID identifies the incarnation at an address (a pod's uid); empty if the source has none.
	UID string
	// Zone is where the endpoint runs; ZoneHints are the zones it should serve.
	Zone      string
	ZoneHints []string
	// Terminating endpoints finish what they have and take no new clients while others serve.
	Terminating bool
}
