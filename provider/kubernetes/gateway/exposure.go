package gateway

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// Exposure decides where the listeners of Gateways are bound and at which addresses clients reach them. Its methods are
// called by one goroutine, except for the function that it calls itself, and return at once: what takes time changes
// the answer later.
type Exposure interface {
	// Expose returns where a Gateway is exposed whose listeners, with those of its ListenerSets, need the ports. They are
	// sorted and each there once. It is called again whenever the Gateway, the addresses of its status or its ports have
	// changed.
	Expose(gateway *gatewayv1.Gateway, ports []Port) Exposed
	// Withdraw forgets a Gateway that is gone, or not this controller's any more.
	Withdraw(gateway types.NamespacedName)
	// Notify has the function called with each Gateway for which Expose would answer otherwise. It may be called by any
	// goroutine, also by one that calls Expose, and returns at once.
	Notify(changed func(gateway types.NamespacedName))
}

// Port is a port of a Gateway, as its clients use it.
type Port struct {
	// Number is the port of listeners, 1 to 65535.
	Number int32
	// Protocol is TCP or UDP.
	Protocol corev1.Protocol
}

// Exposed is where a Gateway is exposed.
type Exposed struct {
	// Bindings has an entry for each port that was asked for; a missing one is not known yet.
	Bindings map[Port]Binding
	// Addresses are those at which clients reach the Gateway, for its status.
	Addresses []gatewayv1.GatewayStatusAddress
	// Refusal is why the Gateway as a whole is not exposed as it demands; nil when it is. With the reason
	// UnsupportedAddress or InvalidParameters the Gateway is not accepted, with others it is not programmed.
	Refusal *Refusal
}

// Binding is where the listeners of one port are bound.
type Binding struct {
	// Address is that of the socket, as host:port or :port.
	Address string
	// Refusal is why there is none; nil when there is.
	Refusal *Refusal
}

// Refusal is why something is not exposed, or not yet.
type Refusal struct {
	// Reason is that of the condition, such as AddressNotAssigned, AddressNotUsable or PortUnavailable.
	Reason string
	// Message is one sentence for people.
	Message string
}
