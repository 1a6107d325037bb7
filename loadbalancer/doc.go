// Package loadbalancer decides which endpoint answers a request.
//
// In flow PoolSpecs (what a service declares, from the compiler) and dynamic.EndpointSets (who serves it right now, from
// the endpoint lane); out flow Pools, whose Pick answers from an immutable Snapshot without a lock or an allocation.
//
// Four kinds of state are keyed apart, and all of them outlive a new configuration:
//
//   - Endpoint: one incarnation of an address. Requests in flight and failed connects, shared by all pools.
//   - Upstream: an endpoint spoken to in one way (scheme, name in TLS, transport). It owns idle connections and TLS
//     sessions and is never shared between transports.
//   - Probe: an endpoint checked in one way.
//   - Member: an endpoint's place in one pool.
//
// A Registry owns them. One goroutine, the single writer, calls its methods; any number of goroutines call Pick. The
// package never parses configuration files, never resolves names, and never sends a request itself.
package loadbalancer
