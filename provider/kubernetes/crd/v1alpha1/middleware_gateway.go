package v1alpha1

// RequestHeaderModifier removes, sets and adds headers of requests.
type RequestHeaderModifier struct {
	// Set lists headers whose value replaces all others.
	// +optional
	Set []HeaderValue `json:"set,omitempty"`
	// Add lists headers whose value is appended.
	// +optional
	Add []HeaderValue `json:"add,omitempty"`
	// Remove lists names of headers that are removed.
	// +optional
	Remove []string `json:"remove,omitempty"`
}

// ResponseHeaderModifier removes, sets and adds headers of responses.
type ResponseHeaderModifier struct {
	// Set lists headers whose value replaces all others.
	// +optional
	Set []HeaderValue `json:"set,omitempty"`
	// Add lists headers whose value is appended.
	// +optional
	Add []HeaderValue `json:"add,omitempty"`
	// Remove lists names of headers that are removed.
	// +optional
	Remove []string `json:"remove,omitempty"`
}

// HeaderValue is a header with a value.
type HeaderValue struct {
	// Name is the name of the header.
	// +optional
	Name string `json:"name,omitempty"`
	// Value is its value.
	// +optional
	Value string `json:"value,omitempty"`
}

// RequestRedirect redirects to the same URL with other parts.
type RequestRedirect struct {
	// Scheme is http or https; by default the client's.
	// +optional
	Scheme string `json:"scheme,omitempty"`
	// Hostname is the new host without a port; by default the request's.
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// Port is the new port; by default that of Scheme, or the client's.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int `json:"port,omitempty"`
	// Path changes the path.
	// +optional
	Path *PathModifier `json:"path,omitempty"`
	// StatusCode is 301, 302, 303, 307 or 308; default 302.
	// +optional
	StatusCode *int `json:"statusCode,omitempty"`
}

// URLRewrite changes the host or the path of requests to services.
type URLRewrite struct {
	// Hostname is the new host without a port.
	// +optional
	Hostname string `json:"hostname,omitempty"`
	// Path changes the path.
	// +optional
	Path *PathModifier `json:"path,omitempty"`
}

// PathModifier replaces a path or its prefix.
type PathModifier struct {
	// FullPath replaces the whole path.
	// +optional
	FullPath *string `json:"fullPath,omitempty"`
	// ReplacePrefixMatch replaces Prefix at the beginning of the path, by whole segments.
	// +optional
	ReplacePrefixMatch *string `json:"replacePrefixMatch,omitempty"`
	// Prefix is what ReplacePrefixMatch replaces; default /.
	// +optional
	Prefix string `json:"prefix,omitempty"`
}

// CORS answers preflight requests and lets pages of other origins read responses.
type CORS struct {
	// AllowOrigins lists origins, whose host may begin with *, or * alone.
	// +optional
	AllowOrigins []string `json:"allowOrigins,omitempty"`
	// AllowMethods lists methods, or * alone.
	// +optional
	AllowMethods []string `json:"allowMethods,omitempty"`
	// AllowHeaders lists request headers, or * alone.
	// +optional
	AllowHeaders []string `json:"allowHeaders,omitempty"`
	// ExposeHeaders lists response headers that pages may read, or * alone.
	// +optional
	ExposeHeaders []string `json:"exposeHeaders,omitempty"`
	// AllowCredentials lets pages send credentials.
	// +optional
	AllowCredentials bool `json:"allowCredentials,omitempty"`
	// MaxAge is for how many seconds browsers may remember the answer to a preflight request; default 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxAge *int `json:"maxAge,omitempty"`
}

// ExternalAuth has a service decide whether a request may pass.
type ExternalAuth struct {
	// Service is asked.
	// +optional
	Service Service `json:"service,omitzero" reference:"Service"`
	// Protocol is http or grpc; default http.
	// +optional
	// +kubebuilder:validation:Enum=http;grpc
	Protocol *string `json:"protocol,omitempty"`
	// Path is put before the path of the request that asks; for http only.
	// +optional
	Path string `json:"path,omitempty"`
	// AllowedHeaders lists headers of the client that the service is shown.
	// +optional
	AllowedHeaders []string `json:"allowedHeaders,omitempty"`
	// AllowedResponseHeaders lists headers of the answer that a request goes on with; for http only.
	// +optional
	AllowedResponseHeaders []string `json:"allowedResponseHeaders,omitempty"`
	// MaxBodySize is the size in bytes up to which bodies are read and shown; default 0, which shows none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxBodySize int64 `json:"maxBodySize,omitempty"`
}
