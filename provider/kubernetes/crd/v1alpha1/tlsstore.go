package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TLSStore holds certificates for clients to see. Only the one named default is used.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=tlsstores
// +kubebuilder:printcolumn:name="Default Certificate",type=string,JSONPath=`.spec.defaultCertificate.secretName`,description="The Secret of the certificate for unknown names."
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`,description="Whether the object is applied."
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TLSStore struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the user declares.
	Spec TLSStoreSpec `json:"spec"`
	// Status is what became of it.
	// +optional
	Status Status `json:"status,omitzero"`
}

// TLSStoreList is a list of TLSStores.
// +kubebuilder:object:root=true
type TLSStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	// Items are the objects.
	Items []TLSStore `json:"items"`
}

// TLSStoreSpec lists the certificates of a store.
type TLSStoreSpec struct {
	// Malformed says what of the spec did not fit; empty when all of it did. It is never sent.
	Malformed string `json:"-"`

	// DefaultCertificate is for clients that send a server name without a certificate, or none.
	// +optional
	DefaultCertificate *Certificate `json:"defaultCertificate,omitempty"`
	// DefaultGeneratedCert names the resolver that issues the default certificate.
	// +optional
	DefaultGeneratedCert *GeneratedCert `json:"defaultGeneratedCert,omitempty"`
	// Certificates are chosen by the server name that a client sends.
	// +optional
	Certificates []Certificate `json:"certificates,omitempty"`
}

// Certificate is a certificate with its key.
type Certificate struct {
	// SecretName names a Secret of type kubernetes.io/tls in the same namespace.
	SecretName string `json:"secretName"`
}

// GeneratedCert names the resolver that issues a certificate.
type GeneratedCert struct {
	// Resolver names the certificate resolver.
	// +optional
	Resolver string `json:"resolver,omitempty"`
	// Domain is what the certificate is for.
	// +optional
	Domain *Domain `json:"domain,omitempty"`
}
