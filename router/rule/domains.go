package rule

import (
	"maps"
	"slices"
)

// Domains returns the hosts for which the rule can be responsible by name: each alternative of the rule adds the Host
// values that it requires, in lower case, sorted, wildcards as "*.example.com". Alternatives without a Host add
// nothing, nor do negated matchers, HostRegexp and Host(`*`). TLS options are chosen by these names, since SNI is all
// that is known then.
func (r *Rule) Domains() []string {
	s := domainsOf(r.root, false)
	return slices.Sorted(maps.Keys(s.names))
}

// domains is a set of hosts. When open, hosts outside the set are possible too. It is changed in place, so that a
// long rule costs no more than its length.
type domains struct {
	names map[string]struct{}
	open  bool
}

// domainsOf returns the hosts of a node, or of its negation.
func domainsOf(n node, negated bool) domains {
	switch n := n.(type) {
	case *not:
		return domainsOf(n.operand, !negated)
	case *and:
		return domainsOfSeries(n.operands, negated, !negated)
	case *or:
		return domainsOfSeries(n.operands, negated, negated)
	case *hostExact, *hostWildcard:
		if !negated {
			return domains{names: map[string]struct{}{n.(matcher).args()[0]: {}}}
		}
	}
	return domains{names: make(map[string]struct{}), open: true}
}

// domainsOfSeries joins the hosts of operands, of which all have to hold or only one.
func domainsOfSeries(operands []node, negated, all bool) domains {
	s := domainsOf(operands[0], negated)
	for _, operand := range operands[1:] {
		next := domainsOf(operand, negated)
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

// allows reports whether a name lies within the set, as itself or under a wildcard.
func (s domains) allows(name string) bool {
	if s.open {
		return true
	}
	_, exact := s.names[name]
	_, wildcard := s.names["*."+WildcardKey(name)]
	return exact || wildcard
}
