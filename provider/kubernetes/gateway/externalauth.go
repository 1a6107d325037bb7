package gateway

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
)

// checkExternalAuth has a rule answer with an error when the service that its filter asks can't be.
func (r *ruleDraft) checkExternalAuth(filter *gatewayv1.HTTPExternalAuthFilter, where string) {
	ok, err := r.authorizes(filter)
	if err != nil {
		r.drop(gatewayv1.RouteReasonUnsupportedValue, where+err.Error())
	}
	r.broken = r.broken || !ok
}

// authorizes reports whether a filter can be applied, and its reference followed. A reference that cannot be followed
// is noted; the error is about its options.
func (r *ruleDraft) authorizes(filter *gatewayv1.HTTPExternalAuthFilter) (ok bool, err error) {
	if filter == nil {
		return false, errors.New("externalAuth is missing")
	}
	objects := maps.Clone(r.result.Objects)
	made, ok := r.externalAuth(filter)
	r.result.Objects = objects
	if err := checkAuthOptions(made); err != nil {
		return false, err
	}
	return ok, nil
}

// checkAuthOptions finds what the CRD accepts and the middleware does not.
func checkAuthOptions(made *dynamic.ExternalAuth) error {
	for _, name := range slices.Concat(made.AllowedHeaders, made.AllowedResponseHeaders) {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("externalAuth: %q is no name of a header", name)
		}
	}
	for _, name := range made.AllowedResponseHeaders {
		if forwarded.FramesAs(http.CanonicalHeaderKey(name)) {
			return fmt.Errorf("externalAuth: the header %s of an answer can't be copied", name)
		}
	}
	if _, err := canonical.Literal("/" + strings.Trim(made.Path, "/")); err != nil {
		return fmt.Errorf("externalAuth.http.path: %w", err)
	}
	return nil
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
