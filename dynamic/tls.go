package dynamic

// TLSConfiguration holds the section tls.
type TLSConfiguration struct {
	Certificates []*CertificateEntry `json:"certificates,omitempty"`
	Options      Objects[TLSOptions] `json:"options,omitzero"`
	Stores       Objects[TLSStore]   `json:"stores,omitzero"`
}

// DefaultTLSName is the name of the default TLS options and of the only store that is used.
const DefaultTLSName = "default"

// Certificate is a certificate with its key: each a path or inline PEM.
type Certificate struct {
	// CertFile is the certificate with its chain, as a file or as PEM. Required.
	CertFile string `json:"certFile,omitempty" secret:"file"`
	// KeyFile is the private key, as a file or as PEM. Required.
	KeyFile string `json:"keyFile,omitempty" secret:"file"`
}

// CertificateEntry is a certificate for clients to see, chosen by SNI (tls.certificates[n]).
type CertificateEntry struct {
	// Name is the name of its Ref, qualified (name@provider) by the provider that sends it, since entries of a list have
	// no key: the certFile as written, or certificates[n] for inline PEM. It is no key of files or labels.
	Name        string `json:"-" hash:"ignore"`
	Certificate `json:",inline"`
	// Stores are names of stores. Only the store default is used, and every certificate is in it.
	Stores []string `json:"stores,omitempty"`
	// EntryPoints are the names of the entrypoints that present the certificate, in preference to certificates without
	// this option. Default: all entrypoints.
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Hosts are names, also with a wildcard, for which the certificate is presented in preference to those that have the
	// name themselves, whatever its own names are. Providers alone set it.
	Hosts []string `json:"-" label:"-"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// TLSOptions are the options of TLS connections from clients (tls.options.<name>).
type TLSOptions struct {
	// MinVersion is the oldest version: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. Default: VersionTLS12.
	MinVersion string `json:"minVersion,omitempty"`
	// MaxVersion is the newest version, with the same values. Default: the newest that there is.
	MaxVersion string `json:"maxVersion,omitempty"`
	// CipherSuites are the cipher suites for TLS 1.2 and older, by their names in Go's crypto/tls. Default: Go's choice.
	// Those of TLS 1.3 cannot be chosen.
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// CurvePreferences are the key exchanges that are accepted, by their names in Go's crypto/tls. Default: Go's choice.
	CurvePreferences []string `json:"curvePreferences,omitempty"`
	// ClientAuth requests certificates from clients (mTLS).
	ClientAuth ClientAuth `json:"clientAuth,omitempty"`
	// SNIStrict refuses handshakes for which there is no certificate with the requested name, instead of presenting the
	// default certificate.
	SNIStrict bool `json:"sniStrict,omitempty"`
	// ALPNProtocols are the protocols that are offered, in order of preference; 1 to 255 bytes each.
	ALPNProtocols []string `json:"alpnProtocols,omitempty"`
	// DisableSessionTickets turns the resumption of sessions off.
	DisableSessionTickets bool `json:"disableSessionTickets,omitempty"`
	// PreferServerCipherSuites has no effect, since Go orders the cipher suites itself.
	PreferServerCipherSuites *bool `json:"preferServerCipherSuites,omitempty"`
	// EntryPoints are the names of the entrypoints that use these options as their default ones, in place of those named
	// default.
	EntryPoints []string `json:"entryPoints,omitempty"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// SetDefaults sets the protocols offered by ALPN.
func (o *TLSOptions) SetDefaults() {
	o.ALPNProtocols = []string{"h2", "http/1.1", "acme-tls/1"}
}

// ClientAuth says which client certificates are requested.
type ClientAuth struct {
	// CAFiles are the authorities of the clients' certificates, each as a file or as PEM.
	CAFiles []string `json:"caFiles,omitempty" secret:"file"`
	// ClientAuthType is NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or
	// RequireAndVerifyClientCert. Default: RequireAndVerifyClientCert when CAFiles is set, else NoClientCert. The last two
	// values need CAFiles.
	ClientAuthType string `json:"clientAuthType,omitempty"`
	// CRLFiles are certificate revocation lists (RFC 5280), each as a file in PEM or DER or as PEM. A client is refused
	// whose certificate, or an intermediate one, is revoked, or was signed by an authority that has no valid list here.
	// Default: revocation is not checked. Needs a ClientAuthType that verifies.
	CRLFiles []string `json:"crlFiles,omitempty" secret:"file"`
}

// TLSStore is a store of certificates; only the one named default is used.
type TLSStore struct {
	// DefaultCertificate is presented when no certificate has the requested name. Default: a self-signed certificate that
	// is generated at the start.
	DefaultCertificate *Certificate `json:"defaultCertificate,omitempty"`
	// DefaultGeneratedCert obtains the default certificate from a resolver. It has no effect beside DefaultCertificate.
	DefaultGeneratedCert *GeneratedCert `json:"defaultGeneratedCert,omitempty"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// GeneratedCert names the resolver that issues the default certificate.
type GeneratedCert struct {
	// Resolver is the name of the certificate resolver.
	Resolver string `json:"resolver,omitempty"`
	// Domain is the name of the certificate, with further names.
	Domain *Domain `json:"domain,omitempty"`
}
