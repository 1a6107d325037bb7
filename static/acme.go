package static

import "time"

// CertificateResolver obtains certificates automatically.
type CertificateResolver struct {
	ACME      *ACME      `json:"acme"`
	Tailscale *Tailscale `json:"tailscale"`
}

// Tailscale obtains certificates from the local Tailscale daemon.
type Tailscale struct{}

// ACME obtains certificates by RFC 8555.
type ACME struct {
	Email                       string         `json:"email" secret:"true"`
	EmailAddresses              []string       `json:"emailAddresses" secret:"true"`
	CAServer                    string         `json:"caServer" secret:"host"`
	PreferredChain              string         `json:"preferredChain"`
	Profile                     string         `json:"profile"`
	Storage                     string         `json:"storage"`
	KeyType                     string         `json:"keyType"`
	EAB                         *EAB           `json:"eab"`
	CertificatesDuration        int            `json:"certificatesDuration"`
	CertificateTimeout          Duration       `json:"certificateTimeout"`
	ClientTimeout               Duration       `json:"clientTimeout"`
	ClientResponseHeaderTimeout Duration       `json:"clientResponseHeaderTimeout"`
	CACertificates              []string       `json:"caCertificates" secret:"file"`
	CASystemCertPool            bool           `json:"caSystemCertPool"`
	CAServerName                string         `json:"caServerName"`
	DisableCommonName           bool           `json:"disableCommonName"`
	DNSChallenge                *DNSChallenge  `json:"dnsChallenge"`
	HTTPChallenge               *HTTPChallenge `json:"httpChallenge"`
	TLSChallenge                *TLSChallenge  `json:"tlsChallenge"`
	StagingCAServer             string         `json:"stagingCAServer" secret:"host"`
	OnDemand                    *OnDemand      `json:"onDemand"`
}

// SetDefaults obtains RSA certificates of 90 days from Let's Encrypt.
func (a *ACME) SetDefaults() {
	a.CAServer = "https://acme-v02.api.letsencrypt.org/directory"
	a.Storage = "acme.json"
	a.KeyType = "RSA4096"
	a.CertificatesDuration = 90 * 24
	a.CertificateTimeout = Duration(30 * time.Second)
	a.ClientTimeout = Duration(2 * time.Minute)
	a.ClientResponseHeaderTimeout = Duration(30 * time.Second)
}

// EAB is an external account binding.
type EAB struct {
	Kid         string `json:"kid" secret:"true"`
	HmacEncoded string `json:"hmacEncoded" secret:"true"`
}

// DNSChallenge proves control of a domain by a TXT record.
type DNSChallenge struct {
	Provider                string       `json:"provider"`
	DelayBeforeCheck        Duration     `json:"delayBeforeCheck"`
	Resolvers               []string     `json:"resolvers"`
	DisablePropagationCheck bool         `json:"disablePropagationCheck"`
	Propagation             *Propagation `json:"propagation"`
}

// Propagation says how the TXT record's propagation is checked.
type Propagation struct {
	DisableChecks     bool     `json:"disableChecks"`
	DisableANSChecks  bool     `json:"disableANSChecks"`
	RequireAllRNS     bool     `json:"requireAllRNS"`
	DelayBeforeChecks Duration `json:"delayBeforeChecks"`
}

// HTTPChallenge proves control of a domain by HTTP.
type HTTPChallenge struct {
	EntryPoint string   `json:"entryPoint"`
	Delay      Duration `json:"delay"`
}

// TLSChallenge proves control of a domain by TLS-ALPN.
type TLSChallenge struct {
	Delay Duration `json:"delay"`
}

// OnDemand obtains certificates for names that clients ask for.
type OnDemand struct {
	Ask      string   `json:"ask" secret:"url"`
	Patterns []string `json:"patterns"`
	Timeout  Duration `json:"timeout"`
}

// SetDefaults lets handshakes wait for 20 seconds.
func (o *OnDemand) SetDefaults() { o.Timeout = Duration(20 * time.Second) }
