// Package gateway translates the objects of the Gateway API (gateway.networking.k8s.io) into a dynamic.Configuration,
// and works out their statuses.
//
// In flow Gateways, ListenerSets, routes, policies and grants with what they refer to; out flow listeners, routers,
// services, middlewares, certificates and endpoint keys, as from every provider, and one status.Desired for each object
// of a GatewayClass of this controller.
package gateway
