package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// IngressRouteUDP routes UDP sessions to services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ingressrouteudps
// +kubebuilder:printcolumn:name="Entrypoints",type=string,JSONPath=`.spec.entryPoints`,description="The entrypoints of the routes."
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.routes[*].services[*].name`,description="The first service of the routes."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type IngressRouteUDP struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec IngressRouteUDPSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// IngressRouteUDPList is a list of IngressRouteUDPs.
// +kubebuilder:object:root=true
type IngressRouteUDPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []IngressRouteUDP `json:"items"`
}

// IngressRouteUDPSpec declares routes of UDP sessions and where they listen.
type IngressRouteUDPSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// IngressClassName names the class of the object; without it the annotation kubernetes.io/ingress.class does.
	// +optional
	IngressClassName *string `json:"ingressClassName,omitempty"`
	// EntryPoints names the entrypoints to listen on; none means the default entrypoints.
	// +optional
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Routes are the services that answer.
	Routes []RouteUDP `json:"routes"`
}

// RouteUDP binds the sessions of an entrypoint to services.
type RouteUDP struct {
	// Services answer. Several share the sessions by their weights.
	// +optional
	Services []ServiceUDP `json:"services,omitempty"`
}

// ServiceUDP refers to a Kubernetes Service for UDP sessions.
type ServiceUDP struct {
	// Name is the name of the Service.
	Name string `json:"name"`
	// Namespace is by default that of the route.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Port is the number or the name of a port of the Service.
	// +kubebuilder:validation:XIntOrString
	Port intstr.IntOrString `json:"port"`
	// Weight is the share of sessions relative to the other services; default 1, 0 means none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int `json:"weight,omitempty"`
	// NativeLB sends to the Service's own address instead of its endpoints; the default is the provider's.
	// +optional
	NativeLB *bool `json:"nativeLB,omitempty"`
	// NodePortLB sends to the node port of every node, for Services of type NodePort.
	// +optional
	NodePortLB bool `json:"nodePortLB,omitempty"`

	BalancingUDP `json:",inline"`
}

// BalancingUDP holds the options of a load balancer of UDP sessions that only the group sluice.dev has. Their names and
// values are those of files.
type BalancingUDP struct {
	// Strategy is wrr (the default), p2c, leastrequest (the fewest sessions), hrw or hash.
	// +optional
	Strategy string `json:"strategy,omitempty"`
	// Responses ends a session after so many datagrams of the endpoint; default 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Responses int `json:"responses,omitempty"`
	// OutlierDetection takes an endpoint out after datagrams that it refused, for longer each time. Its status has no
	// effect. Without it, its defaults are in force.
	// +optional
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty"`
	// ZoneAware prefers the endpoints of the zone that Sluice runs in; false ignores zones. By default only the hints of
	// EndpointSlices count.
	// +optional
	ZoneAware *bool `json:"zoneAware,omitempty"`
	// DrainTimeout is how long sessions with a removed endpoint may go on, as a duration or in seconds; default 0, until
	// they end by themselves.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DrainTimeout *intstr.IntOrString `json:"drainTimeout,omitempty"`
}
