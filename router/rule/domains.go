package rule

import "github.com/sluiceproxy/sluice/router/rule/expression"

// Domains returns the hosts for which the rule can be responsible by name: each alternative of the rule adds the Host
// values that it requires, in lower case, sorted, wildcards as "*.example.com", those of HostSuffix as
// "**.example.com". Alternatives without a Host add nothing, nor do negated matchers, HostRegexp and Host(`*`). TLS
// options are chosen by these names, since SNI is all that is known then.
func (r *Rule) Domains() []string { return expression.Domains(r.root, domainOf) }

// NamesHosts reports whether the rule admits no host but those of Domains.
func (r *Rule) NamesHosts() bool { return expression.NamesAll(r.root, domainOf) }

// domainOf returns the host that a matcher names, if it does.
func domainOf(m matcher) (string, bool) {
	switch m.(type) {
	case *hostExact, *hostWildcard:
		return m.Args()[0], true
	case *hostSuffix:
		return expression.SuffixMark + m.Args()[0], true
	}
	return "", false
}
