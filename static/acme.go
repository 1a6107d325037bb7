package static

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// CertificateResolver obtains certificates automatically.
type CertificateResolver struct {
	ACME      *ACME      `json:"acme" description:"Certificates from an ACME certificate authority (RFC 8555)."`
	Tailscale *Tailscale `json:"tailscale" description:"Certificates from the local Tailscale daemon." support:"refuse" why:"routers would be served with a certificate that no client trusts; use acme"`
}

// Tailscale obtains certificates from the local Tailscale daemon.
type Tailscale struct{}

// ACME obtains certificates by RFC 8555.
type ACME struct {
	Email                       string         `json:"email" description:"E-mail address of the account." secret:"true"`
	EmailAddresses              []string       `json:"emailAddresses" description:"E-mail addresses in the certificates (subject alternative names)." secret:"true"`
	CAServer                    string         `json:"caServer" description:"Directory of the certificate authority." secret:"host"`
	StagingCAServer             string         `json:"stagingCAServer" description:"Directory at which names are validated first after a failure, so that the limits of caServer are not used up; without it, that of Let's Encrypt for Let's Encrypt, and none for others." secret:"host"`
	PreferredChain              string         `json:"preferredChain" description:"Common name of the issuer of the chain to use, where the authority offers several."`
	Profile                     string         `json:"profile" description:"Profile of the certificates, where the authority has several."`
	Storage                     string         `json:"storage" description:"Where account and certificates are kept: a file in the format of Traefik's acme.json, or, for several replicas, kubernetes://NAMESPACE, redis://HOST:PORT/DB or etcd://HOST:PORT/PREFIX." secret:"url"`
	KeyType                     string         `json:"keyType" description:"Type of the keys of certificates: EC256, EC384, RSA2048, RSA4096 or RSA8192."`
	EAB                         *EAB           `json:"eab" description:"Binding of the account to one that the authority knows otherwise."`
	CertificatesDuration        int            `json:"certificatesDuration" description:"Lifetime of certificates in hours, from which Traefik derives when to renew; with another value than the default, and an authority that suggests no time for renewal, it does so here, otherwise certificates are renewed when a third of their life remains." range:"1.."`
	CertificateTimeout          Duration       `json:"certificateTimeout" description:"How long the authority may take to issue a certificate."`
	ClientTimeout               Duration       `json:"clientTimeout" description:"How long a request to the authority may take."`
	ClientResponseHeaderTimeout Duration       `json:"clientResponseHeaderTimeout" description:"How long the authority may take until the header of its response."`
	CACertificates              []string       `json:"caCertificates" description:"Certificates by which the authority's server is verified, as files or PEM text, in place of those of the system." secret:"file"`
	CASystemCertPool            bool           `json:"caSystemCertPool" description:"Trust those of the system beside caCertificates."`
	CAServerName                string         `json:"caServerName" description:"Name that the certificate of the authority's server must have."`
	DisableCommonName           bool           `json:"disableCommonName" description:"Leave the common name of certificates empty."`
	DNSChallenge                *DNSChallenge  `json:"dnsChallenge" description:"Prove control of names by a TXT record (DNS-01), also of wildcards."`
	HTTPChallenge               *HTTPChallenge `json:"httpChallenge" description:"Prove control of names by HTTP (HTTP-01) on port 80."`
	TLSChallenge                *TLSChallenge  `json:"tlsChallenge" description:"Prove control of names by TLS (TLS-ALPN-01) on port 443."`
	OnDemand                    *OnDemand      `json:"onDemand" description:"Obtain certificates for names that clients ask for, when they do."`
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
	Kid         string `json:"kid" description:"Identifier of the key that the authority has given." secret:"true"`
	HmacEncoded string `json:"hmacEncoded" description:"The key in base64url without padding." secret:"true"`
}

// DNSChallenge proves control of a domain by a TXT record.
type DNSChallenge struct {
	Provider                string       `json:"provider" description:"Name of the DNS provider; its credentials come from the environment."`
	DelayBeforeCheck        Duration     `json:"delayBeforeCheck" description:"Deprecated: use propagation.delayBeforeChecks."`
	Resolvers               []string     `json:"resolvers" description:"DNS servers, as HOST:PORT, by which zones are found and the record is checked; without any, those of the system."`
	DisablePropagationCheck bool         `json:"disablePropagationCheck" description:"Deprecated: use propagation.disableChecks."`
	Propagation             *Propagation `json:"propagation" description:"How it is checked that the record is seen before the authority looks for it."`
}

// Propagation says how the TXT record's propagation is checked.
type Propagation struct {
	DisableChecks     bool     `json:"disableChecks" description:"Check nothing."`
	DisableANSChecks  bool     `json:"disableANSChecks" description:"Do not check the authoritative name servers."`
	RequireAllRNS     bool     `json:"requireAllRNS" description:"Check all recursive name servers too."`
	DelayBeforeChecks Duration `json:"delayBeforeChecks" description:"How long to wait before the checks."`
}

// HTTPChallenge proves control of a domain by HTTP.
type HTTPChallenge struct {
	EntryPoint string   `json:"entryPoint" description:"Entrypoint that the authority reaches on port 80."`
	Delay      Duration `json:"delay" description:"How long to wait before the authority is asked to validate."`
}

// TLSChallenge proves control of a domain by TLS-ALPN.
type TLSChallenge struct {
	Delay Duration `json:"delay" description:"How long to wait before the authority is asked to validate."`
}

// OnDemand obtains certificates for names that clients ask for.
type OnDemand struct {
	Ask      string   `json:"ask" description:"URL that decides for each name: it is requested with the parameter domain, and allows the name with a status of 2xx." secret:"url"`
	Patterns []string `json:"patterns" description:"Names that are allowed without asking; * stands for any characters but a dot."`
	Timeout  Duration `json:"timeout" description:"How long a handshake waits for its certificate; then it gets the default one."`
}

// SetDefaults lets handshakes wait for 8 seconds.
func (o *OnDemand) SetDefaults() { o.Timeout = Duration(8 * time.Second) }

// longestOnDemand is the largest value of the option: handshakes end after 10 seconds.
const longestOnDemand = Duration(9 * time.Second)

// keyTypes are the values of the option keyType.
func keyTypes() []string { return []string{"EC256", "EC384", "RSA2048", "RSA4096", "RSA8192"} }

// resolvers checks the resolvers of certificates.
func (l *loader) resolvers() {
	for _, name := range slices.Sorted(maps.Keys(l.Configuration.CertificatesResolvers)) {
		resolver := l.Configuration.CertificatesResolvers[name]
		switch {
		case resolver == nil || resolver.ACME == nil && resolver.Tailscale == nil:
			l.fail("has neither acme nor tailscale", "certificatesResolvers", name)
		case resolver.ACME != nil:
			l.acme(resolver.ACME, "certificatesResolvers", name, "acme")
		}
	}
}

// sessionTickets checks that there is a storage.
func (l *loader) sessionTickets() {
	if tickets := l.Configuration.SessionTickets; tickets != nil && tickets.Storage == "" {
		l.fail("is missing, expected a file, kubernetes://NAMESPACE, redis://HOST:PORT/DB or etcd://HOST:PORT/PREFIX",
			"sessionTickets", "storage")
	}
}

// ocsp checks the URLs of responders.
func (l *loader) ocsp() {
	if l.Configuration.OCSP == nil {
		return
	}
	overrides := l.Configuration.OCSP.ResponderOverrides
	for _, from := range slices.Sorted(maps.Keys(overrides)) {
		to, err := url.Parse(overrides[from])
		switch {
		case overrides[from] == "":
			l.fail("is empty, expected the URL that is queried in its place", "ocsp", "responderOverrides", from)
		case err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "":
			l.fail("is no URL with http:// or https:// and a host", "ocsp", "responderOverrides", from)
		}
	}
}

// acme checks the options of one resolver.
func (l *loader) acme(a *ACME, at ...string) {
	option := func(names ...string) []string { return append(slices.Clone(at), names...) }
	if a.Storage == "" {
		l.fail("is missing, expected a file such as acme.json", option("storage")...)
	}
	if a.KeyType != "" && !slices.Contains(keyTypes(), a.KeyType) {
		l.warn(fmt.Sprintf("%s is none of %s: RSA4096 is used", shorten(a.KeyType), strings.Join(keyTypes(), ", ")),
			option("keyType")...)
	}
	if a.ClientTimeout < a.ClientResponseHeaderTimeout {
		l.fail("is shorter than clientResponseHeaderTimeout", option("clientTimeout")...)
	}
	if target, err := url.Parse(a.CAServer); err != nil || target.Scheme != "https" && target.Scheme != "http" ||
		target.Host == "" {
		l.fail("expected the URL of a directory, such as https://acme-v02.api.letsencrypt.org/directory",
			option("caServer")...)
	}
	if a.DNSChallenge == nil && a.HTTPChallenge == nil && a.TLSChallenge == nil {
		l.fail("has no challenge: set httpChallenge, tlsChallenge or dnsChallenge", at...)
	}
	if a.HTTPChallenge != nil {
		if a.HTTPChallenge.EntryPoint == "" {
			l.fail("is missing, expected the entrypoint that is reached on port 80", option("httpChallenge", "entryPoint")...)
		} else {
			l.exists(a.HTTPChallenge.EntryPoint, option("httpChallenge", "entryPoint")...)
		}
	}
	if a.DNSChallenge != nil && a.DNSChallenge.Provider == "" {
		l.fail("is missing, expected the name of a DNS provider", option("dnsChallenge", "provider")...)
	}
	if a.OnDemand != nil {
		l.onDemand(a.OnDemand, option("onDemand")...)
	}
}

// onDemand checks that there is a decision on each name: without one, anyone could have certificates ordered.
func (l *loader) onDemand(o *OnDemand, at ...string) {
	if o.Timeout <= 0 || o.Timeout > longestOnDemand {
		l.fail("expected at most 9s, since handshakes end after 10s", append(slices.Clone(at), "timeout")...)
	}
	if o.Ask == "" && len(o.Patterns) == 0 {
		l.fail("needs ask or patterns, which decide on the names", at...)
	}
	for _, pattern := range o.Patterns {
		if _, err := path.Match(strings.ToLower(pattern), ""); err != nil || strings.Trim(pattern, "*.") == "" {
			l.fail(fmt.Sprintf("%s is no pattern of names, such as *.example.com", shorten(pattern)),
				append(slices.Clone(at), "patterns")...)
		}
	}
	if target, err := url.Parse(o.Ask); o.Ask != "" && (err != nil || target.Host == "" ||
		target.Scheme != "http" && target.Scheme != "https") {
		l.fail("expected a URL with http or https", append(slices.Clone(at), "ask")...)
	}
}
