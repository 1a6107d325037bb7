package dynamic

// The kinds of this file behave as nginx and ingress-nginx do, whose annotations they translate.

// IPDenyList refuses clients with certain addresses with 403, as deny of nginx does. Ours.
type IPDenyList struct {
	// SourceRange are the addresses and CIDR prefixes that are refused; at least one.
	SourceRange []string `json:"sourceRange,omitempty"`
	// IPStrategy says which address is the client's. Default: that of the connection.
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
}

// SatisfyAny lets a request in if one of several middlewares does, as "satisfy any" of nginx. Ours.
type SatisfyAny struct {
	// Middlewares are the names of the middlewares, as name or name@provider, in the order in which they decide; at least
	// one. Their kinds are ipAllowList, ipDenyList, basicAuth, digestAuth and authRequest; a chain of them counts as one.
	Middlewares []string `json:"middlewares,omitempty"`
}

// AuthRequest has a server decide whether a request may pass, as auth_request of nginx: an answer of status 2xx lets it
// pass, 401 and 403 refuse it, and everything else is an error, 500. Ours.
type AuthRequest struct {
	// URL is the server's, http or https. Its path and query may have variables of nginx.
	URL string `json:"url,omitempty" secret:"host"`
	// TLS is TLS towards the server.
	TLS *ClientTLS `json:"tls,omitempty"`
	// Method is that of the request to the server. Default: GET, and the headers X-Original-Uri and X-Scheme are not sent.
	Method string `json:"method,omitempty"`
	// Headers are sent to the server in place of others with their names; values may have variables of nginx. A header
	// with an empty value is not sent.
	Headers []HeaderValue `json:"headers,omitempty"`
	// IPStrategy says which address is $remote_addr. Default: that of the connection.
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
	// ResponseHeaders are the names of the headers of the answer that a request goes on with, and that are never taken
	// from the client.
	ResponseHeaders []string `json:"responseHeaders,omitempty"`
	// SigninURL is where clients are sent with 302 in place of 401; it may have variables of nginx.
	SigninURL string `json:"signinURL,omitempty" secret:"host"`
	// SigninRedirectParam is the parameter that is added to the query of SigninURL, with the URL of the request, unless it
	// is there already. Default: rd.
	SigninRedirectParam string `json:"signinRedirectParam,omitempty"`
	// AlwaysSetCookie adds the cookies of the answer to responses of every status, and to refusals. By default they are
	// added to those with 200, 201, 204, 206, 301, 302, 303, 304, 307 and 308 only.
	AlwaysSetCookie bool `json:"alwaysSetCookie,omitempty"`
	// CacheKey has answers kept by the value of this text, which has variables of nginx. Default: none are kept.
	CacheKey string `json:"cacheKey,omitempty" secret:"true"`
	// CacheDuration says how long answers are kept: status codes, or any, and a time of nginx, such as "200 202 10m"; a
	// time alone is for 200, 301 and 302. Default: 200 202 401 5m.
	CacheDuration []string `json:"cacheDuration,omitempty"`
}

// SetDefaults sets the parameter rd.
func (a *AuthRequest) SetDefaults() { a.SigninRedirectParam = "rd" }

// ClientCertificate judges the certificate of the client after the handshake, as ssl_verify_client of nginx, and sends
// the result to the service in the headers Ssl-Client-Verify, Ssl-Client-Subject-Dn and Ssl-Client-Issuer-Dn. It needs
// TLS options with the clientAuthType RequestClientCert. Ours.
type ClientCertificate struct {
	// Mode is on, off, optional, which lets clients without a certificate pass, or optional_no_ca, which also lets those
	// pass whose certificate no authority has signed that is known. Default: on.
	Mode string `json:"mode,omitempty"`
	// CAFiles are the authorities of the clients' certificates, each as a file or as PEM.
	CAFiles []string `json:"caFiles,omitempty" secret:"file"`
	// CRLFiles are certificate revocation lists (RFC 5280), each as a file or as PEM. With them, every authority of a
	// chain must have a valid list.
	CRLFiles []string `json:"crlFiles,omitempty" secret:"file"`
	// Depth is how many intermediate certificates a chain may have. Default: 1.
	Depth int `json:"depth,omitempty"`
	// MatchCN is a pattern (PCRE) that the subject of the certificate must match, or the answer is 403.
	MatchCN string `json:"matchCN,omitempty"`
	// ErrorPage is where clients are sent with 302 in place of 400; it may have variables of nginx.
	ErrorPage string `json:"errorPage,omitempty" secret:"host"`
	// PassCertificate sends the certificate to the service in the header Ssl-Client-Cert, as escaped PEM.
	PassCertificate bool `json:"passCertificate,omitempty"`
}

// SetDefaults sets on and one intermediate certificate.
func (c *ClientCertificate) SetDefaults() {
	c.Mode = "on"
	c.Depth = 1
}

// BandwidthLimit limits how fast the body of each response is sent, as limit_rate of nginx. Ours.
type BandwidthLimit struct {
	// BytesPerSecond is the rate, at least 1.
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	// After is how many bytes are sent before the limit applies. Default: 0.
	After int64 `json:"after,omitempty"`
}

// NginxCORS answers preflight requests and lets pages of other origins read responses as ingress-nginx does, which
// differs from the Fetch standard. Ours.
type NginxCORS struct {
	// AllowOrigins are origins as scheme://host or scheme://host:port, whose host may begin with *. for one label, null,
	// or * for all; at least one.
	AllowOrigins []string `json:"allowOrigins,omitempty"`
	// AllowMethods, AllowHeaders and ExposeHeaders are the values of the headers of the same names. Default of the first
	// two: those of ingress-nginx; of the last: the header is left to the service.
	AllowMethods  string `json:"allowMethods,omitempty"`
	AllowHeaders  string `json:"allowHeaders,omitempty"`
	ExposeHeaders string `json:"exposeHeaders,omitempty"`
	// AllowCredentials lets pages send cookies and other credentials. Default: true.
	AllowCredentials *bool `json:"allowCredentials,omitempty"`
	// MaxAge is how long browsers may remember the answer to a preflight request, in seconds. Default: 1728000.
	MaxAge int `json:"maxAge,omitempty"`
}

// SetDefaults sets the values of ingress-nginx.
func (c *NginxCORS) SetDefaults() {
	allow := true
	c.AllowCredentials = &allow
	c.AllowMethods = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
	c.AllowHeaders = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range," +
		"Authorization"
	c.MaxAge = 1728000
}
