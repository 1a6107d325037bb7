package ingressnginx

import (
	"cmp"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// firstWins reads what an Ingress says about the server as a whole. Certificates of clients and TLS towards endpoints
// are read from canaries too, as in ingress-nginx.
func (p *planner) firstWins(member member) {
	name, options := nameOf(member.ingress), member.options
	if p.hasRule(member.ingress, true) {
		switch client := options.ClientTLS; {
		case client == nil:
		case client.Denied != "":
			p.plan.Denied = cmp.Or(p.plan.Denied, client.Denied)
		default:
			p.plan.ClientTLS = append(p.plan.ClientTLS, name)
		}
		if options.ProxyTLS != nil {
			p.plan.ProxyTLS = append(p.plan.ProxyTLS, name)
		}
	}
	if options.Canary.Enabled || !p.hasRule(member.ingress, false) {
		return
	}
	if len(p.plan.Aliases) == 0 && len(options.Aliases) > 0 {
		p.plan.Aliases, p.plan.AliasOwner = options.Aliases, name
	}
	if snippets := &options.Snippets; !p.snippet && (snippets.Server != "" || snippets.Denied != "") {
		p.snippet = true
		p.plan.Denied = cmp.Or(p.plan.Denied, snippets.Denied)
	}
	if name == p.plan.First {
		p.plan.Passthrough = options.TLS.Passthrough
	}
	p.plan.Ciphers = cmp.Or(p.plan.Ciphers, options.TLS.Ciphers)
	if p.plan.TLS == nil && p.plan.Host != anyHost && len(member.ingress.Spec.TLS) > 0 {
		p.plan.TLS = tlsOf(member.ingress, p.plan.Host)
	}
}

// passthrough gives up passing connections on where there is a name with a wildcard that stands for the host too, whose
// HTTP routers would get its requests: that of a host with Ingresses, or an alias. Aliases of the plan are known.
func (p *planner) passthrough() {
	if !p.plan.Passthrough {
		return
	}
	_, rest, divided := strings.Cut(lower(p.plan.Host), ".")
	if wildcard := "*." + rest; divided && p.others.exists(wildcard) {
		p.plan.Wildcard = wildcard
	}
	for ; divided && p.plan.Wildcard == ""; _, rest, divided = strings.Cut(rest, ".") {
		if alias := "*." + rest; p.others.aliased(alias) || slices.Contains(p.plan.leading(), alias) {
			p.plan.Wildcard = alias
		}
	}
	p.plan.Passthrough = p.plan.Wildcard == ""
}

// leading returns the aliases with a wildcard in front, as hosts are compared. A nil plan has none.
func (p *serverPlan) leading() (aliases []string) {
	if p == nil {
		return nil
	}
	for _, alias := range p.Aliases {
		if aliasKind(alias) == leadingWildcard {
			aliases = append(aliases, strings.TrimSuffix(lower(alias), "."))
		}
	}
	return aliases
}

// hasRule reports whether an Ingress has a rule for the host; with paths if it is wanted, which anyHost does not
// need.
func (p *planner) hasRule(ingress *networkingv1.Ingress, paths bool) bool {
	host := p.plan.Host
	return slices.ContainsFunc(ingress.Spec.Rules, func(rule networkingv1.IngressRule) bool {
		return hostOf(&rule) == host && (!paths || host == anyHost || rule.HTTP != nil)
	})
}

// tlsOf returns the certificate that the tls section of an Ingress has for a host.
func tlsOf(ingress *networkingv1.Ingress, host string) *tlsPlan {
	plan := &tlsPlan{Owner: nameOf(ingress)}
	for _, entry := range ingress.Spec.TLS {
		if slices.ContainsFunc(entry.Hosts, func(one string) bool { return lower(one) == lower(host) }) {
			plan.Named, plan.Secret = true, entry.SecretName
			plan.Candidates = nil
			return plan
		}
		if entry.SecretName != "" {
			plan.Candidates = append(plan.Candidates, entry.SecretName)
		}
	}
	return plan
}

// lower returns a text with the capital letters of ASCII made small.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// names works out the other names of the server: aliases that are no host of an Ingress, and the twin.
func (p *planner) names() {
	p.plan.Aliases = slices.DeleteFunc(slices.Clone(p.plan.Aliases), func(alias string) bool {
		if aliasKind(alias) != expressionName { // As requests are compared with names.
			alias = strings.TrimSuffix(lower(alias), ".")
		}
		return alias == p.plan.Host || p.others.exists(alias)
	})
	p.fitAliases()
	if len(p.plan.Aliases) == 0 {
		p.plan.Aliases = nil
	}
	if !p.www {
		return
	}
	twin, had := strings.CutPrefix(p.plan.Host, "www.")
	if !had {
		twin = "www." + twin
	}
	if !p.others.exists(twin) {
		p.plan.Twin = twin
	}
}

// wildcardOf returns the wildcard that a host is an instance of.
func wildcardOf(host string) string {
	if _, rest, divided := strings.Cut(host, "."); divided {
		return "*." + rest
	}
	return host
}

// exempt reports whether a location is one of those of no-tls-redirect-locations or no-auth-locations, which compare
// the beginnings of its path.
func (l *location) exempt(beginnings []string) bool {
	return slices.ContainsFunc(beginnings, func(one string) bool { return one != "" && strings.HasPrefix(l.Name, one) })
}

// denied reports why a location answers 503 whatever the request is; empty when it does not.
func denied(plan *serverPlan, options *annotation.Options) string {
	return cmp.Or(plan.Denied, options.Rejected, options.Denied, options.Closed)
}
