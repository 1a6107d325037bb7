// Package gateway repeats the community's benchmark of Gateway API implementations (gateway-api-bench) with Sluice:
// propagation of new routes, attachedRoutes, route changes under traffic, load of many routes, scale of ListenerSets,
// failover of backends, and two controllers on the same routes.
//
// It runs the built binary with a real control plane, each Gateway at an address of its own, and writes a page with
// bounds, figures and every measurement. Objects are written by this process, EndpointSlices directly. It runs as a
// benchmark in `make bench GATEWAY=full`, in a network namespace of its own.
package gateway
