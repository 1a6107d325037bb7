package rule

import "github.com/sluiceproxy/sluice/router/rule/expression"

// HostKind is how a [Key] restricts the host.
type HostKind = expression.HostKind

const (
	// AnyHost does not restrict the host.
	AnyHost = expression.AnyHost
	// ExactHost requires the host to be equal.
	ExactHost = expression.ExactHost
	// WildcardHost requires exactly one label in front of the domain.
	WildcardHost = expression.WildcardHost
	// SuffixHost requires at least one label in front of the domain.
	SuffixHost = expression.SuffixHost
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
	// ExactNormalized requires the normalised path, see [Request.Normalized], to be equal.
	ExactNormalized
	// PrefixNormalized requires the normalised path to begin with these bytes.
	PrefixNormalized
)

// Exact reports whether the whole path is required, and not its beginning.
func (k PathKind) Exact() bool { return k == ExactPath || k == ExactNormalized }

// Normalized reports whether the path is the normalised one.
func (k PathKind) Normalized() bool { return k == ExactNormalized || k == PrefixNormalized }

// Key is a pair of necessary conditions on host and path by which an index finds a rule.
type Key struct {
	// HostKind is the kind of Host.
	HostKind HostKind
	// PathKind is the kind of Path.
	PathKind PathKind
	// Host is a canonical host for ExactHost, the domain for WildcardHost and SuffixHost, and empty for AnyHost.
	Host string
	// Path is a path for ExactPath and ExactNormalized, a prefix for PrefixPath and PrefixNormalized, and empty for
	// AnyPath.
	Path string
}

// keyed is a matcher that an index can find requests by.
type keyed interface {
	matcher
	// key returns a key that holds for every request that the matcher accepts.
	key() Key
}

// Keys returns conditions of which every request that the rule accepts satisfies at least one; a request that
// satisfies one need not be accepted. No keys mean that the rule accepts nothing. A key without host and path means
// that the rule can be found only by evaluating it, and is then the only one. Negated matchers give no condition.
func (r *Rule) Keys() []Key {
	return expression.Keys(r.root, expression.KeyType[Request, Key]{Of: keyOf, Both: Key.both, Rank: Key.rank})
}

// keyOf returns the key of a matcher, if it has one.
func keyOf(m matcher) (Key, bool) {
	if with, is := m.(keyed); is {
		return with.key(), true
	}
	return Key{}, false
}

// rank is 0 for a key with a host, 1 for one with a path alone, else 2.
func (k Key) rank() int {
	switch {
	case k.HostKind != AnyHost:
		return 0
	case k.PathKind != AnyPath:
		return 1
	default:
		return 2
	}
}
