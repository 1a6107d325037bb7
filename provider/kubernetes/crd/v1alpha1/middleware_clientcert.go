package v1alpha1

// PassTLSClientCert hands the client's certificate to the service in headers.
type PassTLSClientCert struct {
	// PEM passes the certificate on in X-Forwarded-Tls-Client-Cert.
	// +optional
	PEM bool `json:"pem,omitempty"`
	// Info passes fields of it on in X-Forwarded-Tls-Client-Cert-Info.
	// +optional
	Info *ClientCertificateFields `json:"info,omitempty"`
}

// ClientCertificateFields selects fields of the client's certificate.
type ClientCertificateFields struct {
	// NotAfter passes the end of validity on.
	// +optional
	NotAfter bool `json:"notAfter,omitempty"`
	// NotBefore passes the begin of validity on.
	// +optional
	NotBefore bool `json:"notBefore,omitempty"`
	// SANs passes the subject alternative names on.
	// +optional
	SANs bool `json:"sans,omitempty"`
	// SerialNumber passes the serial number on.
	// +optional
	SerialNumber bool `json:"serialNumber,omitempty"`
	// Subject selects fields of the subject.
	// +optional
	Subject *ClientCertificateSubject `json:"subject,omitempty"`
	// Issuer selects fields of the issuer.
	// +optional
	Issuer *ClientCertificateIssuer `json:"issuer,omitempty"`
}

// ClientCertificateSubject selects fields of the subject.
type ClientCertificateSubject struct {
	// Country passes this field on.
	// +optional
	Country bool `json:"country,omitempty"`
	// Province passes this field on.
	// +optional
	Province bool `json:"province,omitempty"`
	// Locality passes this field on.
	// +optional
	Locality bool `json:"locality,omitempty"`
	// Organization passes this field on.
	// +optional
	Organization bool `json:"organization,omitempty"`
	// OrganizationalUnit passes this field on.
	// +optional
	OrganizationalUnit bool `json:"organizationalUnit,omitempty"`
	// CommonName passes this field on.
	// +optional
	CommonName bool `json:"commonName,omitempty"`
	// SerialNumber passes this field on.
	// +optional
	SerialNumber bool `json:"serialNumber,omitempty"`
	// DomainComponent passes this field on.
	// +optional
	DomainComponent bool `json:"domainComponent,omitempty"`
}

// ClientCertificateIssuer selects fields of the issuer.
type ClientCertificateIssuer struct {
	// Country passes this field on.
	// +optional
	Country bool `json:"country,omitempty"`
	// Province passes this field on.
	// +optional
	Province bool `json:"province,omitempty"`
	// Locality passes this field on.
	// +optional
	Locality bool `json:"locality,omitempty"`
	// Organization passes this field on.
	// +optional
	Organization bool `json:"organization,omitempty"`
	// CommonName passes this field on.
	// +optional
	CommonName bool `json:"commonName,omitempty"`
	// SerialNumber passes this field on.
	// +optional
	SerialNumber bool `json:"serialNumber,omitempty"`
	// DomainComponent passes this field on.
	// +optional
	DomainComponent bool `json:"domainComponent,omitempty"`
}
