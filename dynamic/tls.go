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
	CertFile string `json:"certFile,omitempty" secret:"file"`
	KeyFile  string `json:"keyFile,omitempty" secret:"file"`
}

// CertificateEntry is a certificate for clients to see, chosen by SNI (tls.certificates[n]).
type CertificateEntry struct {
	// Name is the name of its Ref, qualified (name@provider) by the provider that sends it, since entries of a list have
	// no key: the certFile as written, or certificates[n] for inline PEM. It is no key of files or labels.
	Name        string `json:"-" hash:"ignore"`
	Certificate `json:",inline"`
	Stores      []string `json:"stores,omitempty"`
	// EntryPoints are the names of the entrypoints on which clients see it, before the certificates that name none; empty
	// means all of them.
	EntryPoints []string `json:"entryPoints,omitempty"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// TLSOptions are the options of TLS connections from clients (tls.options.<name>).
type TLSOptions struct {
	// MinVersion is VersionTLS10 to VersionTLS13; empty means VersionTLS12.
	MinVersion               string     `json:"minVersion,omitempty"`
	MaxVersion               string     `json:"maxVersion,omitempty"`
	CipherSuites             []string   `json:"cipherSuites,omitempty"`
	CurvePreferences         []string   `json:"curvePreferences,omitempty"`
	ClientAuth               ClientAuth `json:"clientAuth,omitempty"`
	SNIStrict                bool       `json:"sniStrict,omitempty"`
	ALPNProtocols            []string   `json:"alpnProtocols,omitempty"`
	DisableSessionTickets    bool       `json:"disableSessionTickets,omitempty"`
	PreferServerCipherSuites *bool      `json:"preferServerCipherSuites,omitempty"`
	// EntryPoints are the names of the entrypoints whose default options these are, in place of those named default.
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
	// CAFiles are paths or inline PEM.
	CAFiles []string `json:"caFiles,omitempty" secret:"file"`
	// ClientAuthType is NoClientCert, RequestClientCert, RequireAnyClientCert, VerifyClientCertIfGiven or
	// RequireAndVerifyClientCert.
	ClientAuthType string `json:"clientAuthType,omitempty"`
}

// TLSStore is a store of certificates; only the one named default is used.
type TLSStore struct {
	DefaultCertificate   *Certificate   `json:"defaultCertificate,omitempty"`
	DefaultGeneratedCert *GeneratedCert `json:"defaultGeneratedCert,omitempty"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// GeneratedCert names the resolver that issues the default certificate.
type GeneratedCert struct {
	Resolver string  `json:"resolver,omitempty"`
	Domain   *Domain `json:"domain,omitempty"`
}
