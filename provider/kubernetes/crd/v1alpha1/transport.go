package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ServersTransport says how connections to endpoints are made.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=serverstransports
// +kubebuilder:printcolumn:name="Server Name",type=string,JSONPath=`.spec.serverName`,description="The name that the servers' certificates carry."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServersTransport struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec ServersTransportSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// ServersTransportList is a list of ServersTransports.
// +kubebuilder:object:root=true
type ServersTransportList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []ServersTransport `json:"items"`
}

// ServersTransportSpec says how connections to endpoints are made.
type ServersTransportSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

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
	// CipherSuites lists the cipher suites up to TLS 1.2, by their names in Go's crypto/tls.
	// +optional
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// MinVersion is VersionTLS10 to VersionTLS13.
	// +optional
	MinVersion string `json:"minVersion,omitempty"`
	// MaxVersion is VersionTLS10 to VersionTLS13.
	// +optional
	MaxVersion string `json:"maxVersion,omitempty"`
	// MaxIdleConnsPerHost is how many idle connections to one endpoint are kept.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	MaxIdleConnsPerHost int `json:"maxIdleConnsPerHost,omitempty"`
	// ForwardingTimeouts limits how long connections and answers may take.
	// +optional
	ForwardingTimeouts *ForwardingTimeouts `json:"forwardingTimeouts,omitempty"`
	// DisableHTTP2 speaks HTTP/1.1 over TLS.
	// +optional
	DisableHTTP2 bool `json:"disableHTTP2,omitempty"`
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

// RootCA says where the certificates of trusted authorities are: in a Secret or in a ConfigMap.
// +kubebuilder:validation:XValidation:rule="!(has(self.secret) && has(self.configMap))",message="secret and configMap exclude one another"
type RootCA struct {
	// Secret names a Secret with the key ca.crt or tls.ca.
	// +optional
	Secret *string `json:"secret,omitempty"`
	// ConfigMap names a ConfigMap with the key ca.crt.
	// +optional
	ConfigMap *string `json:"configMap,omitempty"`
}

// PeerCertSAN is a subject alternative name that a server's certificate must carry.
type PeerCertSAN struct {
	// Type is URI or DNSName.
	// +optional
	Type string `json:"type,omitempty"`
	// Value is the name.
	// +optional
	Value string `json:"value,omitempty"`
}

// Spiffe authenticates servers by SPIFFE identities.
type Spiffe struct {
	// IDs are the identities that are accepted.
	// +optional
	IDs []string `json:"ids,omitempty"`
	// TrustDomain is the domain whose members are accepted.
	// +optional
	TrustDomain string `json:"trustDomain,omitempty"`
}

// ForwardingTimeouts limits how long connections and answers may take: durations or seconds; 0 means no limit.
type ForwardingTimeouts struct {
	// DialTimeout is how long a connection may take to open; default 30s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	DialTimeout *intstr.IntOrString `json:"dialTimeout,omitempty"`
	// ResponseHeaderTimeout is how long the head of an answer may take; default 0.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	ResponseHeaderTimeout *intstr.IntOrString `json:"responseHeaderTimeout,omitempty"`
	// IdleConnTimeout is how long an idle connection is kept; default 90s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	IdleConnTimeout *intstr.IntOrString `json:"idleConnTimeout,omitempty"`
	// ReadIdleTimeout is how long an HTTP/2 connection may be silent before a ping is sent; default 0, no pings.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	ReadIdleTimeout *intstr.IntOrString `json:"readIdleTimeout,omitempty"`
	// PingTimeout is how long the answer to a ping may take; default 15s.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h)?)+$`
	PingTimeout *intstr.IntOrString `json:"pingTimeout,omitempty"`
}
