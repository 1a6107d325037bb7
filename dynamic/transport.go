package dynamic

import ptypes "github.com/traefik/paerser/types"

// ServersTransport says how connections to servers are made (http.serversTransports.<name>).
type ServersTransport struct {
	// ServerName is the name for SNI and for the verification of the server's certificate. Default: the host of the
	// server's URL.
	ServerName string `json:"serverName,omitempty"`
	// InsecureSkipVerify accepts any certificate of the server.
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
	// DisableSNI sends no server name in TLS handshakes; certificates are verified as otherwise. Ours.
	DisableSNI bool `json:"disableSNI,omitempty"`
	// VerifyDepth is how many intermediate certificates may be between the server's certificate and the authority, at
	// least 0. It excludes InsecureSkipVerify. Default: any number. Ours.
	VerifyDepth *int `json:"verifyDepth,omitempty"`
	// RootCAs are certificate authorities for the server's certificate, each as a file or as PEM. Default: those of the
	// system.
	RootCAs []string `json:"rootCAs,omitempty" secret:"file"`
	// Certificates are presented to servers that request one (mTLS).
	Certificates []Certificate `json:"certificates,omitempty"`
	// CipherSuites are the cipher suites for TLS 1.2 and older, by their names in Go's crypto/tls. Default: Go's choice.
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// MinVersion is the oldest version: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13. Default: VersionTLS12.
	MinVersion string `json:"minVersion,omitempty"`
	// MaxVersion is the newest version, with the same values. Default: the newest that there is.
	MaxVersion string `json:"maxVersion,omitempty"`
	// MaxIdleConnsPerHost is how many idle connections to one server are kept. 0 means 200, a negative number none.
	MaxIdleConnsPerHost int `json:"maxIdleConnsPerHost,omitempty"`
	// ForwardingTimeouts are the time-outs of the connections.
	ForwardingTimeouts *ForwardingTimeouts `json:"forwardingTimeouts,omitempty"`
	// DisableHTTP2 offers only HTTP/1.1 to servers with https.
	DisableHTTP2 bool `json:"disableHTTP2,omitempty"`
	// PeerCertURI is a URI that the server's certificate must carry, unless it carries one of PeerCertSANs.
	PeerCertURI string `json:"peerCertURI,omitempty"`
	// PeerCertSANs are names of which the server's certificate must carry one. With InsecureSkipVerify they, or
	// PeerCertURI, are verified in place of the host name.
	PeerCertSANs []PeerCertSAN `json:"peerCertSANs,omitempty"`
	// Spiffe authenticates to servers and verifies theirs by SPIFFE identities: its ids, else its trustDomain, else any
	// of a trust domain with a bundle. It needs the static option spiffe.workloadAPIAddr, and excludes ServerName,
	// InsecureSkipVerify, RootCAs, client certificates, PeerCertURI and PeerCertSANs: else the transport is
	// quarantined, and services that use it answer 503.
	Spiffe *Spiffe `json:"spiffe,omitempty" label:"allowEmpty"`

	// FilesRevision identifies the contents of the files that are named here, so that the object changes when one
	// of them does. Providers that watch the files set it; it is no key of files or labels.
	FilesRevision uint64 `json:"-" label:"-"`
}

// SetDefaults sets the time-outs.
func (t *ServersTransport) SetDefaults() {
	t.ForwardingTimeouts = &ForwardingTimeouts{}
	t.ForwardingTimeouts.SetDefaults()
}

// PeerCertSAN is a subject alternative name that a server's certificate must carry.
type PeerCertSAN struct {
	// Type is DNSName or URI. Required.
	Type string `json:"type,omitempty"`
	// Value is the name itself. Required.
	Value string `json:"value,omitempty"`
}

// Spiffe authenticates servers by SPIFFE identities.
type Spiffe struct {
	// IDs are the identities that are accepted, as spiffe://domain/path.
	IDs []string `json:"ids,omitempty"`
	// TrustDomain is a domain of which every identity is accepted. It has no effect beside IDs.
	TrustDomain string `json:"trustDomain,omitempty"`
}

// ForwardingTimeouts are the time-outs of connections to servers; 0 means none.
type ForwardingTimeouts struct {
	// DialTimeout is how long it may take to connect.
	DialTimeout ptypes.Duration `json:"dialTimeout,omitempty"`
	// ResponseHeaderTimeout is the time between the end of the request and the beginning of the response. 0 sets no limit.
	ResponseHeaderTimeout ptypes.Duration `json:"responseHeaderTimeout,omitempty"`
	// IdleConnTimeout is how long an unused connection is kept. 0 sets no limit.
	IdleConnTimeout ptypes.Duration `json:"idleConnTimeout,omitempty"`
	// ReadIdleTimeout is the silence on an HTTP/2 connection after which a ping is sent. 0 sends none.
	ReadIdleTimeout ptypes.Duration `json:"readIdleTimeout,omitempty"`
	// PingTimeout is how long the answer to a ping may take before the connection is closed.
	PingTimeout ptypes.Duration `json:"pingTimeout,omitempty"`
}

// SetDefaults sets dial 30 s, idle 90 s, ping 15 s.
func (f *ForwardingTimeouts) SetDefaults() {
	f.DialTimeout = ptypes.Duration(30e9)
	f.IdleConnTimeout = ptypes.Duration(90e9)
	f.PingTimeout = ptypes.Duration(15e9)
}
