package dynamic

import "time"

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
	// Match is the rule as a tree, in place of Rule. Providers alone set it. A router with both is refused.
	Match *Match `json:"-" label:"-"`
	// ParentRefs names parent routers (layered routing), which is known and not supported yet.
	ParentRefs []string `json:"parentRefs,omitempty"`
	// RuleSyntax is v3 or empty; v2 is refused with the v3 spelling.
	RuleSyntax string `json:"ruleSyntax,omitempty"`
	// Priority orders routers whose rules both match, higher first; 0 means the length of the rule in bytes.
	Priority int `json:"priority,omitempty"`
	// Precedence orders routers of equal priority: the first key that differs decides, larger first, and a missing key
	// counts as 0. Providers alone set it.
	Precedence []int64 `json:"-" label:"-"`
	// Created orders routers of equal precedence, older first. The zero time is the oldest. Routers of the same time are
	// in the order of their providers (providers.precedence) and then of their names. Providers alone set it.
	Created time.Time `json:"-" label:"-"`
	// TLS, when present, makes the router answer on TLS connections only.
	TLS *RouterTLS `json:"tls,omitempty" label:"allowEmpty"`
	// Observability overrides the entrypoint's settings.
	Observability *RouterObservability `json:"observability,omitempty"`
}

// RuleText returns the rule as text, also where it is a tree.
func (r *Router) RuleText() string {
	if r.Match == nil || r.Rule != "" {
		return r.Rule
	}
	return r.Match.String()
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
