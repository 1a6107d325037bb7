package rule

import "github.com/sluiceproxy/sluice/router/rule/expression"

// Rule is one parsed rule. It is immutable and safe for concurrent use. The zero value is not usable, see [Parse].
type Rule struct {
	text string
	root node
}

// The parts of the language that are independent of TCP, for what the matchers here decide.
type (
	node    = expression.Node[Connection]
	matcher = expression.Matcher[Connection]
	budget  = expression.Budget
	fault   = expression.Fault
)

// Error is an error of a rule with its position.
type Error = expression.Error

// Step is one matcher's share in the outcome of a rule.
type Step = expression.Step

// language lists the matchers.
func language() expression.Language[Connection] {
	return expression.Language[Connection]{
		{Name: "HostSNI", Min: 1, Max: 1, Build: newHostSNI},
		{Name: "HostSNIRegexp", Min: 1, Max: 1, Build: newHostSNIRegexp},
		{Name: "ClientIP", Min: 1, Max: 1, Build: newClientIP},
		{Name: "ALPN", Min: 1, Max: 1, Build: newALPN},
	}
}

// Parse reads a rule. A failure is always an [*Error], which names the column.
func Parse(text string) (*Rule, error) {
	root, err := language().Parse(text)
	if err != nil {
		return nil, err
	}
	return &Rule{text: text, root: root}, nil
}

// Match reports whether the connection satisfies the rule. It allocates nothing, but the connection is on the heap.
func (r *Rule) Match(c *Connection) bool { return r.root.Match(c) }

// String returns the rule as it was written.
func (r *Rule) String() string { return r.text }

// Length returns the number of bytes of String.
func (r *Rule) Length() int { return len(r.text) }

// Canonical returns the rule in one spelling: documented names, backticks where possible, single spaces, hosts in
// lower case and no redundant parentheses. Parsing it gives an equivalent rule.
func (r *Rule) Canonical() string { return expression.Print(r.root) }

// Explain decides the connection like [Rule.Match] and returns the matchers that brought the outcome about, in the
// order of the text: when the rule matched those that were satisfied and needed, else those that were not satisfied.
func (r *Rule) Explain(c *Connection) (matched bool, steps []Step) {
	return expression.Explain(r.root, c)
}

// IsCatchAll reports whether the rule is HostSNI(`*`) alone, which every connection satisfies.
func (r *Rule) IsCatchAll() bool {
	_, is := r.root.(hostAny)
	return is
}

// NeedsSNI reports whether only a router with TLS may have the rule: the first HostSNI that is not negated is not
// HostSNI(`*`). Traefik looks at the first one alone, so that HostSNI(`*`) in front makes any rule valid without TLS.
func (r *Rule) NeedsSNI() bool {
	for m, negated := range expression.Matchers(r.root) {
		if negated {
			continue
		}
		switch m.(type) {
		case hostAny:
			return false
		case *hostExact, *hostWildcard:
			return true
		}
	}
	return false
}

// Hosts returns the hosts for which the rule can be responsible by name: each alternative of the rule adds the HostSNI
// values that it requires, in lower case, sorted, wildcards as "*.example.com". Alternatives without a HostSNI add
// nothing, nor do negated matchers, HostSNIRegexp and HostSNI(`*`). They are the names of certificates for the router,
// and always ASCII, because [Parse] refuses other ones.
func (r *Rule) Hosts() []string { return expression.Domains(r.root, hostOf) }

// hostOf returns the host that a matcher names, if it does.
func hostOf(m matcher) (string, bool) {
	switch m.(type) {
	case *hostExact, *hostWildcard:
		return m.Args()[0], true
	}
	return "", false
}

// Keys returns conditions on the server name of which every connection that the rule accepts satisfies at least one; a
// connection that satisfies one need not be accepted. No keys mean that the rule accepts nothing. The zero key means
// that the rule can be found only by evaluating it, and is then the only one.
func (r *Rule) Keys() []expression.HostKey {
	return expression.Keys(r.root, expression.KeyType[Connection, expression.HostKey]{
		Of: keyOf, Both: expression.HostKey.Both, Rank: rank,
	})
}

// keyOf returns the key of a matcher, if it has one.
func keyOf(m matcher) (expression.HostKey, bool) {
	switch m := m.(type) {
	case *hostExact:
		return expression.HostKey{Kind: expression.ExactHost, Host: m.host}, true
	case *hostWildcard:
		return expression.HostKey{Kind: expression.WildcardHost, Host: m.domain}, true
	}
	return expression.HostKey{}, false
}

// rank is 0 for a key that restricts the host, else 1.
func rank(key expression.HostKey) int {
	if key.Kind == expression.AnyHost {
		return 1
	}
	return 0
}
