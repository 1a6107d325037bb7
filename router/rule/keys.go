package rule

import "slices"

// HostKind is how a [Key] restricts the host.
type HostKind uint8

const (
	// AnyHost does not restrict the host.
	AnyHost HostKind = iota
	// ExactHost requires the host to be equal.
	ExactHost
	// WildcardHost requires exactly one label in front of the domain.
	WildcardHost
)

// PathKind is how a [Key] restricts the path.
type PathKind uint8

const (
	// AnyPath does not restrict the path.
	AnyPath PathKind = iota
	// ExactPath requires the path to be equal.
	ExactPath
	// PrefixPath requires the path to begin with these bytes.
	PrefixPath
)

// Key is a pair of necessary conditions on host and path by which an index finds a rule.
type Key struct {
	// HostKind is the kind of Host.
	HostKind HostKind
	// PathKind is the kind of Path.
	PathKind PathKind
	// Host is a canonical host for ExactHost, the domain without "*." for WildcardHost, and empty for AnyHost.
	Host string
	// Path is a path for ExactPath, a prefix for PrefixPath, and empty for AnyPath.
	Path string
}

// maxProduct bounds the keys that multiplying the alternatives of two operands of && may give. Beyond it the less
// selective operand is left out, which proposes more and loses nothing.
const maxProduct = 64

// Keys returns conditions of which every request that the rule accepts satisfies at least one; a request that
// satisfies one need not be accepted. No keys mean that the rule accepts nothing. A key without host and path means
// that the rule can be found only by asking it, and is then the only one. Negated matchers give no condition.
func (r *Rule) Keys() []Key {
	keys := expand(r.root, false)
	for _, key := range keys {
		if key == (Key{}) {
			return []Key{{}}
		}
	}
	return keys
}

// expand returns the keys of a node, or of its negation, by De Morgan's laws.
func expand(n node, negated bool) []Key {
	switch n := n.(type) {
	case *not:
		return expand(n.operand, !negated)
	case *and:
		if negated {
			return expandUnion(n.operands, negated)
		}
		return expandProduct(n.operands, negated)
	case *or:
		if negated {
			return expandProduct(n.operands, negated)
		}
		return expandUnion(n.operands, negated)
	case keyed:
		if !negated {
			return []Key{n.key()}
		}
	}
	return []Key{{}}
}

func expandUnion(operands []node, negated bool) []Key {
	var keys []Key
	for _, operand := range operands {
		keys = append(keys, expand(operand, negated)...)
	}
	return distinct(keys)
}

func expandProduct(operands []node, negated bool) []Key {
	sets := make([][]Key, len(operands))
	for i, operand := range operands {
		sets[i] = expand(operand, negated)
	}
	// Small sets first: then no large set is copied more than once, whatever the number of operands.
	slices.SortStableFunc(sets, func(a, b []Key) int { return len(a) - len(b) })
	keys := []Key{{}}
	for _, set := range sets {
		keys = product(keys, set)
	}
	return keys
}

// product returns the keys of a conjunction.
func product(a, b []Key) []Key {
	if len(a)*len(b) > max(maxProduct, len(a), len(b)) {
		return selective(a, b)
	}
	keys := make([]Key, 0, len(a)*len(b))
	for _, x := range a {
		for _, y := range b {
			if key, possible := x.both(y); possible {
				keys = append(keys, key)
			}
		}
	}
	return distinct(keys)
}

// selective returns the set of keys that proposes less: by host, else by path, else the smaller one.
func selective(a, b []Key) []Key {
	rankA, rankB := rank(a), rank(b)
	if rankB < rankA || rankB == rankA && len(b) < len(a) {
		return b
	}
	return a
}

// rank is 0 when all keys have a host, 1 when all have at least a path, else 2.
func rank(keys []Key) int {
	worst := 0
	for _, key := range keys {
		switch {
		case key.HostKind != AnyHost:
		case key.PathKind != AnyPath:
			worst = max(worst, 1)
		default:
			return 2
		}
	}
	return worst
}

// distinct drops repetitions and keeps the order.
func distinct(keys []Key) []Key {
	if len(keys) < 2 {
		return keys
	}
	seen := make(map[Key]struct{}, len(keys))
	kept := keys[:0]
	for _, key := range keys {
		if _, again := seen[key]; !again {
			seen[key] = struct{}{}
			kept = append(kept, key)
		}
	}
	return kept
}
