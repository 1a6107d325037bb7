// Package ingressnginx reads Ingresses as ingress-nginx 1.15.1 does, with its annotations and its ConfigMap, and
// declares routers, middlewares and services that answer as its nginx does.
//
// The data flows in this order. A [Selector] decides which Ingresses are read. Package
// annotation turns the texts of an Ingress into options and findings. The plan of a host says what its Ingresses are
// together in ingress-nginx: one server with its locations, names and certificates (plan.go); the plan of a port of a
// Service has its canary and its affinity (upstream.go). With these plans each Ingress is translated by itself: a
// location takes the steps of chain.go, in the order in which nginx decides about a request, and becomes a router
// without TLS and one with it.
//
// What protects and cannot be honoured closes a location with 503. docs/adr/0047 has the reasons.
package ingressnginx
