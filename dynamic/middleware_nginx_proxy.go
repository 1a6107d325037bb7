package dynamic

// ProxySetHeader sets headers of the requests that services get, as proxy_set_header of nginx. All values are those of
// the request before the first header is set. Ours.
type ProxySetHeader struct {
	// Headers are the headers. A value is a text with variables of nginx ($host, $http_NAME, ...); a header whose value
	// comes out empty is removed. Host is the Host header that the service gets. X-Forwarded-For is sent as it is set, and
	// the client's address is not appended.
	Headers []HeaderValue `json:"headers,omitempty"`
	// IPStrategy says which address is $remote_addr. Default: that of the connection.
	IPStrategy *IPStrategy `json:"ipStrategy,omitempty" label:"allowEmpty"`
}

// ProxyRedirect changes URLs in the headers Location and Refresh of responses, as proxy_redirect of nginx. Ours.
type ProxyRedirect struct {
	// Rewrites are tried in their order; the first one that matches is applied. Required.
	Rewrites []ProxyRewrite `json:"rewrites,omitempty"`
	// Relative leaves a Location as it is that was changed to one without a host (absolute_redirect off). Default: the
	// scheme and the host of the request are put before it.
	Relative bool `json:"relative,omitempty"`
}

// ProxyCookie changes the attributes Domain and Path of the cookies in responses, as proxy_cookie_domain and
// proxy_cookie_path of nginx. Ours.
type ProxyCookie struct {
	// Domain are the rewrites of the attribute Domain, of which the first one that matches is applied. A text matches the
	// whole domain in any case, with or without a dot before it; a pattern ignores case.
	Domain []ProxyRewrite `json:"domain,omitempty"`
	// Path are the rewrites of the attribute Path, of which the first one that matches is applied.
	Path []ProxyRewrite `json:"path,omitempty"`
	// Exclude are the names of cookies that are left as they are, such as the sticky cookie of a service behind the
	// middleware, which nginx does not change either.
	Exclude []string `json:"exclude,omitempty"`
}

// ProxyRewrite replaces a value, or what it begins with.
type ProxyRewrite struct {
	// From is a text with variables of nginx that values begin with and of which To takes the place; or a regular
	// expression of PCRE after ~, or after ~* to ignore case, for values that To replaces as a whole. Required.
	From string `json:"from,omitempty"`
	// To is a text with variables of nginx, and the groups of the regular expression ($1 to $9 and those with names).
	To string `json:"to,omitempty"`
}
