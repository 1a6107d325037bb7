package gateway

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "kubernetesgateway"

// The kinds of the Gateway API that are translated.
const (
	kindClass       = "GatewayClass"
	kindGateway     = "Gateway"
	kindListenerSet = "ListenerSet"
	kindHTTPRoute   = "HTTPRoute"
	kindGRPCRoute   = "GRPCRoute"
	kindTLSRoute    = "TLSRoute"
	kindTCPRoute    = "TCPRoute"
	kindUDPRoute    = "UDPRoute"
	kindPolicy      = "BackendTLSPolicy"
	kindGrant       = "ReferenceGrant"
)

// The kinds of sources that are touched when something has changed that is no object.
const (
	// kindListeners is what routes see of the listeners of a Gateway or ListenerSet; its name is KIND/NAME.
	kindListeners = "Listeners"
	// kindPlan is what a Gateway means for one of its ListenerSets.
	kindPlan = "ListenerPlan"
	// kindSetsOf are the ListenerSets of a Gateway.
	kindSetsOf = "ListenerSetsOf"
	// kindGatewaysOf are the Gateways of a GatewayClass.
	kindGatewaysOf = "GatewaysOf"
	// kindGrantsIn are the ReferenceGrants in a namespace.
	kindGrantsIn = "ReferenceGrantsIn"
	// kindPoliciesOf are the BackendTLSPolicies of a Service.
	kindPoliciesOf = "BackendTLSPoliciesOf"
	// kindOwnerOf is the route that has a listener of which only one route can have the traffic.
	kindOwnerOf = "RouteOf"
	// kindExposure is how a Gateway is exposed.
	kindExposure = "Exposure"
	// kindNamespace is a Namespace with its labels.
	kindNamespace = "Namespace"
	// kindDefinition is the CRD of GatewayClasses, with the version of the Gateway API.
	kindDefinition = "CustomResourceDefinition"
)

// kindOf returns the Kind of a translation.Source of the Gateway API.
func kindOf(kind string) string { return kind + "." + gatewayv1.GroupName }

// kinds returns the Kinds of all sources that are translated.
func kinds() []string {
	var all []string
	for _, kind := range []string{
		kindClass, kindGateway, kindListenerSet, kindHTTPRoute, kindGRPCRoute, kindTLSRoute, kindTCPRoute, kindUDPRoute,
		kindPolicy,
	} {
		all = append(all, kindOf(kind))
	}
	return all
}

// sourceOf returns the source of an object of the Gateway API.
func sourceOf(kind string, name types.NamespacedName) translation.Source {
	return translation.Source{Kind: kindOf(kind), Namespace: name.Namespace, Name: name.Name}
}

// virtual returns a source that is no object.
func virtual(kind string, name types.NamespacedName) translation.Source {
	return translation.Source{Kind: kind, Namespace: name.Namespace, Name: name.Name}
}

// extensionOf returns the source of a custom resource.
func extensionOf(kind, namespace, name string) translation.Source {
	return translation.Source{Kind: kindExtension, Namespace: namespace, Name: kind + "/" + name}
}

// owner is what declares listeners: a Gateway, or a ListenerSet.
type owner struct {
	kind string
	types.NamespacedName
}

// listeners returns the source of what routes see of the owner's listeners.
func (o owner) listeners() translation.Source {
	return translation.Source{Kind: kindListeners, Namespace: o.Namespace, Name: o.kind + "/" + o.Name}
}

// listenerKey names a listener.
type listenerKey struct {
	owner
	section string
}

// object returns the name of the dynamic.Listener: NAMESPACE_GATEWAY_SECTION, or NAMESPACE_set_LISTENERSET_SECTION.
// Names of Kubernetes have no underscores, so that it is unique.
func (k listenerKey) object() string {
	if k.kind == kindListenerSet {
		return k.Namespace + "_set_" + k.Name + "_" + k.section
	}
	return k.Namespace + "_" + k.Name + "_" + k.section
}

// qualified returns the name by which routers name the listener.
func (k listenerKey) qualified() string { return k.object() + "@" + Name }

// routeName returns the name of a route, of which the names of its objects are made: KIND-NAMESPACE.NAME. Of names of
// one kind, the order is that of NAMESPACE/NAME, since a dot comes before what may follow in a namespace, and the comma
// that follows the name before what may follow in a name.
func routeName(kind string, name types.NamespacedName) string {
	return strings.ToLower(kind) + "-" + name.Namespace + "." + name.Name
}

// ruleName returns the name of a rule of a route, in the order of rules.
func ruleName(route string, rule int) string { return fmt.Sprintf("%s,%03d", route, rule) }
