package cors

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
)

// pattern is one of the allowed origins.
type pattern struct {
	scheme, port string // the port is not empty
	// host is a host, or what follows a wildcard: a dot and a domain, or nothing.
	host     string
	wildcard bool
	// text is what was configured.
	text string
}

// origins are the allowed origins.
type origins struct {
	any  bool // "*" alone
	list []pattern
}

func newOrigins(given []string) (origins, error) {
	if slices.Contains(given, "*") {
		if len(given) > 1 {
			return origins{}, errAlone("allowOrigins")
		}
		return origins{any: true}, nil
	}
	var o origins
	for _, text := range given {
		one, ok := parsePattern(text)
		if !ok {
			return origins{}, fmt.Errorf("cors.allowOrigins: %q is neither an origin such as https://example.com:8443 or "+
				"https://*.example.com, nor *", text)
		}
		one.text = text
		o.list = append(o.list, one)
	}
	return o, nil
}

// all returns those of the allowed origins that stand for every host.
func (o *origins) all() []string {
	if o.any {
		return []string{"*"}
	}
	var found []string
	for _, one := range o.list {
		if one.wildcard && one.host == "" {
			found = append(found, one.text)
		}
	}
	return found
}

func errAlone(option string) error { return fmt.Errorf("cors.%s has * beside other values", option) }

func parsePattern(text string) (pattern, bool) {
	scheme, authority, _ := strings.Cut(text, "://")
	rest, wildcard := strings.CutPrefix(authority, "*")
	if !wildcard {
		return parseOrigin(text)
	}
	// Any host stands in for the wildcard, so that the rest is checked as that of an origin.
	one, ok := parseOrigin(scheme + "://x" + rest)
	one.host, one.wildcard = one.host[min(1, len(one.host)):], true
	return one, ok && (one.host == "" || one.host[0] == '.')
}

// parseOrigin reads an origin of a web site.
func parseOrigin(text string) (pattern, bool) {
	scheme, authority, _ := canonical.Origin(text)
	host, ok := canonical.Host(authority)
	scheme = strings.ToLower(scheme)
	port := canonical.Port(authority)
	switch {
	case scheme == "http" && port == "":
		port = "80"
	case scheme == "https" && port == "":
		port = "443"
	}
	return pattern{scheme: scheme, port: port, host: host}, ok && (scheme == "http" || scheme == "https")
}

// matches reports whether an origin is one of the pattern's.
func (p pattern) matches(origin pattern) bool {
	if p.scheme != origin.scheme || p.port != origin.port {
		return false
	}
	if p.wildcard {
		return len(origin.host) > len(p.host) && strings.HasSuffix(origin.host, p.host)
	}
	return p.host == origin.host
}

// allow returns the value of Access-Control-Allow-Origin, or nothing where an origin is not allowed. With credentials
// the origin is repeated as it was sent, because browsers compare bytes.
func (o *origins) allow(origin string, credentials bool) string {
	if o.any && !credentials {
		return "*"
	}
	parsed, ok := parseOrigin(origin)
	if ok && (o.any || slices.ContainsFunc(o.list, func(p pattern) bool { return p.matches(parsed) })) {
		return origin
	}
	return ""
}
