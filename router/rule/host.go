package rule

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// hostExact is Host with a name or an address.
type hostExact struct{ host string }

func (m *hostExact) Match(r *Request) bool { return r.Host == m.host }
func (m *hostExact) Name() string          { return "Host" }
func (m *hostExact) Args() []string        { return []string{m.host} }
func (m *hostExact) Saw(r *Request) string { return sawHost(r) }
func (m *hostExact) key() Key              { return Key{HostKind: ExactHost, Host: m.host} }

// hostWildcard is Host with "*." in front of a domain: exactly one label more than the domain.
type hostWildcard struct{ domain string }

func (m *hostWildcard) Match(r *Request) bool { return expression.WildcardKey(r.Host) == m.domain }
func (m *hostWildcard) Name() string          { return "Host" }
func (m *hostWildcard) Args() []string        { return []string{"*." + m.domain} }
func (m *hostWildcard) Saw(r *Request) string { return sawHost(r) }
func (m *hostWildcard) key() Key              { return Key{HostKind: WildcardHost, Host: m.domain} }

// hostSuffix is HostSuffix: at least one label more than the domain.
type hostSuffix struct{ domain string }

func (m *hostSuffix) Match(r *Request) bool { return expression.HasSuffix(r.Host, m.domain) }
func (m *hostSuffix) Name() string          { return "HostSuffix" }
func (m *hostSuffix) Args() []string        { return []string{m.domain} }
func (m *hostSuffix) Saw(r *Request) string { return sawHost(r) }
func (m *hostSuffix) key() Key              { return Key{HostKind: SuffixHost, Host: m.domain} }

// hostAny is Host with "*", which every request satisfies, even one without a host.
type hostAny struct{}

func (hostAny) Match(*Request) bool   { return true }
func (hostAny) Name() string          { return "Host" }
func (hostAny) Args() []string        { return []string{"*"} }
func (hostAny) Saw(r *Request) string { return sawHost(r) }

// hostRegexp is HostRegexp, which is not anchored. The host is in lower case, so an upper-case letter in the expression
// matches nothing.
type hostRegexp struct {
	pattern string
	re      *regexp.Regexp
}

func (m *hostRegexp) Match(r *Request) bool { return m.re.MatchString(r.Host) }
func (m *hostRegexp) Name() string          { return "HostRegexp" }
func (m *hostRegexp) Args() []string        { return []string{m.pattern} }
func (m *hostRegexp) Saw(r *Request) string { return sawHost(r) }

func sawHost(r *Request) string { return "the host is " + strconv.Quote(expression.Clip(r.Host)) }

func newHost(args []string, _ *budget) (node, *fault) {
	written := args[0]
	if written == "*" {
		return hostAny{}, nil
	}
	host := strings.ToLower(written)
	if wrong := expression.CheckASCII(written); wrong != nil {
		return nil, wrong
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

func newHostSuffix(args []string, _ *budget) (node, *fault) {
	written := args[0]
	if wrong := expression.CheckASCII(written); wrong != nil {
		return nil, wrong
	}
	domain := strings.TrimSuffix(strings.ToLower(written), ".")
	for _, mark := range []string{"*.", "."} {
		if name, marked := strings.CutPrefix(domain, mark); marked && name != "" {
			return nil, expression.Faultf(0, "%q: the domain alone stands for all names below it, write %q",
				expression.Clip(written), expression.Clip(name))
		}
	}
	if wrong := checkDomain(domain, written); wrong != nil {
		return nil, wrong
	}
	// The last label of a name is not numeric (RFC 1123 section 2.1), while that of an IPv4 address is.
	if last := domain[strings.LastIndexByte(domain, '.')+1:]; strings.Trim(last, "0123456789") == "" {
		return nil, expression.Faultf(0, "%q is no domain: its last label is a number", expression.Clip(written))
	}
	return &hostSuffix{domain: domain}, nil
}

// checkDomain refuses what no canonical host can be equal to.
func checkDomain(domain, written string) *fault {
	if name := templateIn(domain); name != "" {
		return expression.Faultf(0, "{%s} is a template of the v2 language; v3 has HostRegexp", expression.Clip(name))
	}
	for i := range len(domain) {
		if c := domain[i]; c <= ' ' || c == 0x7f || strings.IndexByte("/\\@?#{}()<>\"'`%^|,;", c) >= 0 {
			return expression.Faultf(0, "%q is not a host name: %q is not allowed", expression.Clip(written), string(rune(c)))
		}
	}
	switch {
	case domain == "":
		return expression.Faultf(0, "%q names no host", written)
	case strings.Contains(domain, ":"):
		return expression.Faultf(0, "%q has a port; a host is matched without its port", expression.Clip(written))
	case strings.ContainsAny(domain, "[]"):
		return expression.Faultf(0, "%q is not a host name: only an IPv6 address stands in brackets",
			expression.Clip(written))
	case strings.Contains(domain, "*"):
		return expression.Faultf(0, "%q: a wildcard stands for the whole first label, as in *.example.com",
			expression.Clip(written))
	case strings.Contains("."+domain+".", ".."):
		return expression.Faultf(0, "%q has an empty label", expression.Clip(written))
	}
	return nil
}

func newHostRegexp(args []string, b *budget) (node, *fault) {
	pattern := args[0]
	if wrong := expression.CheckASCII(pattern); wrong != nil {
		return nil, wrong
	}
	if name := templateIn(pattern); name != "" {
		return nil, expression.Faultf(0, "{%s} is a template of the v2 language; v3 takes a regular expression only",
			expression.Clip(name))
	}
	re, wrong := b.Compile(0, pattern)
	if wrong != nil {
		return nil, wrong
	}
	return &hostRegexp{pattern: pattern, re: re}, nil
}

// unbracketed returns an IPv6 literal without brackets.
func unbracketed(host string) string {
	if inner, opened := strings.CutPrefix(host, "["); opened && strings.HasSuffix(inner, "]") {
		return inner[:len(inner)-1]
	}
	return host
}
