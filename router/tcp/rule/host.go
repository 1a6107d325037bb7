package rule

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// hostExact is HostSNI with a name or an address.
type hostExact struct{ host string }

func (m *hostExact) Match(c *Connection) bool { return c.ServerName == m.host }
func (m *hostExact) Name() string             { return "HostSNI" }
func (m *hostExact) Args() []string           { return []string{m.host} }
func (m *hostExact) Saw(c *Connection) string { return sawServerName(c) }

// hostWildcard is HostSNI with "*." in front of a domain: exactly one label more than the domain.
type hostWildcard struct{ domain string }

func (m *hostWildcard) Match(c *Connection) bool {
	return expression.WildcardKey(c.ServerName) == m.domain
}
func (m *hostWildcard) Name() string             { return "HostSNI" }
func (m *hostWildcard) Args() []string           { return []string{"*." + m.domain} }
func (m *hostWildcard) Saw(c *Connection) string { return sawServerName(c) }

// hostAny is HostSNI with "*", which every connection satisfies, even one without a server name.
type hostAny struct{}

func (hostAny) Match(*Connection) bool   { return true }
func (hostAny) Name() string             { return "HostSNI" }
func (hostAny) Args() []string           { return []string{"*"} }
func (hostAny) Saw(c *Connection) string { return sawServerName(c) }

// hostRegexp is HostSNIRegexp, which is not anchored. The server name is in lower case, so an upper-case letter in the
// expression matches nothing; without a server name it is the empty string.
type hostRegexp struct {
	pattern string
	re      *regexp.Regexp
}

func (m *hostRegexp) Match(c *Connection) bool { return m.re.MatchString(c.ServerName) }
func (m *hostRegexp) Name() string             { return "HostSNIRegexp" }
func (m *hostRegexp) Args() []string           { return []string{m.pattern} }
func (m *hostRegexp) Saw(c *Connection) string { return sawServerName(c) }

func sawServerName(c *Connection) string {
	if c.ServerName == "" {
		return "there is no server name"
	}
	return "the server name is " + strconv.Quote(expression.Clip(c.ServerName))
}

func newHostSNI(args []string, _ *budget) (node, *fault) {
	written := args[0]
	if written == "*" {
		return hostAny{}, nil
	}
	if wrong := expression.CheckASCII(written); wrong != nil {
		return nil, wrong
	}
	domain, wildcard := strings.CutPrefix(strings.ToLower(written), "*.")
	domain = strings.TrimSuffix(domain, ".")
	if wrong := checkHost(domain, written); wrong != nil {
		return nil, wrong
	}
	if wildcard {
		return &hostWildcard{domain: domain}, nil
	}
	return &hostExact{host: domain}, nil
}

// checkHost allows letters, digits, underscores, hyphens, dots, and the colons of IPv6 addresses.
func checkHost(host, written string) *fault {
	for i := range len(host) {
		c := host[i]
		switch {
		case c == '*':
			return expression.Faultf(0, "%q: a wildcard stands for the whole first label, as in *.example.com",
				expression.Clip(written))
		case !expression.IsLetter(c) && !expression.IsDigit(c) && strings.IndexByte(".-:", c) < 0:
			return expression.Faultf(0, "%q is not a host name: %q is not allowed", expression.Clip(written), string(rune(c)))
		}
	}
	switch {
	case host == "":
		return expression.Faultf(0, "%q names no host", written)
	case strings.Contains("."+host+".", ".."):
		return expression.Faultf(0, "%q has an empty label", expression.Clip(written))
	}
	return nil
}

func newHostSNIRegexp(args []string, b *budget) (node, *fault) {
	pattern := args[0]
	if wrong := expression.CheckASCII(pattern); wrong != nil {
		return nil, wrong
	}
	re, wrong := b.Compile(0, pattern)
	if wrong != nil {
		return nil, wrong
	}
	return &hostRegexp{pattern: pattern, re: re}, nil
}
