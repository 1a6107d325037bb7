package rule

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// hostExact is Host with a name or an address.
type hostExact struct{ host string }

func (m *hostExact) match(r *Request) bool { return r.Host == m.host }
func (m *hostExact) name() string          { return "Host" }
func (m *hostExact) args() []string        { return []string{m.host} }
func (m *hostExact) saw(r *Request) string { return sawHost(r) }
func (m *hostExact) key() Key              { return Key{HostKind: ExactHost, Host: m.host} }

// hostWildcard is Host with "*." in front of a domain: exactly one label more than the domain.
type hostWildcard struct{ domain string }

func (m *hostWildcard) match(r *Request) bool { return WildcardKey(r.Host) == m.domain }
func (m *hostWildcard) name() string          { return "Host" }
func (m *hostWildcard) args() []string        { return []string{"*." + m.domain} }
func (m *hostWildcard) saw(r *Request) string { return sawHost(r) }
func (m *hostWildcard) key() Key              { return Key{HostKind: WildcardHost, Host: m.domain} }

// hostAny is Host with "*", which every request satisfies, even one without a host.
type hostAny struct{}

func (hostAny) match(*Request) bool   { return true }
func (hostAny) name() string          { return "Host" }
func (hostAny) args() []string        { return []string{"*"} }
func (hostAny) saw(r *Request) string { return sawHost(r) }

// hostRegexp is HostRegexp, which is not anchored. The host is in lower case, so an upper-case letter in the expression
// matches nothing.
type hostRegexp struct {
	pattern string
	re      *regexp.Regexp
}

func (m *hostRegexp) match(r *Request) bool { return m.re.MatchString(r.Host) }
func (m *hostRegexp) name() string          { return "HostRegexp" }
func (m *hostRegexp) args() []string        { return []string{m.pattern} }
func (m *hostRegexp) saw(r *Request) string { return sawHost(r) }

func sawHost(r *Request) string { return "the host is " + strconv.Quote(clip(r.Host)) }

func newHost(args []string, _ *budget) (node, *fault) {
	written := args[0]
	if written == "*" {
		return hostAny{}, nil
	}
	host := strings.ToLower(written)
	if at := nonASCII(written); at >= 0 {
		return nil, faultf(0, "%q has characters outside ASCII, write the punycode form (xn--...)", clip(written))
	}
	if ip, err := netip.ParseAddr(unbracketed(host)); err == nil {
		return &hostExact{host: ip.String()}, nil
	}
	domain, wildcard := strings.CutPrefix(host, "*.")
	domain = strings.TrimSuffix(domain, ".")
	if wrong := checkDomain(domain, written); wrong != nil {
		return nil, wrong
	}
	if wildcard {
		return &hostWildcard{domain: domain}, nil
	}
	return &hostExact{host: domain}, nil
}

// checkDomain refuses what no canonical host can be equal to.
func checkDomain(domain, written string) *fault {
	if name := templateIn(domain); name != "" {
		return faultf(0, "{%s} is a template of the v2 language; v3 has HostRegexp", clip(name))
	}
	for i := range len(domain) {
		if c := domain[i]; c <= ' ' || c == 0x7f || strings.IndexByte("/\\@?#{}()<>\"'`%^|,;", c) >= 0 {
			return faultf(0, "%q is not a host name: %q is not allowed", clip(written), string(rune(c)))
		}
	}
	switch {
	case domain == "":
		return faultf(0, "%q names no host", written)
	case strings.Contains(domain, ":"):
		return faultf(0, "%q has a port; a host is matched without its port", clip(written))
	case strings.ContainsAny(domain, "[]"):
		return faultf(0, "%q is not a host name: only an IPv6 address stands in brackets", clip(written))
	case strings.Contains(domain, "*"):
		return faultf(0, "%q: a wildcard stands for the whole first label, as in *.example.com", clip(written))
	case strings.Contains("."+domain+".", ".."):
		return faultf(0, "%q has an empty label", clip(written))
	}
	return nil
}

func newHostRegexp(args []string, b *budget) (node, *fault) {
	pattern := args[0]
	if nonASCII(pattern) >= 0 {
		return nil, faultf(0, "%q has characters outside ASCII, write the punycode form (xn--...)", clip(pattern))
	}
	if name := templateIn(pattern); name != "" {
		return nil, faultf(0, "{%s} is a template of the v2 language; v3 takes a regular expression only", clip(name))
	}
	re, wrong := b.compile(0, pattern)
	if wrong != nil {
		return nil, wrong
	}
	return &hostRegexp{pattern: pattern, re: re}, nil
}

// nonASCII returns the index of the first byte outside ASCII, or -1.
func nonASCII(s string) int {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return i
		}
	}
	return -1
}

// unbracketed returns an IPv6 literal without brackets.
func unbracketed(host string) string {
	if inner, opened := strings.CutPrefix(host, "["); opened && strings.HasSuffix(inner, "]") {
		return inner[:len(inner)-1]
	}
	return host
}
