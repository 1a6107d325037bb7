package dynamic

import "time"

// Router binds requests that a rule selects to a service (http.routers.<name>).
type Router struct {
	// EntryPoints are the names of the entrypoints whose requests the router takes. Default: the entrypoints with
	// asDefault, or all when there is none.
	EntryPoints []string `json:"entryPoints,omitempty"`
	// Middlewares are names of middlewares, each as name or name@provider. A request passes them in this order.
	Middlewares []string `json:"middlewares,omitempty"`
	// Service is the name of the service that answers, as name or name@provider. Required.
	Service string `json:"service,omitempty"`
	// Rule selects the requests. Required.
	Rule string `json:"rule,omitempty"`
	// Match is the rule as a tree, in place of Rule. Providers alone set it. A router with both is refused.
	Match *Match `json:"-" label:"-"`
	// ParentRefs are the names of parent routers. Not supported yet: a router with it is quarantined and takes no
	// request.
	ParentRefs []string `json:"parentRefs,omitempty"`
	// RuleSyntax is the language of the rule, v3 or v2. v2 is deprecated. Default: core.defaultRuleSyntax, which is v3.
	RuleSyntax string `json:"ruleSyntax,omitempty"`
	// Priority decides between routers whose rules match the same request: the higher one gets it. The default, 0, means
	// the length of the rule in bytes.
	Priority int `json:"priority,omitempty"`
	// PriorityClass says which requests are refused first while Sluice is overloaded (overload in the static options):
	// low, default, high or critical. Those of low routers are refused first, those of critical ones never, as those of
	// Sluice's own services. Default: default.
	PriorityClass string `json:"priorityClass,omitempty"`
	// Precedence orders routers of equal priority: the first key that differs decides, larger first, and a missing key
	// counts as 0. Providers alone set it.
	Precedence []int64 `json:"-" label:"-"`
	// Created orders routers of equal precedence, older first. The zero time is the oldest. Routers of the same time are
	// in the order of their providers (providers.precedence) and then of their names. Providers alone set it.
	Created time.Time `json:"-" label:"-"`
	// TLS makes the router take requests of TLS connections only. Without this section it takes only requests without
	// TLS, unless the entrypoint has http.tls.
	TLS *RouterTLS `json:"tls,omitempty" label:"allowEmpty"`
	// Observability overrides what the entrypoint (http.observability in the static options) records.
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
	// Options is the name of the TLS options for the hosts of the rule. Default: those named default.
	Options string `json:"options,omitempty"`
	// CertResolver is the name of the resolver that obtains certificates (certificatesResolvers of the static
	// configuration).
	CertResolver string `json:"certResolver,omitempty"`
	// Domains are the names of the certificates that the resolver obtains, one for each entry. Default: one certificate
	// for the hosts of the rule. Without a resolver they have no effect.
	Domains []Domain `json:"domains,omitempty"`
}

// Domain is a main name with further names for one certificate.
type Domain struct {
	// Main is the first name of the certificate.
	Main string `json:"main,omitempty"`
	// SANs are its further names.
	SANs []string `json:"sans,omitempty"`
}
