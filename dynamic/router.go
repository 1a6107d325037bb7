package dynamic

// Router binds requests that a rule selects to a service (http.routers.<name>).
type Router struct {
	// EntryPoints names the entrypoints the router listens on; empty means the default entrypoints.
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Middlewares are applied in order, the first one outermost; name or name@provider.
	Middlewares []string `json:"middlewares,omitempty"`
	// Service is the name, or name@provider, of the service that answers.
	Service string `json:"service,omitempty"`
	// Rule is the matching rule in the v3 language.
	Rule string `json:"rule,omitempty"`
	// ParentRefs names parent routers (layered routing), which is known and not supported yet.
	ParentRefs []string `json:"parentRefs,omitempty"`
	// RuleSyntax is v3 or empty; v2 is refused with the v3 spelling.
	RuleSyntax string `json:"ruleSyntax,omitempty"`
	// Priority orders routers whose rules both match, higher first; 0 means the length of the rule in bytes.
	Priority int `json:"priority,omitempty"`
	// TLS, when present, makes the router answer on TLS connections only.
	TLS *RouterTLS `json:"tls,omitempty" label:"allowEmpty"`
	// Observability overrides the entrypoint's settings.
	Observability *RouterObservability `json:"observability,omitempty"`
}

// RouterTLS is the TLS part of a router.
type RouterTLS struct {
	// Options names the TLS options; empty means default.
	Options string `json:"options,omitempty"`
	// CertResolver names a certificate resolver.
	CertResolver string `json:"certResolver,omitempty"`
	// Domains are the names a resolver obtains certificates for.
	Domains []Domain `json:"domains,omitempty"`
}

// Domain is a main name with further names for one certificate.
type Domain struct {
	Main string   `json:"main,omitempty"`
	SANs []string `json:"sans,omitempty"`
}
