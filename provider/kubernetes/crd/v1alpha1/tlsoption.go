package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TLSOption holds options of TLS connections from clients.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=tlsoptions
// +kubebuilder:printcolumn:name="Min Version",type=string,JSONPath=`.spec.minVersion`,description="The lowest version of TLS."
// +kubebuilder:printcolumn:name="Client Auth",type=string,JSONPath=`.spec.clientAuth.clientAuthType`,description="Which client certificates are requested."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TLSOption struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec TLSOptionSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// TLSOptionList is a list of TLSOptions.
// +kubebuilder:object:root=true
type TLSOptionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []TLSOption `json:"items"`
}

// TLSOptionSpec holds options of TLS connections from clients.
type TLSOptionSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// MinVersion is VersionTLS10 to VersionTLS13; default VersionTLS12.
	// +optional
	MinVersion string `json:"minVersion,omitempty"`
	// MaxVersion is VersionTLS10 to VersionTLS13; without it the highest that there is.
	// +optional
	MaxVersion string `json:"maxVersion,omitempty"`
	// CipherSuites lists the cipher suites up to TLS 1.2, by their names in Go's crypto/tls.
	// +optional
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// CurvePreferences lists the curves in order of preference.
	// +optional
	CurvePreferences []string `json:"curvePreferences,omitempty"`
	// ClientAuth says which client certificates are requested.
	// +optional
	ClientAuth ClientAuth `json:"clientAuth,omitzero"`
	// SNIStrict refuses connections whose server name has no certificate.
	// +optional
	SNIStrict bool `json:"sniStrict,omitempty"`
	// ALPNProtocols lists the protocols to offer, in order of preference; default h2, http/1.1 and acme-tls/1.
	// +optional
	ALPNProtocols []string `json:"alpnProtocols,omitempty"`
	// DisableSessionTickets stops resumption by tickets.
	// +optional
	DisableSessionTickets bool `json:"disableSessionTickets,omitempty"`
	// PreferServerCipherSuites is deprecated and has no effect.
	// +optional
	PreferServerCipherSuites *bool `json:"preferServerCipherSuites,omitempty"`
}

// ClientAuth says which client certificates are requested.
type ClientAuth struct {
	// SecretNames names Secrets with the certificates of trusted authorities (ca.crt or tls.ca). With certificate
	// revocation lists in ca.crl (PEM or DER), revoked client certificates are refused, and those of authorities without
	// a valid list.
	// +optional
	SecretNames []string `json:"secretNames,omitempty"`
	// ClientAuthType says whether a certificate is requested, and whether it is verified.
	// +optional
	// +kubebuilder:validation:Enum=NoClientCert;RequestClientCert;RequireAnyClientCert;VerifyClientCertIfGiven;RequireAndVerifyClientCert
	ClientAuthType string `json:"clientAuthType,omitempty"`
}
