package loadbalancer

// ProbeKey tells one active check of an endpoint from every other. Pools that check an endpoint in the same way share
// the check and its verdict.
type ProbeKey struct {
	// Endpoint is who is checked.
	Endpoint EndpointKey
	// Check is the fingerprint of the check's definition.
	Check uint64
}

// Probe is one active check of an endpoint.
type Probe struct {
	// Key is what tells the probe from every other.
	Key ProbeKey
}
