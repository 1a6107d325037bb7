package dynamic

import ptypes "github.com/traefik/paerser/types"

// ServersTransport says how connections to servers are made (http.serversTransports.<name>).
type ServersTransport struct {
	ServerName          string              `json:"serverName,omitempty"`
	InsecureSkipVerify  bool                `json:"insecureSkipVerify,omitempty"`
	RootCAs             []string            `json:"rootCAs,omitempty" secret:"file"`
	Certificates        []Certificate       `json:"certificates,omitempty"`
	CipherSuites        []string            `json:"cipherSuites,omitempty"`
	MinVersion          string              `json:"minVersion,omitempty"`
	MaxVersion          string              `json:"maxVersion,omitempty"`
	MaxIdleConnsPerHost int                 `json:"maxIdleConnsPerHost,omitempty"`
	ForwardingTimeouts  *ForwardingTimeouts `json:"forwardingTimeouts,omitempty"`
	DisableHTTP2        bool                `json:"disableHTTP2,omitempty"`
	PeerCertURI         string              `json:"peerCertURI,omitempty"`
	PeerCertSANs        []PeerCertSAN       `json:"peerCertSANs,omitempty"`
	Spiffe              *Spiffe             `json:"spiffe,omitempty" label:"allowEmpty"`

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
	Type  string `json:"type,omitempty"`
	Value string `json:"value,omitempty"`
}

// Spiffe authenticates servers by SPIFFE identities.
type Spiffe struct {
	IDs         []string `json:"ids,omitempty"`
	TrustDomain string   `json:"trustDomain,omitempty"`
}

// ForwardingTimeouts are the time-outs of connections to servers; 0 means none.
type ForwardingTimeouts struct {
	DialTimeout           ptypes.Duration `json:"dialTimeout,omitempty"`
	ResponseHeaderTimeout ptypes.Duration `json:"responseHeaderTimeout,omitempty"`
	IdleConnTimeout       ptypes.Duration `json:"idleConnTimeout,omitempty"`
	ReadIdleTimeout       ptypes.Duration `json:"readIdleTimeout,omitempty"`
	PingTimeout           ptypes.Duration `json:"pingTimeout,omitempty"`
}

// SetDefaults sets dial 30 s, idle 90 s, ping 15 s.
func (f *ForwardingTimeouts) SetDefaults() {
	f.DialTimeout = ptypes.Duration(30e9)
	f.IdleConnTimeout = ptypes.Duration(90e9)
	f.PingTimeout = ptypes.Duration(15e9)
}
