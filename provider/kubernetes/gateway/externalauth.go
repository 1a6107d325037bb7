package gateway

import (
	"maps"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// checkExternalAuth has a rule answer with an error when the service that its filter asks can't be.
func (r *ruleDraft) checkExternalAuth(filter *gatewayv1.HTTPExternalAuthFilter, where string) {
	if filter == nil {
		r.broken = true
		r.drop(gatewayv1.RouteReasonUnsupportedValue, where+"externalAuth is missing")
		return
	}
	if !r.authorizes(filter) {
		r.broken = true
	}
}

// authorizes reports whether the reference of a filter can be followed. The reason why not is noted.
func (r *ruleDraft) authorizes(filter *gatewayv1.HTTPExternalAuthFilter) bool {
	if filter == nil {
		return false
	}
	objects := maps.Clone(r.result.Objects)
	_, ok := r.externalAuth(filter)
	r.result.Objects = objects
	return ok
}

// externalAuth translates a filter, and declares the service that it asks: one that answers 500, which refuses every
// request, when its reference can't be followed.
func (r *ruleDraft) externalAuth(filter *gatewayv1.HTTPExternalAuthFilter) (*dynamic.ExternalAuth, bool) {
	made := &dynamic.ExternalAuth{}
	made.SetDefaults()
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	options := backendOptions{balancer: balancer, client: r.client}
	if filter.ExternalAuthProtocol == gatewayv1.HTTPRouteExternalAuthGRPCProtocol {
		made.Protocol, options.grpc = "grpc", true
		if given := filter.GRPCAuthConfig; given != nil {
			made.AllowedHeaders = slices.Clone(given.AllowedRequestHeaders)
		}
	} else if given := filter.HTTPAuthConfig; given != nil {
		made.Path, made.AllowedHeaders = given.Path, slices.Clone(given.AllowedRequestHeaders)
		made.AllowedResponseHeaders = slices.Clone(given.AllowedResponseHeaders)
	}
	if filter.ForwardBody != nil {
		made.MaxBodySize = int64(filter.ForwardBody.MaxSize)
	}
	service, ok := r.backend(&filter.BackendRef, options)
	if !ok {
		service = r.failing()
	}
	made.Service = service
	return made, ok
}
