package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Service refers to a Kubernetes Service or a TraefikService, and says how to use it.
type Service struct {
	LoadBalancerSpec `json:",inline"`
}

// LoadBalancerSpec refers to what answers and says how requests are spread over its endpoints.
type LoadBalancerSpec struct {
	// Name is the name of the Service or TraefikService.
	Name string `json:"name"`
	// Kind is Service (the default) or TraefikService.
	// +optional
	// +kubebuilder:validation:Enum=Service;TraefikService
	Kind string `json:"kind,omitempty"`
	// Namespace is by default that of the object that refers to it.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Middlewares are applied on the way to this service alone, the first one outermost.
	// +optional
	Middlewares []ObjectRef `json:"middlewares,omitempty"`
	// Sticky keeps a client on the endpoint that answered first.
	// +optional
	Sticky *Sticky `json:"sticky,omitempty"`
	// Port is the number or the name of a port of the Service.
	// +optional
	// +kubebuilder:validation:XIntOrString
	Port intstr.IntOrString `json:"port,omitzero"`
	// Scheme is http, https or h2c; without it, https for port 443 and ports whose name begins with https, else http.
	// +optional
	Scheme string `json:"scheme,omitempty"`
	// Strategy is wrr (the default), p2c, hrw, leasttime, peakewma, leastrequest or hash; RoundRobin is a deprecated name
	// of wrr.
	// +optional
	Strategy string `json:"strategy,omitempty"`
	// PassHostHeader forwards the client's Host header; default true.
	// +optional
	PassHostHeader *bool `json:"passHostHeader,omitempty"`
	// ResponseForwarding says how a response travels to the client.
	// +optional
	ResponseForwarding *ResponseForwarding `json:"responseForwarding,omitempty"`
	// ServersTransport names a ServersTransport.
	// +optional
	ServersTransport string `json:"serversTransport,omitempty"`
	// Weight is the share of requests relative to the other services of a list; default 1, 0 means none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight *int `json:"weight,omitempty"`
	// NativeLB sends requests to the Service's own address instead of its endpoints; the default is the provider's.
	// +optional
	NativeLB *bool `json:"nativeLB,omitempty"`
	// NodePortLB sends requests to the node port of every node, for Services of type NodePort.
	// +optional
	NodePortLB bool `json:"nodePortLB,omitempty"`
	// HealthCheck configures active health checks of each endpoint.
	// +optional
	HealthCheck *ServerHealthCheck `json:"healthCheck,omitempty"`
	// PassiveHealthCheck takes an endpoint out after failures of real requests.
	// +optional
	PassiveHealthCheck *PassiveServerHealthCheck `json:"passiveHealthCheck,omitempty"`

	Balancing `json:",inline"`
}

// ResponseForwarding says how a response travels to the client.
type ResponseForwarding struct {
	// FlushInterval is the longest wait before a flush, as a duration or in seconds; negative flushes after each write.
	// Default 100ms.
	// +optional
	// +kubebuilder:validation:XIntOrString
	FlushInterval *intstr.IntOrString `json:"flushInterval,omitempty"`
}

// Sticky keeps a client on the endpoint or service that answered first.
type Sticky struct {
	// Cookie stores it in a cookie.
	// +optional
	Cookie *Cookie `json:"cookie,omitempty"`
}

// Cookie is the sticky cookie.
type Cookie struct {
	// Name is the name of the cookie; by default one that is derived from the service.
	// +optional
	Name string `json:"name,omitempty"`
	// Secure sends the cookie over TLS only.
	// +optional
	Secure bool `json:"secure,omitempty"`
	// HTTPOnly hides the cookie from scripts.
	// +optional
	HTTPOnly bool `json:"httpOnly,omitempty"`
	// SameSite is none, lax or strict; without it the attribute is not sent.
	// +optional
	// +kubebuilder:validation:Enum=none;lax;strict;None;Lax;Strict
	SameSite string `json:"sameSite,omitempty"`
	// MaxAge is the life of the cookie in seconds; 0 means the browser's session, and less deletes it.
	// +optional
	MaxAge int `json:"maxAge,omitempty"`
	// Path is the path of the cookie; default /.
	// +optional
	Path *string `json:"path,omitempty"`
	// Domain is the domain of the cookie.
	// +optional
	Domain string `json:"domain,omitempty"`
	// Mode is persistent (the default), which keeps a client on its server until that is gone, or balanced, which hashes
	// the cookie over the servers.
	// +optional
	// +kubebuilder:validation:Enum=persistent;balanced
	Mode string `json:"mode,omitempty"`
	// SecureByScheme sends the cookie over TLS only when it was set over TLS.
	// +optional
	SecureByScheme bool `json:"secureByScheme,omitempty"`
	// ConditionalSameSiteNone leaves SameSite=None out for browsers that refuse cookies with it.
	// +optional
	ConditionalSameSiteNone bool `json:"conditionalSameSiteNone,omitempty"`
	// Partitioned sets the attribute Partitioned.
	// +optional
	Partitioned bool `json:"partitioned,omitempty"`
	// Expires is the life of the cookie in seconds as the attribute Expires; default 0, no such attribute.
	// +optional
	Expires int `json:"expires,omitempty"`
	// ChangeOnFailure moves a client to another server when a request to its own has failed and is tried again; default
	// true.
	// +optional
	ChangeOnFailure *bool `json:"changeOnFailure,omitempty"`
	// ReadOnly follows the cookie of clients that have it, and sets none.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}

// ServerHealthCheck is the active check of a server.
type ServerHealthCheck struct {
	// Scheme replaces the scheme of the server.
	// +optional
	Scheme string `json:"scheme,omitempty"`
	// Mode is http (the default) or grpc.
	// +optional
	Mode string `json:"mode,omitempty"`
	// Path is the path of the requests.
	// +optional
	Path string `json:"path,omitempty"`
	// Method is the method of the request; default GET.
	// +optional
	Method string `json:"method,omitempty"`
	// Status is the status code that means health; default any of 200 to 399.
	// +optional
	Status int `json:"status,omitempty"`
	// Port replaces the port of the server.
	// +optional
	Port int `json:"port,omitempty"`
	// Interval is the time between two checks, as a duration or in seconds; default 30s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Interval *intstr.IntOrString `json:"interval,omitempty"`
	// UnhealthyInterval is the time between two checks of an unhealthy server; default Interval.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	UnhealthyInterval *intstr.IntOrString `json:"unhealthyInterval,omitempty"`
	// Timeout is how long an answer may take, as a duration or in seconds; default 5s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Timeout *intstr.IntOrString `json:"timeout,omitempty"`
	// Hostname is the Host header of the request.
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// FollowRedirects follows redirects; default true.
	// +optional
	FollowRedirects *bool `json:"followRedirects,omitempty"`
	// Headers are further headers of the request.
	// +optional
	Headers map[string]string `json:"headers,omitempty"`
	// Rise is how many good answers in a row bring an unhealthy endpoint back; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Rise *int `json:"rise,omitempty"`
	// Fall is how many bad answers in a row take a healthy endpoint out; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Fall *int `json:"fall,omitempty"`
	// Jitter is by how much an interval is longer or shorter at random, in percent of it; default 10.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Jitter *int `json:"jitter,omitempty"`
}

// PassiveServerHealthCheck takes an endpoint out after failures of real requests.
type PassiveServerHealthCheck struct {
	// FailureWindow is the time within which failures count, as a duration or in seconds; default 10s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	FailureWindow *intstr.IntOrString `json:"failureWindow,omitempty"`
	// MaxFailedAttempts is the number of failures that take an endpoint out; default 1.
	// +optional
	MaxFailedAttempts *int `json:"maxFailedAttempts,omitempty"`
}
