package expression

import (
	"iter"
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
	// SuffixHost requires at least one label in front of the domain.
	SuffixHost
)

// HostKey is a condition on the host by which an index finds a rule. The zero value is none.
type HostKey struct {
	// Kind is the kind of Host.
	Kind HostKind
	// Host is a host for ExactHost, the domain without "*." for WildcardHost, the domain for SuffixHost, and empty
	// for AnyHost.
	Host string
}

// Both returns the key that holds where both keys hold, or false when they exclude each other.
func (k HostKey) Both(other HostKey) (HostKey, bool) {
	switch {
	case k.Kind == AnyHost:
		return other, true
	case other.Kind == AnyHost:
		return k, true
	case k.Kind == SuffixHost || other.Kind == SuffixHost:
		return k.bothSuffix(other)
	case k.Kind == other.Kind:
		return k, k.Host == other.Host
	case k.Kind == ExactHost:
		return k, WildcardKey(k.Host) == other.Host
	default:
		return other, WildcardKey(other.Host) == k.Host
	}
}

// bothSuffix is Both where at least one of the keys is a SuffixHost.
func (k HostKey) bothSuffix(other HostKey) (HostKey, bool) {
	if k.Kind != SuffixHost || other.Kind == SuffixHost && len(other.Host) < len(k.Host) {
		k, other = other, k
	}
	// k is a suffix, and the shorter one of two.
	below := HasSuffix(other.Host, k.Host)
	return other, below || other.Kind != ExactHost && other.Host == k.Host
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

// HasSuffix reports whether a host has at least one label in front of a domain.
func HasSuffix(host, domain string) bool {
	at := len(host) - len(domain) - 1
	return at > 0 && host[at] == '.' && host[at+1:] == domain
}

// Parents yields the domains of which a host can be a subdomain, the longest one first.
func Parents(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 1; i < len(host); i++ {
			if host[i] == '.' && !yield(host[i+1:]) {
				return
			}
		}
	}
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
