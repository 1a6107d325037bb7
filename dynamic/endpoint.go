package dynamic

import (
	"net/netip"
	"time"
)

// EndpointSet is everybody who serves one key right now. It is the whole set, never a difference.
//
// Three states differ: a set without endpoints (Deleted false) is a Service that nobody serves at the moment; a deleted
// set belongs to a Service that is gone; a key that has never been mentioned is not known yet.
type EndpointSet struct {
	// Key is source/namespace/service:port, or dns/name:port for a server given by name.
	Key string
	// Version grows with each change of the set, within one run of its source.
	Version uint64
	// Endpoints is sorted by address and free of duplicates.
	Endpoints []Endpoint
	// Deleted says that the source knows of no such key any more.
	Deleted bool
	// Noticed is when the provider first heard of what this set tells anew; zero where it does not say. It is measured by and
	// decides nothing.
	Noticed time.Time
}

// Endpoint is one address that serves a key.
type Endpoint struct {
	// Address is an IP address and port.
	Address netip.AddrPort
	// UID tells one incarnation from the next at the same address (a pod's uid); empty where the source has none.
	UID string
	// Zone is where the endpoint runs; ZoneHints are the zones it should serve.
	Zone      string
	ZoneHints []string
	// Terminating endpoints finish what they have and take no new clients while others serve.
	Terminating bool
}
