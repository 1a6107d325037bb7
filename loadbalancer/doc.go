// Package loadbalancer decides which endpoint answers a request.
//
// In flow PoolSpecs (what a service declares, from the compiler), dynamic.EndpointSets (who serves it right now, from the
// endpoint lane), the Results of requests, and the verdicts of active checks; out flow Pools, whose Acquire answers from an
// immutable Snapshot without a lock or an allocation, unless a request has to wait for a limit.
//
// Four kinds of state are keyed apart, and all of them outlive a new configuration:
//
//   - Endpoint: one incarnation of an address. Requests in flight and failed connects, shared by all pools.
//   - Upstream: an endpoint spoken to in one way (scheme, name in TLS, transport). It owns idle connections and TLS
//     sessions and is never shared between transports.
//   - Probe: an endpoint checked in one way, with the verdict, shared by all pools with the same check.
//   - Member: an endpoint's place in one pool: latency, failures in a row, slow start, the value of a sticky cookie.
//
// A Registry owns them. One goroutine, the single writer, calls its methods; any number of goroutines call Acquire and Done.
// What these learn of an endpoint reaches the writer through an inbox, and requests with its next snapshot.
//
// The subpackages know nothing of pools: picker chooses from a list, health runs checks, outlier judges by answers, sticky reads and
// writes cookies, retry says what may be tried again and how often. The package never parses configuration files, never
// resolves names, and never forwards a request.
package loadbalancer
