package v1alpha1

// IPDenyList refuses clients with certain addresses, as deny of nginx does.
type IPDenyList struct {
	// SourceRange lists the addresses and networks that are refused.
	// +optional
	SourceRange []string `json:"sourceRange,omitempty"`
	// IPStrategy says which address is the client's; by default that of the connection.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
}

// SatisfyAny lets a request in if one of several middlewares does, as "satisfy any" of nginx.
type SatisfyAny struct {
	// Middlewares names them, in the order in which they decide.
	// +optional
	Middlewares []ObjectRef `json:"middlewares,omitempty" reference:"Middleware"`
}

// AuthRequest has a server decide whether a request may pass, as auth_request of nginx.
type AuthRequest struct {
	// URL is the server's; path and query may have variables of nginx.
	// +optional
	URL string `json:"url,omitempty"`
	// TLS is TLS towards the server.
	// +optional
	TLS *ClientTLS `json:"tls,omitempty"`
	// Method is that of the request to the server; default GET.
	// +optional
	Method string `json:"method,omitempty"`
	// Headers lists headers that are sent to the server; values may have variables of nginx.
	// +optional
	Headers []HeaderValue `json:"headers,omitempty"`
	// IPStrategy says which address is $remote_addr; by default that of the connection.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
	// ResponseHeaders lists headers of the answer that the request goes on with.
	// +optional
	ResponseHeaders []string `json:"responseHeaders,omitempty"`
	// SigninURL is where clients are sent in place of 401; it may have variables of nginx.
	// +optional
	SigninURL string `json:"signinURL,omitempty"`
	// SigninRedirectParam is the parameter of SigninURL with the URL of the request; default rd.
	// +optional
	SigninRedirectParam *string `json:"signinRedirectParam,omitempty"`
	// AlwaysSetCookie adds the cookies of the answer to responses of every status.
	// +optional
	AlwaysSetCookie bool `json:"alwaysSetCookie,omitempty"`
	// CacheKey has answers kept by the value of this text, which has variables of nginx.
	// +optional
	CacheKey string `json:"cacheKey,omitempty"`
	// CacheDuration lists for which status codes answers are kept how long; default 200 202 401 5m.
	// +optional
	CacheDuration []string `json:"cacheDuration,omitempty"`
}

// ClientCertificate judges the certificate of the client after the handshake, as ssl_verify_client of nginx.
type ClientCertificate struct {
	// Mode is on, off, optional or optional_no_ca; default on.
	// +optional
	// +kubebuilder:validation:Enum=on;off;optional;optional_no_ca
	Mode *string `json:"mode,omitempty"`
	// SecretNames names Secrets with the certificates of trusted authorities (ca.crt or tls.ca), and perhaps certificate
	// revocation lists in ca.crl (PEM or DER).
	// +optional
	SecretNames []string `json:"secretNames,omitempty" reference:"Secret"`
	// Depth is how many intermediate certificates a chain may have; default 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Depth *int `json:"depth,omitempty"`
	// MatchCN is a pattern that the subject of the certificate must match.
	// +optional
	MatchCN string `json:"matchCN,omitempty"`
	// ErrorPage is where clients are sent in place of 400; it may have variables of nginx.
	// +optional
	ErrorPage string `json:"errorPage,omitempty"`
	// PassCertificate sends the certificate to the service in the header Ssl-Client-Cert.
	// +optional
	PassCertificate bool `json:"passCertificate,omitempty"`
}

// BandwidthLimit limits how fast the body of each response is sent, as limit_rate of nginx.
type BandwidthLimit struct {
	// BytesPerSecond is the rate.
	// +optional
	// +kubebuilder:validation:Minimum=0
	BytesPerSecond int64 `json:"bytesPerSecond,omitempty"`
	// After is how many bytes are sent before the limit applies; default 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	After int64 `json:"after,omitempty"`
}

// NginxCORS answers preflight requests and lets pages of other origins read responses as ingress-nginx does.
type NginxCORS struct {
	// AllowOrigins lists origins, whose host may begin with *. for one label, null, or * for all.
	// +optional
	AllowOrigins []string `json:"allowOrigins,omitempty"`
	// AllowMethods is the value of Access-Control-Allow-Methods; default that of ingress-nginx.
	// +optional
	AllowMethods *string `json:"allowMethods,omitempty"`
	// AllowHeaders is the value of Access-Control-Allow-Headers; default that of ingress-nginx.
	// +optional
	AllowHeaders *string `json:"allowHeaders,omitempty"`
	// ExposeHeaders is the value of Access-Control-Expose-Headers; by default it is left to the service.
	// +optional
	ExposeHeaders string `json:"exposeHeaders,omitempty"`
	// AllowCredentials lets pages send credentials; default true.
	// +optional
	AllowCredentials *bool `json:"allowCredentials,omitempty"`
	// MaxAge is for how many seconds browsers may remember the answer to a preflight request; default 1728000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxAge *int `json:"maxAge,omitempty"`
}
