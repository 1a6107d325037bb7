package expression

import (
	"strings"
	"unicode/utf8"
)

// HostKind is how a [HostKey] restricts the host.
type HostKind uint8

const (
	// AnyHost does not restrict the host.
	AnyHost HostKind = iota
	// ExactHost requires the host to be equal.
	ExactHost
	// WildcardHost requires exactly one label in front of the domain.
	WildcardHost
)

// HostKey is a condition on the host by which an index finds a rule. The zero value is none.
type HostKey struct {
	// Kind is the kind of Host.
	Kind HostKind
	// Host is a host for ExactHost, the domain without "*." for WildcardHost, and empty for AnyHost.
	Host string
}

// Both returns the key that holds where both keys hold, or false when they exclude each other.
func (k HostKey) Both(other HostKey) (HostKey, bool) {
	switch {
	case k.Kind == AnyHost:
		return other, true
	case other.Kind == AnyHost:
		return k, true
	case k.Kind == other.Kind:
		return k, k.Host == other.Host
	case k.Kind == ExactHost:
		return k, WildcardKey(k.Host) == other.Host
	default:
		return other, WildcardKey(other.Host) == k.Host
	}
}

// WildcardKey returns what follows the first label of a host, which is the key under which a wildcard host is
// found ("example.com" for "a.example.com"). It is empty when no wildcard can match.
func WildcardKey(host string) string {
	i := strings.IndexByte(host, '.')
	if i <= 0 {
		return ""
	}
	return host[i+1:]
}

// CheckASCII refuses a first argument, a host or a pattern of hosts, with characters outside ASCII.
func CheckASCII(written string) *Fault {
	for i := range len(written) {
		if written[i] >= utf8.RuneSelf {
			return Faultf(0, "%q has characters outside ASCII, write the punycode form (xn--...)", Clip(written))
		}
	}
	return nil
}
