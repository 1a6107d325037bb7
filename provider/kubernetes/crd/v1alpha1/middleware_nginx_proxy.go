package v1alpha1

// ProxySetHeader sets headers of the requests that services get, as proxy_set_header of nginx.
type ProxySetHeader struct {
	// Headers lists the headers; values are texts with variables of nginx, and a header with an empty value is removed.
	// +optional
	Headers []HeaderValue `json:"headers,omitempty"`
	// IPStrategy says which address is $remote_addr; by default that of the connection.
	// +optional
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty"`
}

// ProxyRedirect changes URLs in the headers Location and Refresh of responses, as proxy_redirect of nginx.
type ProxyRedirect struct {
	// Rewrites lists the changes, of which the first one that matches is applied.
	// +optional
	Rewrites []ProxyRewrite `json:"rewrites,omitempty"`
	// Relative leaves a Location as it is that was changed to one without a host.
	// +optional
	Relative bool `json:"relative,omitempty"`
}

// ProxyCookie changes the attributes Domain and Path of the cookies in responses, as proxy_cookie_domain and
// proxy_cookie_path of nginx.
type ProxyCookie struct {
	// Domain lists the changes of the attribute Domain, of which the first one that matches is applied.
	// +optional
	Domain []ProxyRewrite `json:"domain,omitempty"`
	// Path lists the changes of the attribute Path, of which the first one that matches is applied.
	// +optional
	Path []ProxyRewrite `json:"path,omitempty"`
	// Exclude lists the names of cookies that are left as they are.
	// +optional
	Exclude []string `json:"exclude,omitempty"`
}

// ProxyRewrite replaces a value, or what it begins with.
type ProxyRewrite struct {
	// From is what values begin with, or a regular expression after ~ or ~*, which ignores case.
	// +optional
	From string `json:"from,omitempty"`
	// To is a text with variables of nginx and the groups of the regular expression.
	// +optional
	To string `json:"to,omitempty"`
}
