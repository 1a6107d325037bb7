package dynamic

// RequestHeaderModifier changes headers of requests: it removes, then sets, then adds. Each name occurs once. Ours.
type RequestHeaderModifier struct {
	// Set replaces all values of a header by one.
	Set []HeaderValue `json:"set,omitempty"`
	// Add appends a value to those that a header has.
	Add []HeaderValue `json:"add,omitempty"`
	// Remove are names of headers that are removed.
	Remove []string `json:"remove,omitempty"`
}

// ResponseHeaderModifier changes headers of responses: it removes, then sets, then adds. Each name occurs once. Ours.
type ResponseHeaderModifier struct {
	// Set replaces all values of a header by one.
	Set []HeaderValue `json:"set,omitempty"`
	// Add appends a value to those that a header has.
	Add []HeaderValue `json:"add,omitempty"`
	// Remove are names of headers that are removed.
	Remove []string `json:"remove,omitempty"`
}

// HeaderValue is a header with a value.
type HeaderValue struct {
	// Name is the header's; its case does not count.
	Name string `json:"name,omitempty"`
	// Value is its value.
	Value string `json:"value,omitempty" secret:"true"`
}

// RequestRedirect answers requests with a redirect to the same URL with other parts. The query is kept. Ours.
type RequestRedirect struct {
	// Scheme is http or https. Default: the one that the client uses.
	Scheme string `json:"scheme,omitempty"`
	// Hostname is a name or an IP address without a port. Default: the request's.
	Hostname string `json:"hostname,omitempty"`
	// Port is the port, 1 to 65535. Default: the well-known one of Scheme if that is set, otherwise the one that the
	// client uses. A well-known port is left out of the URL.
	Port int `json:"port,omitempty"`
	// Path changes the path. Default: the path is kept.
	Path *PathModifier `json:"path,omitempty"`
	// StatusCode is 301, 302, 303, 307 or 308.
	StatusCode int `json:"statusCode,omitempty"`
}

// SetDefaults sets 302.
func (r *RequestRedirect) SetDefaults() { r.StatusCode = 302 }

// URLRewrite changes the host or the path of requests to services. The query is kept. Ours.
type URLRewrite struct {
	// Hostname is the Host header that the service gets: a name or an IP address without a port. Default: it is kept.
	Hostname string `json:"hostname,omitempty"`
	// Path changes the path. Default: the path is kept.
	Path *PathModifier `json:"path,omitempty"`
}

// PathModifier replaces a path or its prefix. Exactly one of FullPath and ReplacePrefixMatch is set.
type PathModifier struct {
	// FullPath replaces the whole path; an empty one stands for /.
	FullPath *string `json:"fullPath,omitempty"`
	// ReplacePrefixMatch replaces Prefix where a path begins with it, by whole segments; other paths are kept. A / at its
	// end is ignored, so that the segments after it are separated by one / in any case.
	ReplacePrefixMatch *string `json:"replacePrefixMatch,omitempty"`
	// Prefix is what ReplacePrefixMatch replaces; a / at its end is ignored. Empty stands for /.
	Prefix string `json:"prefix,omitempty"`
}

// CORS answers preflight requests and lets pages of other origins read responses (the Fetch standard, section 3.2), as
// the CORS filter of the Gateway API. Ours.
type CORS struct {
	// AllowOrigins are origins as scheme://host or scheme://host:port, whose host may be or begin with *, which stands for
	// any number of labels, or * alone for all origins.
	AllowOrigins []string `json:"allowOrigins,omitempty"`
	// AllowMethods are methods, or * alone for all. GET, HEAD and POST are always allowed.
	AllowMethods []string `json:"allowMethods,omitempty"`
	// AllowHeaders are names of request headers, or * alone for all.
	AllowHeaders []string `json:"allowHeaders,omitempty"`
	// ExposeHeaders are names of response headers that pages may read, or * alone for all, which has no effect with
	// AllowCredentials.
	ExposeHeaders []string `json:"exposeHeaders,omitempty"`
	// AllowCredentials lets pages send cookies and other credentials.
	AllowCredentials bool `json:"allowCredentials,omitempty"`
	// MaxAge is how long browsers may remember the answer to a preflight request, in seconds; at least 1.
	MaxAge int `json:"maxAge,omitempty"`
}

// SetDefaults sets five seconds.
func (c *CORS) SetDefaults() { c.MaxAge = 5 }

// ExternalAuth has a service decide whether a request may pass, as the filter ExternalAuth of the Gateway API. Ours.
type ExternalAuth struct {
	// Service is the service that is asked, of any provider.
	Service string `json:"service,omitempty"`
	// Protocol is http, or grpc for envoy.service.auth.v3.Authorization, whose service needs servers with the scheme h2c
	// or https.
	Protocol string `json:"protocol,omitempty"`
	// Path is put before the path of the request that asks; for http only.
	Path string `json:"path,omitempty"`
	// AllowedHeaders are the names of the request headers that the service is shown. With http, Host and Authorization are
	// always shown, and without names nothing else is; with grpc, no names mean all.
	AllowedHeaders []string `json:"allowedHeaders,omitempty"`
	// AllowedResponseHeaders are the names of the headers of the answer that a request goes on with, and that are never
	// taken from the client; for http only. No names mean all headers of the answer.
	AllowedResponseHeaders []string `json:"allowedResponseHeaders,omitempty"`
	// MaxBodySize is the size in bytes up to which bodies are read and shown; larger ones are refused with 413. 0 shows
	// none.
	MaxBodySize int64 `json:"maxBodySize,omitempty"`
}

// SetDefaults sets http.
func (e *ExternalAuth) SetDefaults() { e.Protocol = "http" }
