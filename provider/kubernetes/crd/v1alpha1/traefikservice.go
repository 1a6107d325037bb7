package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TraefikService is a service made of other services.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=traefikservices
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TraefikService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec TraefikServiceSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// TraefikServiceList is a list of TraefikServices.
// +kubebuilder:object:root=true
type TraefikServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []TraefikService `json:"items"`
}

// TraefikServiceSpec holds exactly one kind of service.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type TraefikServiceSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// Weighted splits requests over services by weight.
	// +optional
	Weighted *WeightedRoundRobin `json:"weighted,omitempty"`
	// Mirroring sends a share of the requests to further services, whose answers are dropped.
	// +optional
	Mirroring *Mirroring `json:"mirroring,omitempty"`
	// HighestRandomWeight picks a service by rendezvous hashing of the client's address.
	// +optional
	HighestRandomWeight *HighestRandomWeight `json:"highestRandomWeight,omitempty"`
	// Failover answers with a fallback when the service is down.
	// +optional
	Failover *Failover `json:"failover,omitempty"`
	// Environment sends each request to the subset of its environment, by a tag in a header.
	// +optional
	Environment *Environment `json:"environment,omitempty"`
	// Canary sends a part of the requests to a second service.
	// +optional
	Canary *Canary `json:"canary,omitempty"`
	// DirectResponse answers by itself.
	// +optional
	DirectResponse *DirectResponse `json:"directResponse,omitempty"`
}

// WeightedRoundRobin splits requests over services by weight.
type WeightedRoundRobin struct {
	// Services are the branches, each with its weight.
	// +optional
	Services []Service `json:"services,omitempty"`
	// Sticky keeps a client on the branch that answered first.
	// +optional
	Sticky *Sticky `json:"sticky,omitempty"`
}

// HighestRandomWeight picks a service by rendezvous hashing of the client's address.
type HighestRandomWeight struct {
	// Services are the branches, each with its weight.
	// +optional
	Services []Service `json:"services,omitempty"`
}

// Mirroring answers with one service and sends a share of the requests to others.
type Mirroring struct {
	LoadBalancerSpec `json:",inline"`

	// MirrorBody sends the body to the mirrors as well; default true.
	// +optional
	MirrorBody *bool `json:"mirrorBody,omitempty"`
	// MaxBodySize is the size in bytes beyond which a request is not mirrored; default -1, any size.
	// +optional
	MaxBodySize *int64 `json:"maxBodySize,omitempty"`
	// Mirrors are the services that get a share.
	// +optional
	Mirrors []MirrorService `json:"mirrors,omitempty"`
}

// MirrorService is a service that gets a share of the requests, and whose answers are dropped.
type MirrorService struct {
	LoadBalancerSpec `json:",inline"`

	// Percent is the share of the requests.
	// +optional
	Percent int `json:"percent,omitempty"`
	// Fraction is the share of the requests, in place of Percent.
	// +optional
	Fraction *Fraction `json:"fraction,omitempty"`
}

// Fraction is a share of requests.
type Fraction struct {
	// Numerator is from 0 to Denominator.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Numerator int `json:"numerator,omitempty"`
	// Denominator is at least 1; default 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Denominator *int `json:"denominator,omitempty"`
}

// Failover answers with a fallback when the service is down.
type Failover struct {
	// Service answers as long as it can.
	Service Service `json:"service"`
	// Fallback answers otherwise.
	Fallback Service `json:"fallback"`
	// Errors are the answers of the service that the fallback replaces.
	// +optional
	Errors *FailoverErrors `json:"errors,omitempty"`
}

// FailoverErrors says which answers are failures.
type FailoverErrors struct {
	// Status lists status codes, ranges (500-599) and classes (5xx).
	// +optional
	Status []string `json:"status,omitempty"`
	// MaxRequestBodyBytes is the size of the request's body beyond which the answer stands; default -1, any size.
	// +optional
	MaxRequestBodyBytes *int64 `json:"maxRequestBodyBytes,omitempty"`
}

// Canary sends a part of the requests to a second service, by the rules of ingress-nginx in their order: the service
// that a sticky client is with; the header; the cookie; the weight.
type Canary struct {
	// Service answers normally, and all requests while one of the two is down.
	Service Service `json:"service"`
	// Canary gets a part of the requests.
	Canary Service `json:"canary"`
	// Weight is how many of WeightTotal requests the canary gets; default 0, none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Weight int `json:"weight,omitempty"`
	// WeightTotal is what Weight is a part of; default 100.
	// +optional
	// +kubebuilder:validation:Minimum=100
	WeightTotal *int `json:"weightTotal,omitempty"`
	// Header is the name of a header that decides: always for the canary, never for the other service.
	// +optional
	Header string `json:"header,omitempty"`
	// HeaderValue is the value of Header with which the canary gets a request.
	// +optional
	HeaderValue string `json:"headerValue,omitempty"`
	// HeaderPattern is a regular expression for the values of Header with which the canary gets a request.
	// +optional
	HeaderPattern string `json:"headerPattern,omitempty"`
	// Cookie is the name of a cookie that decides: always for the canary, never for the other service.
	// +optional
	Cookie string `json:"cookie,omitempty"`
	// Sticky keeps a client on the service that answered its first request.
	// +optional
	Sticky *Sticky `json:"sticky,omitempty"`
	// StickyService, with Sticky, keeps only clients of Service.
	// +optional
	StickyService bool `json:"stickyService,omitempty"`
}

// DirectResponse answers requests with a status, headers and a text.
type DirectResponse struct {
	// Status is the status code, 200 to 599.
	// +kubebuilder:validation:Minimum=200
	// +kubebuilder:validation:Maximum=599
	Status int `json:"status"`
	// Body is the response body, which is plain text.
	// +optional
	Body string `json:"body,omitempty"`
	// Headers are set on the response; values may have variables of nginx.
	// +optional
	Headers []HeaderValue `json:"headers,omitempty"`
	// TrimTrailingSlash removes one slash from the end of the header Location.
	// +optional
	TrimTrailingSlash bool `json:"trimTrailingSlash,omitempty"`
}
