// Package resource translates services and endpoint sets into xDS v3 resources, for proxyless gRPC clients and Envoy.
//
// OfSet publishes the port of a Kubernetes Service, OfService a service of the configuration. Both return a Bundle,
// whose resources refer to each other by name: a Listener (LDS) names a RouteConfiguration (RDS), whose single route
// names Clusters (CDS), each of which names a ClusterLoadAssignment (EDS). The name of the EDS resource is the key of
// an endpoint set, made by Assignment, or the name of a service with several servers, made by Mixed.Assignment.
//
// The kinds of services become:
//
//   - loadBalancer: an EDS cluster. Strategies that keep a client or a key on a server are RING_HASH with a hash policy
//     on the route; wrr is ROUND_ROBIN; the others are least_request with two choices.
//   - weighted: weighted clusters on the route, with nested services multiplied out.
//   - failover: an aggregate cluster of its services, in order.
//   - mirroring: the route of its service with request mirror policies. gRPC clients ignore them.
//   - highestRandomWeight: one RING_HASH cluster of all servers below it, by the address of the client.
//   - environment: a route for each tag and header, the deepest tags first, and its options as metadata of the virtual
//     host, which another Sluice reads. OfDividedSet does the same for Services that are divided into environments.
//
// Clients connect to the endpoints directly. A service is not published, with an error, if they would bypass what
// protects or changes its requests: middlewares, TLS, a path (preservePath), another Host header, sticky cookies of
// weighted services, status codes that cause a failover, keys that no client can hash. Nor is one published that has an
// environment service below it, or an alias of which clients could find another tag than the router.
//
// Options that clients have in a form of their own, or not at all, are left out and the service is published without
// them: healthCheck, slowStart, zoneAware, drainTimeout, retry, limits other than maxPoolConnections,
// responseForwarding, serversTransport, passiveHealthCheck, the default outlierDetection, mirroring.maxBodySize and
// healthCheck of services of services.
//
// The package is pure: its results depend on its arguments alone, and equal arguments give equal resources.
package resource
