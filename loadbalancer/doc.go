// Package loadbalancer picks the endpoint that answers a request.
//
// The compiler declares pools as PoolSpecs, the endpoint lane delivers their endpoints as dynamic.EndpointSets, and
// requests and active checks report Results. Each Pool publishes an immutable Snapshot; Pool.Acquire picks from it
// without a lock or an allocation, unless the request has to wait for a limit.
//
// Four kinds of state are keyed separately, and all of them survive a new configuration:
//
//   - Endpoint: one incarnation of an address. Requests in flight and failed connects, shared by all pools.
//   - Upstream: an endpoint reached in one way (scheme, TLS server name, transport). It owns idle connections and
//     TLS sessions and is never shared between transports.
//   - Probe: an active check of an endpoint with its result, shared by all pools with the same check.
//   - Member: an endpoint in one pool: latency, consecutive failures, slow start, the value of the sticky cookie.
//
// A Registry owns all of it. Its methods belong to one goroutine, the single writer; any number of goroutines call
// Acquire and Done. Failures that they observe reach the writer through an event queue, and come back to requests
// with the next snapshot.
//
// The subpackages do not depend on pools: picker chooses from a list of candidates, health runs active checks, outlier
// decides on ejections, sticky reads and writes cookies, retry decides what may be retried and how often. The package
// does not parse configuration files, resolve names or forward requests.
package loadbalancer
