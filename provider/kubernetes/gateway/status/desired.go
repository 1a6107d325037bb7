package status

import (
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Kind is a kind of the Gateway API whose objects have a status.
type Kind string

// The kinds with a status.
const (
	GatewayClass     Kind = "GatewayClass"
	Gateway          Kind = "Gateway"
	ListenerSet      Kind = "ListenerSet"
	HTTPRoute        Kind = "HTTPRoute"
	GRPCRoute        Kind = "GRPCRoute"
	TLSRoute         Kind = "TLSRoute"
	TCPRoute         Kind = "TCPRoute"
	UDPRoute         Kind = "UDPRoute"
	BackendTLSPolicy Kind = "BackendTLSPolicy"
)

// Key names an object with a status.
type Key struct {
	Kind Kind
	types.NamespacedName
}

// Desired is the status of one object as far as it is this controller's. Of Class, Gateway, ListenerSet, Parents and
// Ancestors, the one of the object's kind is set. Conditions have no transition times: those of the object stay where
// the status of the condition is the same.
type Desired struct {
	Key
	// UID and Generation are those of the object that was translated. Nothing is written to another object of the name, or
	// over a newer observedGeneration.
	UID        types.UID
	Generation int64

	Class *gatewayv1.GatewayClassStatus
	// InUse says that Gateways use a GatewayClass, which then has the finalizer that the API has for this.
	InUse       bool
	Gateway     *gatewayv1.GatewayStatus
	ListenerSet *gatewayv1.ListenerSetStatus
	// Parents are the entries of this controller in the status of a route. Empty removes those that there are.
	Parents []gatewayv1.RouteParentStatus
	// Ancestors are its entries in the status of a policy, in the same way.
	Ancestors []gatewayv1.PolicyAncestorStatus
}
