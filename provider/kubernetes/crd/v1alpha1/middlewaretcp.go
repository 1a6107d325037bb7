package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MiddlewareTCP decides on TCP connections on their way.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=middlewaretcps
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MiddlewareTCP struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec MiddlewareTCPSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// MiddlewareTCPList is a list of MiddlewareTCPs.
// +kubebuilder:object:root=true
type MiddlewareTCPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []MiddlewareTCP `json:"items"`
}

// MiddlewareTCPSpec holds exactly one kind of middleware.
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type MiddlewareTCPSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// InFlightConn limits connections that are open at a time.
	// +optional
	InFlightConn *TCPInFlightConn `json:"inFlightConn,omitempty"`
	// IPAllowList lets only some addresses in.
	// +optional
	IPAllowList *TCPIPAllowList `json:"ipAllowList,omitempty"`
	// IPWhiteList is a deprecated name of IPAllowList.
	// +optional
	IPWhiteList *TCPIPAllowList `json:"ipWhiteList,omitempty"`
	// RateLimit bounds the new connections of each client in time.
	// +optional
	RateLimit *TCPRateLimit `json:"rateLimit,omitempty"`
}

// TCPInFlightConn limits connections that are open at a time.
type TCPInFlightConn struct {
	// Amount is how many connections one address may have.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Amount int64 `json:"amount,omitempty"`
}

// TCPRateLimit bounds the new connections of each client address in time, an IPv6 client counting by its /64.
type TCPRateLimit struct {
	// Average is how many connections an address may open in each period.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Average int64 `json:"average,omitempty"`
	// Period is the time that Average is for, as a duration or in seconds; default 1s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	Period *intstr.IntOrString `json:"period,omitempty"`
	// Burst is how many connections an address may open at once after a rest; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	Burst *int64 `json:"burst,omitempty"`
}

// TCPIPAllowList lets only some addresses in.
type TCPIPAllowList struct {
	// SourceRange lists the addresses and networks that are let in.
	// +optional
	SourceRange []string `json:"sourceRange,omitempty"`
}
