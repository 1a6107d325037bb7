// Package service answers requests with other services.
//
// In flow a client's request and the handlers of child services; out flow the answer of one of them. Weighted splits by
// weight, HighestRandomWeight by the client's address, Failover turns to a fallback, and Mirroring lets further services
// see a share of the requests. Each is an http.Handler that tells by Up whether anybody behind it could answer, so that
// they nest in one another in any order.
//
// Health goes upward from the pools of load balancers, which always know whether they have an endpoint to answer. So the
// option healthCheck of a service of services asks nothing of its children, where Traefik refuses to build one over a
// child without a health check.
//
// The package never chooses an endpoint, never compiles a configuration, and never tells a client why nobody answers:
// that goes into the telemetry.Record. What has to outlive a handler that is built anew is in State.
package service
