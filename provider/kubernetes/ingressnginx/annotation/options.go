package annotation

import (
	"time"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

// Options are the annotations of one Ingress, with the values that ingress-nginx would use: its defaults and those of
// its ConfigMap where an annotation is absent or has no valid value. They are not changed once Read has returned
// them.
type Options struct {
	// Aliases are more names of the hosts, ordered. One that begins with "~" is an expression.
	Aliases     []string
	Rewrite     Rewrite
	Redirect    Redirect
	Access      Access
	Auth        *Auth
	AuthRequest *AuthRequest
	// GlobalAuth says that the ConfigMap's external authentication applies; it does where AuthRequest is nil.
	GlobalAuth bool
	ClientTLS  *ClientTLS
	Limit      Limit
	CORS       *CORS
	Canary     Canary
	Affinity   Affinity
	Backend    Backend
	Proxy      Proxy
	ProxyTLS   *ProxyTLS
	Errors     Errors
	Mirror     *Mirror
	TLS        TLS
	Log        Log
	Firewall   Firewall
	Snippets   Snippets

	// Denied is why the locations of the Ingress answer 503 in ingress-nginx and here; empty when they do not.
	Denied string
	// Closed is why they answer 503 here alone; empty when they do not.
	Closed string
	// Rejected is why ingress-nginx does not accept the Ingress; empty when it does. It serves the last version that it
	// has accepted, and none after a restart.
	Rejected string
}

// Reference names an object of a cluster; its Namespace is never empty.
type Reference struct{ Namespace, Name string }

// Rewrite is what the path of a request becomes, and the redirect to https.
type Rewrite struct {
	// Target is empty for none. It may hold captures ($1) and be a URL.
	Target string
	// UseRegex says that paths are regular expressions.
	UseRegex bool
	// AppRoot is the path of the redirect from "/"; empty for none.
	AppRoot string
	// SSLRedirect is the redirect where the host has a certificate, ForceSSLRedirect anywhere.
	SSLRedirect, ForceSSLRedirect bool
	PreserveTrailingSlash         bool
}

// Redirect answers every request of the locations.
type Redirect struct {
	// URL is the Location, as it is written; empty for none.
	URL string
	// Code is the status, from 300 to 308.
	Code int
	// FromToWWW redirects the host with or without "www.".
	FromToWWW bool
	// Relative says that nginx's own redirects have a relative Location.
	Relative bool
	// UsePort says that they have the port.
	UsePort bool
}

// Access is which addresses may send requests.
type Access struct {
	// Allow and Deny are addresses and networks, ordered; empty for no such list.
	Allow, Deny []string
	// SatisfyAny says that an address of the list, or authentication, is enough.
	SatisfyAny bool
}

// Auth is authentication by a password.
type Auth struct {
	// Digest says that it is digest authentication, not basic.
	Digest bool
	Secret Reference
	// Map says that the Secret has a key for each user, not lines of htpasswd below the key auth.
	Map   bool
	Realm string
}

// AuthRequest is authentication by a subrequest.
type AuthRequest struct {
	// URL may hold variables of nginx.
	URL string
	// Host is the host of URL, without port.
	Host string
	// Method is empty for GET.
	Method string
	// Signin is the URL in place of 401; empty for none. It may hold variables of nginx.
	Signin string
	// SigninParam is the parameter of Signin with the URL of the request; never empty.
	SigninParam string
	// ResponseHeaders are the headers of the answer that the request takes along.
	ResponseHeaders []string
	// RequestRedirect is X-Auth-Request-Redirect; empty for the URI of the request.
	RequestRedirect string
	// ProxySetHeaders is the ConfigMap with more headers of the subrequest; nil for none.
	ProxySetHeaders *Reference
	// CacheKey may hold variables of nginx; empty for no cache.
	CacheKey string
	// CacheDurations say how long answers are kept.
	CacheDurations  []CacheDuration
	AlwaysSetCookie bool
	// Snippet says that directives of nginx are set for the subrequest.
	Snippet bool
}

// CacheDuration is how long answers with one of some statuses are kept.
type CacheDuration struct {
	// Statuses are empty for 200, 301 and 302, the default of nginx.
	Statuses []int
	// Any stands for all statuses.
	Any      bool
	Duration time.Duration
}

// ClientTLS is authentication by certificates of clients.
type ClientTLS struct {
	Secret Reference
	// Mode is on, off, optional or optional_no_ca.
	Mode string
	// Depth is the longest chain, at least 1.
	Depth int
	// ErrorPage is a URL, a path or a named location (@name) in place of 400; empty for none.
	ErrorPage string
	// PassCertificate sends the certificate to endpoints.
	PassCertificate bool
	// MatchCN is an expression that the subject must match; empty for none. It begins with "CN=".
	MatchCN string
	// Denied is why the whole host is denied; empty when it is not. The other fields are then zero.
	Denied string
}

// Limit are limits by the client's address. A limit of 0 is none.
type Limit struct {
	PerSecond, PerMinute Rate
	// Connections is the number of requests in flight.
	Connections int
	// BytesPerSecond limits each response, after the first BytesAfter.
	BytesPerSecond, BytesAfter int64
	// Allow are addresses and networks without limit on requests and connections, ordered.
	Allow []string
}

// Rate is a limited number of requests, of which Burst more are let through without delay.
type Rate struct{ Limit, Burst int }

// CORS are the headers for cross-origin requests.
type CORS struct {
	// Origins are "*" alone for all, or origins in which one * stands for a label. Without any, none is allowed.
	Origins []string
	// Methods, Headers and ExposeHeaders are the values of the headers; the last one may be empty.
	Methods, Headers, ExposeHeaders string
	Credentials                     bool
	// MaxAge is in seconds.
	MaxAge int
}

// Canary makes the Ingress an alternative of another one.
type Canary struct {
	Enabled bool
	// Weight of WeightTotal, which is at least 100, is the share.
	Weight, WeightTotal int
	// Header is a name; empty for none. HeaderValue wins over HeaderPattern.
	Header, HeaderValue, HeaderPattern string
	Cookie                             string
}

// Affinity is stickiness by a cookie.
type Affinity struct {
	// Cookie is nil for none.
	Cookie *Cookie
	// Mode is balanced, persistent (sessions never move to new endpoints), or empty: of several Ingresses of a Service
	// the first one that sets it decides, even without Cookie, and balanced is the default.
	Mode string
	// LegacyCanary says that each request is decided anew between the main Service and the canary.
	LegacyCanary bool
}

// Cookie is the cookie of an affinity.
type Cookie struct {
	Name string
	// MaxAge and Expires are in seconds; nil for none.
	MaxAge, Expires *int
	// Path is empty for that of the location.
	Path   string
	Domain string
	// SameSite is None, Lax, Strict or empty.
	SameSite string
	// Secure is set in any case; else over https alone.
	Secure                  bool
	ConditionalSameSiteNone bool
	ChangeOnFailure         bool
}

// Backend is the way to endpoints.
type Backend struct {
	// Protocol is HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS or FCGI.
	Protocol string
	// ServiceUpstream uses the Service's address.
	ServiceUpstream bool
	// EWMA balances by latency; else in turn.
	EWMA bool
	// HashBy is an expression of variables; empty for none. SubsetSize is 0 for one endpoint per key.
	HashBy     string
	SubsetSize int
	// Host is the header Host; empty for that of the request.
	Host string
	// ForwardedPrefix is X-Forwarded-Prefix, set with Rewrite.Target alone; it may hold captures.
	ForwardedPrefix string
	// CustomHeaders is the ConfigMap with headers of responses; nil for none.
	CustomHeaders *Reference
	// Default is the name of the Service that stands in; empty for none.
	Default string
}

// Proxy is about bodies, times and retries.
type Proxy struct {
	// BodySize is in bytes; 0 for no limit. BodyBuffer is in bytes.
	BodySize, BodyBuffer int64
	// RequestBuffering reads a body before an endpoint gets it.
	RequestBuffering                         bool
	ConnectTimeout, ReadTimeout, SendTimeout time.Duration
	NextUpstream                             NextUpstream
	// RedirectFrom and RedirectTo replace in Location and Refresh; both are empty for nothing. RedirectFrom is "default"
	// for nginx's own replacement.
	RedirectFrom, RedirectTo string
	// CookieDomain and CookiePath replace in cookies; nil for nothing.
	CookieDomain, CookiePath *Replacement
}

// Replacement replaces a text.
type Replacement struct{ From, To string }

// NextUpstream is when a request is sent to another endpoint.
type NextUpstream struct {
	// Conditions are those of proxy_next_upstream: error, timeout, invalid_header, http_500, http_502, http_503,
	// http_504, http_403, http_404, http_429. Without any there is no other attempt.
	Conditions []string
	// NonIdempotent includes POST, LOCK and PATCH.
	NonIdempotent bool
	// Tries counts the first attempt; 0 for no limit.
	Tries int
	// Timeout is when no other attempt begins; 0 for no limit.
	Timeout time.Duration
}

// ProxyTLS is TLS towards endpoints.
type ProxyTLS struct {
	Secret Reference
	// Verify says that the certificate is verified.
	Verify bool
	// VerifyDepth is at least 1.
	VerifyDepth int
	// Name is the one in the certificate; empty for the default.
	Name string
	// ServerName says that Name is sent as SNI.
	ServerName bool
	// Protocols are TLSv1.2 and TLSv1.3, ordered.
	Protocols []string
	// Ciphers are in OpenSSL's notation; DEFAULT by default.
	Ciphers string
}

// Errors are pages in place of errors.
type Errors struct {
	// Statuses are those that the default backend answers.
	Statuses []int
	// KeepUpstream leaves what endpoints answer as it is.
	KeepUpstream bool
}

// Mirror is a copy of each request.
type Mirror struct {
	// Target is a URL that may hold variables of nginx.
	Target string
	// Host is the header Host.
	Host string
	// RequestBody says that copies have the body.
	RequestBody bool
}

// TLS is about connections of clients.
type TLS struct {
	Passthrough bool
	// Ciphers are in OpenSSL's notation; empty for the default.
	Ciphers string
}

// Log is what is recorded.
type Log struct {
	Access bool
	// Tracing is nil for the default.
	Tracing *bool
}

// Firewall is ModSecurity, which Sluice does not have.
type Firewall struct {
	// Enabled says that it inspects requests.
	Enabled bool
}

// Snippets are directives of nginx. They are never executed.
type Snippets struct {
	Configuration, Server string
	// Rewrite is what Configuration does with the path; nil for nothing, and for what is not done.
	Rewrite *snippet.Rewrite
	// Denied is why Server, which is for the whole host, closes it; empty when it does not. Above the level of risk it
	// closes the locations of its Ingress alone.
	Denied string
}
