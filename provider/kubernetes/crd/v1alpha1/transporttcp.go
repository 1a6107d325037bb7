package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServersTransportTCP says how TCP connections to servers are made.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=serverstransporttcps
// +kubebuilder:printcolumn:name="Server Name",type=string,JSONPath=`.spec.tls.serverName`,description="The name that the servers' certificates carry."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServersTransportTCP struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec ServersTransportTCPSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// ServersTransportTCPList is a list of ServersTransportTCPs.
// +kubebuilder:object:root=true
type ServersTransportTCPList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []ServersTransportTCP `json:"items"`
}

// ServersTransportTCPSpec says how TCP connections to servers are made. Durations may be given in seconds.
type ServersTransportTCPSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// DialTimeout is how long a connection may take to open; default 30s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DialTimeout *intstr.IntOrString `json:"dialTimeout,omitempty"`
	// DialKeepAlive is the time between keep-alive probes; default 15s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DialKeepAlive *intstr.IntOrString `json:"dialKeepAlive,omitempty"`
	// TerminationDelay is how long one direction may stay open after the other has closed; default 100ms.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	TerminationDelay *intstr.IntOrString `json:"terminationDelay,omitempty"`
	// IdleTimeout closes connections on which no byte has moved for so long; default 0, never.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	IdleTimeout *intstr.IntOrString `json:"idleTimeout,omitempty"`
	// ProxyProtocol announces the client's address to the server.
	// +optional
	ProxyProtocol *ProxyProtocol `json:"proxyProtocol,omitempty"`
	// TLS speaks TLS to the server.
	// +optional
	TLS *TLSClientConfig `json:"tls,omitempty"`
}

// TLSClientConfig is TLS towards a server of TCP connections.
type TLSClientConfig struct {
	// ServerName is the name that is sent as SNI and looked for in the server's certificate.
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// InsecureSkipVerify accepts any certificate of the server.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// DisableSNI sends no server name in TLS handshakes.
	// +optional
	DisableSNI bool `json:"disableSNI,omitempty"`
	// VerifyDepth is how many intermediate certificates may be between the server's certificate and the authority; by
	// default any number.
	// +optional
	// +kubebuilder:validation:Minimum=0
	VerifyDepth *int `json:"verifyDepth,omitempty"`
	// RootCAs are where the certificates of trusted authorities are, besides RootCAsSecrets.
	// +optional
	RootCAs []RootCA `json:"rootCAs,omitempty"`
	// RootCAsSecrets names Secrets with the certificates of trusted authorities (ca.crt or tls.ca); deprecated.
	// +optional
	RootCAsSecrets []string `json:"rootCAsSecrets,omitempty"`
	// CertificatesSecrets names Secrets of type kubernetes.io/tls with certificates to present to servers.
	// +optional
	CertificatesSecrets []string `json:"certificatesSecrets,omitempty"`
	// PeerCertURI is a URI that the server's certificate must carry; deprecated in favour of PeerCertSANs.
	// +optional
	PeerCertURI string `json:"peerCertURI,omitempty"`
	// PeerCertSANs are subject alternative names, of which the server's certificate must carry one.
	// +optional
	PeerCertSANs []PeerCertSAN `json:"peerCertSANs,omitempty"`
	// Spiffe authenticates servers by SPIFFE identities.
	// +optional
	Spiffe *Spiffe `json:"spiffe,omitempty"`
}
