package annotation

import "time"

// Settings are what the ConfigMap of ingress-nginx says about answers to requests. They are not changed once they are
// in use.
type Settings struct {
	// Given says that the ConfigMap was read. Without it, the level of risk that ingress-nginx accepts is unknown.
	Given bool

	SSLRedirect, ForceSSLRedirect, PreserveTrailingSlash bool
	// RedirectCode is the status of the redirect to https: 301, 302, 307 or 308.
	RedirectCode                          int
	UsePortInRedirects, RelativeRedirects bool
	// NoTLSRedirect and NoAuth are the beginnings of Ingress paths that are exempt.
	NoTLSRedirect, NoAuth []string
	HSTS                  HSTS

	// Proxy are the defaults of Options.Proxy.
	Proxy Proxy
	// IdleTimeout is how long an unused connection to an endpoint is kept.
	IdleTimeout                 time.Duration
	CustomHTTPErrors            []int
	DisableProxyInterceptErrors bool
	ServiceUpstream, EWMA       bool
	// ProxyTLSLocationOnly says that Options.ProxyTLS is the location's, not the host's.
	ProxyTLSLocationOnly bool

	// LimitRate and LimitRateAfter are in KiB.
	LimitRate, LimitRateAfter       int
	RateStatus, ConnectionStatus    int
	Allow, Deny, BlockCIDRs         []string
	BlockUserAgents, BlockReferers  []string
	GlobalAuth                      *AuthRequest
	Firewall                        bool
	RealIP                          RealIP
	AllowCrossNamespace             bool
	Risk                            Risk
	Blocklist                       []string
	AllowedResponseHeaders          []string
	ProxySetHeaders, AddHeaders     *Reference
	HideHeaders                     []string
	AllowBackendServerHeader        bool
	AddOriginalURI, GenerateRequest bool
	AccessLog, DefaultBackendLog    bool
	Gzip, Brotli                    Compression
	SSLProtocols                    []string
	SSLCiphers                      string

	// Closed is why all locations answer 503; empty when they do not. GlobalAuthClosed is why those do to which the
	// external authentication of the ConfigMap would apply.
	Closed, GlobalAuthClosed string
}

// RealIP is how the address of a client is found behind proxies. Both flags may be set: the walk through
// X-Forwarded-For then begins at the address of the PROXY header.
type RealIP struct {
	// Forwarded says that X-Forwarded-For of trusted peers has it, and ProxyProtocol that the PROXY header has it.
	Forwarded, ProxyProtocol bool
	// Headers says that a trusted peer also has the scheme, the host and the port of the client's request
	// (use-forwarded-headers), and FullForwardedFor that endpoints get X-Forwarded-For with the peer appended, in place of
	// the address of the client.
	Headers, FullForwardedFor bool
	// Trusted are the addresses and networks of trusted peers.
	Trusted []string
	// Unsupported is why the client is not found as in nginx; empty when it is.
	Unsupported string
}

// HSTS is the header Strict-Transport-Security of answers over https.
type HSTS struct {
	Enabled bool
	// MaxAge is in seconds.
	MaxAge                     int64
	IncludeSubdomains, Preload bool
}

// Compression is a way to compress responses.
type Compression struct {
	Enabled bool
	// MinLength is in bytes.
	MinLength int
	// Types are media types; text/html is always among them.
	Types []string
}

// DefaultSettings returns the settings of ingress-nginx without a ConfigMap.
func DefaultSettings() *Settings {
	const acme = "/.well-known/acme-challenge"
	types := []string{
		"application/atom+xml", "application/javascript", "application/x-javascript", "application/json",
		"application/rss+xml", "application/vnd.ms-fontobject", "application/x-font-ttf",
		"application/x-web-app-manifest+json", "application/xhtml+xml", "application/xml", "font/opentype",
		"image/svg+xml", "image/x-icon", "text/css", "text/javascript", "text/plain", "text/x-component",
	}
	return &Settings{
		SSLRedirect: true, RedirectCode: 308,
		NoTLSRedirect: []string{acme}, NoAuth: []string{acme},
		HSTS: HSTS{Enabled: true, MaxAge: 31536000, IncludeSubdomains: true},
		Proxy: Proxy{
			BodySize: 1 << 20, BodyBuffer: 8 << 10, RequestBuffering: true,
			ConnectTimeout: 5 * time.Second, ReadTimeout: time.Minute, SendTimeout: time.Minute,
			NextUpstream: NextUpstream{Conditions: []string{"error", "timeout"}, Tries: 3},
		},
		IdleTimeout: time.Minute,
		RateStatus:  503, ConnectionStatus: 503,
		RealIP:          RealIP{Trusted: []string{"0.0.0.0/0"}},
		Risk:            High,
		GenerateRequest: true,
		AccessLog:       true,
		Gzip:            Compression{MinLength: 256, Types: types},
		Brotli:          Compression{MinLength: 20, Types: append([]string{"application/xml+rss"}, types...)},
		SSLProtocols:    []string{"TLSv1.2", "TLSv1.3"},
	}
}
