// Package service answers requests with other services.
//
// Input is a client's request and the handlers of child services; output is the response of one of them.
// Weighted splits by weight, HighestRandomWeight by the client's address, Environment by a tag in a header, Canary by
// the rules of ingress-nginx, Failover uses a fallback, and Mirroring sends copies of a share of the requests to
// further services. Each is an http.Handler whose Up reports whether an endpoint behind it is available, so that they
// nest in any order.
//
// Health is propagated upward from the pools of load balancers, which always report whether an endpoint is
// available. So the option healthCheck of a service of services requires nothing of its children, where Traefik
// refuses to build one over a child without a health check.
//
// The package never chooses an endpoint, never compiles a configuration, and never reveals the cause of a
// failure to a client: that goes into the telemetry.Record. State holds what outlives a rebuilt handler.
package service
