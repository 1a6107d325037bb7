package expression

import (
	"maps"
	"slices"
	"strings"
)

// Domains returns the hosts for which a rule can be responsible by name: each alternative of the rule adds the names
// that it requires, sorted. Alternatives without a name add nothing, nor do negated matchers. nameOf returns the host
// that a matcher requires, wildcards as "*.example.com", suffixes as "**.example.com", or false.
func Domains[V any](root Node[V], nameOf func(Matcher[V]) (string, bool)) []string {
	s := domainsOf(root, false, nameOf)
	return slices.Sorted(maps.Keys(s.names))
}

// NamesAll reports whether a rule admits no host but those that Domains returns: each alternative requires a name.
func NamesAll[V any](root Node[V], nameOf func(Matcher[V]) (string, bool)) bool {
	return namesAll(root, false, nameOf)
}

// namesAll is NamesAll for a node, or for its negation.
func namesAll[V any](n Node[V], negated bool, nameOf func(Matcher[V]) (string, bool)) bool {
	names := func(operand Node[V]) bool { return namesAll(operand, negated, nameOf) }
	some := func(operands []Node[V]) bool { return slices.ContainsFunc(operands, names) }
	every := func(operands []Node[V]) bool {
		return !slices.ContainsFunc(operands, func(operand Node[V]) bool { return !names(operand) })
	}
	switch n := n.(type) {
	case *Not[V]:
		return namesAll(n.Operand, !negated, nameOf)
	case *And[V]:
		return !negated && some(n.Operands) || negated && every(n.Operands)
	case *Or[V]:
		return negated && some(n.Operands) || !negated && every(n.Operands)
	case Matcher[V]:
		_, has := nameOf(n)
		return has && !negated
	}
	return false
}

// domains is a set of hosts. When open, hosts outside the set are possible too. It is changed in place, so that a
// long rule costs no more than its length.
type domains struct {
	names map[string]struct{}
	open  bool
}

// domainsOf returns the hosts of a node, or of its negation.
func domainsOf[V any](n Node[V], negated bool, nameOf func(Matcher[V]) (string, bool)) domains {
	switch n := n.(type) {
	case *Not[V]:
		return domainsOf(n.Operand, !negated, nameOf)
	case *And[V]:
		return domainsOfSeries(n.Operands, negated, !negated, nameOf)
	case *Or[V]:
		return domainsOfSeries(n.Operands, negated, negated, nameOf)
	case Matcher[V]:
		if name, has := nameOf(n); has && !negated {
			return domains{names: map[string]struct{}{name: {}}}
		}
	}
	return domains{names: make(map[string]struct{}), open: true}
}

// domainsOfSeries joins the hosts of operands, of which all have to hold or only one.
func domainsOfSeries[V any](
	operands []Node[V], negated, all bool, nameOf func(Matcher[V]) (string, bool),
) domains {
	s := domainsOf(operands[0], negated, nameOf)
	for _, operand := range operands[1:] {
		next := domainsOf(operand, negated, nameOf)
		if all {
			s = s.intersect(next)
		} else {
			s = s.union(next)
		}
	}
	return s
}

func (s domains) union(other domains) domains {
	maps.Copy(s.names, other.names)
	return domains{names: s.names, open: s.open || other.open}
}

func (s domains) intersect(other domains) domains {
	var added []string
	for name := range other.names {
		if s.allows(name) {
			added = append(added, name)
		}
	}
	if !other.open {
		maps.DeleteFunc(s.names, func(name string, _ struct{}) bool { return !other.allows(name) })
	}
	for _, name := range added {
		s.names[name] = struct{}{}
	}
	return domains{names: s.names, open: s.open && other.open}
}

// SuffixMark begins the name of all hosts below a domain, at any depth, as "**.example.com".
const SuffixMark = "**."

// allows reports whether a name lies within the set, as itself, under a wildcard, or under a suffix.
func (s domains) allows(name string) bool {
	if s.open {
		return true
	}
	if _, exact := s.names[name]; exact {
		return true
	}
	if _, wildcard := s.names["*."+WildcardKey(name)]; wildcard && !strings.HasPrefix(name, SuffixMark) {
		return true
	}
	for domain := range Parents(name) {
		if _, suffix := s.names[SuffixMark+domain]; suffix {
			return true
		}
	}
	return false
}
