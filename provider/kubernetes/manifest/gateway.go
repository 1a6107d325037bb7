package manifest

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"
)

// gatewayType returns an empty object of a kind of the Gateway API, in the version in which it is read; nil for any
// other.
func gatewayType(apiVersion, kind string) any {
	switch servedVersion(apiVersion, kind) {
	case gatewayv1beta1.GroupVersion.String():
		return &gatewayv1beta1.ReferenceGrant{}
	case gatewayv1.GroupVersion.String():
	default:
		return nil
	}
	switch kind {
	case "GatewayClass":
		return &gatewayv1.GatewayClass{}
	case "Gateway":
		return &gatewayv1.Gateway{}
	case "ListenerSet":
		return &gatewayv1.ListenerSet{}
	case "HTTPRoute":
		return &gatewayv1.HTTPRoute{}
	case "GRPCRoute":
		return &gatewayv1.GRPCRoute{}
	case "TLSRoute":
		return &gatewayv1.TLSRoute{}
	case "TCPRoute":
		return &gatewayv1.TCPRoute{}
	case "UDPRoute":
		return &gatewayv1.UDPRoute{}
	case "BackendTLSPolicy":
		return &gatewayv1.BackendTLSPolicy{}
	}
	return nil
}

// servedVersion returns the version in which an object is read: the two served versions of a kind of the Gateway API
// have the same fields.
func servedVersion(apiVersion, kind string) string {
	v1, v1beta1 := gatewayv1.GroupVersion.String(), gatewayv1beta1.GroupVersion.String()
	switch {
	case apiVersion != v1 && apiVersion != v1beta1:
		return apiVersion
	case kind == "ReferenceGrant":
		return v1beta1
	case kind == "GatewayClass" || kind == "Gateway" || kind == "HTTPRoute":
		return v1
	}
	return apiVersion
}

// HasGateways reports whether there are objects of the Gateway API.
func (s *Server) HasGateways() bool {
	for resource, objects := range s.objects {
		if resource.Group == gatewayv1.GroupName && len(objects) > 0 {
			return true
		}
	}
	return false
}

// serveGateways has the kinds listed without which routes are not read, also where there is no object of them.
func (s *Server) serveGateways() {
	for _, kind := range []string{"GatewayClass", "Gateway"} {
		s.kinds[schema.GroupVersion(gatewayv1.GroupVersion).WithResource(plural(kind))] = kind
	}
}
