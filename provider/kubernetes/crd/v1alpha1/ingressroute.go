package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IngressRoute routes HTTP requests to services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=ingressroutes
// +kubebuilder:printcolumn:name="Match",type=string,JSONPath=`.spec.routes[*].match`,description="The rule of the first route."
// +kubebuilder:printcolumn:name="Entrypoints",type=string,JSONPath=`.spec.entryPoints`,description="The entrypoints of the routes."
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.routes[*].services[*].name`,description="The first service of the routes."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type IngressRoute struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec IngressRouteSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// IngressRouteList is a list of IngressRoutes.
// +kubebuilder:object:root=true
type IngressRouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []IngressRoute `json:"items"`
}

// IngressRouteSpec declares routes and where they listen.
type IngressRouteSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// IngressClassName names the class of the object; without it the annotation kubernetes.io/ingress.class does.
	// +optional
	IngressClassName *string `json:"ingressClassName,omitempty"`
	// EntryPoints names the entrypoints to listen on; none means the default entrypoints.
	// +optional
	EntryPoints []string `json:"entryPoints,omitempty"`
	// ParentRefs names IngressRoutes within which these routes are evaluated.
	// +optional
	ParentRefs []ObjectRef `json:"parentRefs,omitempty"`
	// Routes are the rules with the services that answer.
	Routes []Route `json:"routes"`
	// TLS, when present, makes the routes answer on TLS connections only.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
}

// Route binds the requests that a rule selects to services.
type Route struct {
	// Match is the rule, in the rule language of Traefik v3.
	Match string `json:"match"`
	// Kind is Rule, which is also the default.
	// +optional
	// +kubebuilder:validation:Enum=Rule
	Kind string `json:"kind,omitempty"`
	// Priority orders routes whose rules both match, the higher first; 0 means the length of the rule in bytes.
	// +optional
	Priority int `json:"priority,omitempty"`
	// PriorityClass says which requests are refused first during overload.
	// +optional
	// +kubebuilder:validation:Enum=low;default;high;critical
	PriorityClass string `json:"priorityClass,omitempty"`
	// Syntax is v3, default or empty, which all mean the same; v2 is refused with the spelling of v3.
	// +optional
	Syntax string `json:"syntax,omitempty"`
	// Services answer the requests. Several share them by their weights.
	// +optional
	Services []Service `json:"services,omitempty"`
	// Middlewares are applied in order, the first one outermost.
	// +optional
	Middlewares []ObjectRef `json:"middlewares,omitempty"`
	// Observability overrides what the entrypoint says is recorded.
	// +optional
	Observability *Observability `json:"observability,omitempty"`
}

// Observability says what is recorded of a route; what is absent is as the entrypoint says.
type Observability struct {
	// AccessLogs writes lines of the access log.
	// +optional
	AccessLogs *bool `json:"accessLogs,omitempty"`
	// Metrics counts requests.
	// +optional
	Metrics *bool `json:"metrics,omitempty"`
	// Tracing records spans.
	// +optional
	Tracing *bool `json:"tracing,omitempty"`
	// TraceVerbosity is minimal or detailed.
	// +optional
	// +kubebuilder:validation:Enum=minimal;detailed
	TraceVerbosity string `json:"traceVerbosity,omitempty"`
}

// TLS is the TLS part of an IngressRoute.
type TLS struct {
	// SecretName names the Secret (type kubernetes.io/tls, same namespace) of a certificate for clients to see.
	// +optional
	SecretName string `json:"secretName,omitempty"`
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
