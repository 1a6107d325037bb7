package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// IngressRouteTCP routes TCP connections to services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ingressroutetcps
// +kubebuilder:printcolumn:name="Match",type=string,JSONPath=`.spec.routes[*].match`,description="The rule of the first route."
// +kubebuilder:printcolumn:name="Entrypoints",type=string,JSONPath=`.spec.entryPoints`,description="The entrypoints of the routes."
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.routes[*].services[*].name`,description="The first service of the routes."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type IngressRouteTCP struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec IngressRouteTCPSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// IngressRouteTCPList is a list of IngressRouteTCPs.
// +kubebuilder:object:root=true
type IngressRouteTCPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []IngressRouteTCP `json:"items"`
}

// IngressRouteTCPSpec declares routes of TCP connections and where they listen.
type IngressRouteTCPSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// IngressClassName names the class of the object; without it the annotation kubernetes.io/ingress.class does.
	// +optional
	IngressClassName *string `json:"ingressClassName,omitempty"`
	// EntryPoints names the entrypoints to listen on; none means the default entrypoints.
	// +optional
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Routes are the rules with the services that answer.
	Routes []RouteTCP `json:"routes"`
	// TLS, when present, makes the routes answer on TLS connections only.
	// +optional
	TLS *TLSTCP `json:"tls,omitempty"`
}

// RouteTCP binds the connections that a rule selects to services.
type RouteTCP struct {
	// Match is the rule, in the language of Traefik v3 for TCP.
	Match string `json:"match"`
	// Priority orders routes whose rules both match, the higher first; 0 means the length of the rule in bytes.
	// +optional
	Priority int `json:"priority,omitempty"`
	// Syntax is v3, default or empty, which all mean the same; v2 is refused with the spelling of v3.
	// +optional
	Syntax string `json:"syntax,omitempty"`
	// Services answer. Several share the connections by their weights.
	// +optional
	Services []ServiceTCP `json:"services,omitempty"`
	// Middlewares names MiddlewareTCPs, which are applied in order.
	// +optional
	Middlewares []ObjectRef `json:"middlewares,omitempty"`
}

// TLSTCP is the TLS part of an IngressRouteTCP.
type TLSTCP struct {
	// SecretName names the Secret (type kubernetes.io/tls, same namespace) of a certificate for clients to see.
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// Passthrough leaves TLS to the server.
	// +optional
	Passthrough bool `json:"passthrough,omitempty"`
	// Options names a TLSOption.
	// +optional
	Options *ObjectRef `json:"options,omitempty"`
	// Store names a TLSStore; deprecated, since only the store named default is used.
	// +optional
	Store *ObjectRef `json:"store,omitempty"`
	// CertResolver names a certificate resolver.
	// +optional
	CertResolver string `json:"certResolver,omitempty"`
	// Domains are the names that a resolver obtains certificates for.
	// +optional
	Domains []Domain `json:"domains,omitempty"`
}

// ServiceTCP refers to a Kubernetes Service for TCP connections.
type ServiceTCP struct {
	// Name is the name of the Service.
	Name string `json:"name"`
	// Namespace is by default that of the route.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Port is the number or the name of a port of the Service.
	// +kubebuilder:validation:XIntOrString
	Port intstr.IntOrString `json:"port"`
	// Weight is the share of connections relative to the other services; default 1, 0 means none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int `json:"weight,omitempty"`
	// TerminationDelay is how long, in milliseconds, one direction may stay open after the other has closed; deprecated
	// in favour of that of the ServersTransportTCP.
	// +optional
	TerminationDelay *int `json:"terminationDelay,omitempty"`
	// ProxyProtocol announces the client's address to the server; deprecated in favour of that of the ServersTransportTCP.
	// +optional
	ProxyProtocol *ProxyProtocol `json:"proxyProtocol,omitempty"`
	// ServersTransport names a ServersTransportTCP.
	// +optional
	ServersTransport string `json:"serversTransport,omitempty"`
	// TLS speaks TLS to the server.
	// +optional
	TLS bool `json:"tls,omitempty"`
	// NativeLB connects to the Service's own address instead of its endpoints; the default is the provider's.
	// +optional
	NativeLB *bool `json:"nativeLB,omitempty"`
	// NodePortLB connects to the node port of every node, for Services of type NodePort.
	// +optional
	NodePortLB bool `json:"nodePortLB,omitempty"`

	BalancingTCP `json:",inline"`
}

// BalancingTCP holds the options of a load balancer of TCP connections that only the group sluice.dev has. Their names
// and values are those of files.
type BalancingTCP struct {
	// Strategy is wrr (the default), p2c, leastrequest (the fewest open connections), hrw or hash.
	// +optional
	Strategy string `json:"strategy,omitempty"`
	// HealthCheck configures active health checks of each endpoint.
	// +optional
	HealthCheck *TCPServerHealthCheck `json:"healthCheck,omitempty"`
	// OutlierDetection takes an endpoint out after failures to connect, for longer each time. Its status has no effect.
	// Without it, its defaults are in force.
	// +optional
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// PanicThreshold is the share of pickable endpoints, in percent, below which verdicts are ignored; default 0, never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	PanicThreshold int `json:"panicThreshold,omitempty"`
	// SlowStart is the time over which the share of an endpoint that joins or recovers grows to its full size, as a
	// duration or in seconds; default 0, all of it at once.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	SlowStart *intstr.IntOrString `json:"slowStart,omitempty"`
	// ZoneAware prefers the endpoints of the zone that Sluice runs in; false ignores zones. By default only the hints of
	// EndpointSlices count.
	// +optional
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long connections to a removed endpoint may go on, as a duration or in seconds; default 0, until
	// they end by themselves.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DrainTimeout *intstr.IntOrString `json:"drainTimeout,omitempty"`
	// Attempts is how many further endpoints are tried after one could not be connected to; default 2.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Attempts *int `json:"attempts,omitempty"`
	// Limits bounds the open connections; without it there is no limit.
	// +optional
	Limits *ServerLimits `json:"limits,omitempty"`
}

// TCPServerHealthCheck connects to each endpoint and takes out those that fail.
type TCPServerHealthCheck struct {
	// Port is the port of the check; by default that of the endpoint.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int `json:"port,omitempty"`
	// Send is what is sent once the connection is established.
	// +optional
	Send string `json:"send,omitempty"`
	// Expect is what the endpoint must answer with; without it, a connection is enough.
	// +optional
	Expect string `json:"expect,omitempty"`
	// Interval is the time between checks, as a duration or in seconds; default 30s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Interval *intstr.IntOrString `json:"interval,omitempty"`
	// UnhealthyInterval is the time between checks of an unhealthy endpoint; by default the same as Interval.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	UnhealthyInterval *intstr.IntOrString `json:"unhealthyInterval,omitempty"`
	// Timeout is how long a check may take, as a duration or in seconds; default 5s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Timeout *intstr.IntOrString `json:"timeout,omitempty"`
	// Rise is how many good checks in a row bring an unhealthy endpoint back; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Rise *int `json:"rise,omitempty"`
	// Fall is how many bad checks in a row take a healthy endpoint out; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Fall *int `json:"fall,omitempty"`
	// Jitter is by how much an interval is longer or shorter at random, in percent of it; default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Jitter *int `json:"jitter,omitempty"`
}

// ProxyProtocol announces the client's address to the server.
type ProxyProtocol struct {
	// Version is 1 or 2; default 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=2
	Version *int `json:"version,omitempty"`
	// TLVs adds to version 2 what is known of the client's TLS (server name, protocol, version and certificate).
	// +optional
	TLVs bool `json:"tlvs,omitempty"`
}
