// Package crd is the provider of the custom resources that routes are declared with: IngressRoute, IngressRouteTCP,
// IngressRouteUDP, Middleware, MiddlewareTCP, TraefikService, ServersTransport, ServersTransportTCP, TLSOption and
// TLSStore of the groups sluice.dev, traefik.io and traefik.containo.us.
//
// In flow these objects and the Services, Secrets, ConfigMaps and nodes that they refer to; out flow dynamic.Messages
// with the whole configuration, in which an object that has not changed keeps its pointer. Objects are translated one
// by one, and again only when they change or something that they refer to does. What cannot be translated stays in the
// configuration as far as it was understood, with a verdict, so that its routes keep their place and answer 503.
//
// The package never reads endpoints, which another provider publishes under the keys that load balancers name, and
// never writes to the cluster.
package crd
