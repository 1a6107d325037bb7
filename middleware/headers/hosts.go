package headers

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
)

// hosts are the allowed hosts.
type hosts struct {
	// names are canonical hosts, with a port if configured.
	names map[string]struct{}
	// first are the first names, which are compared before the look-up.
	first []string
	// proxies are headers that may contain the host in place of Host.
	proxies []proxyHeader
}

// fewHosts is the size of first.
const fewHosts = 4

// proxyHeader is a request header in which a proxy may have put the host.
type proxyHeader struct {
	name string
	// trusted is set for headers that only trusted peers can set.
	trusted bool
}

// buildHosts builds the list of allowed hosts. An invalid entry allows nothing.
func (h *Headers) buildHosts(config dynamic.Headers) error {
	proxies := make([]proxyHeader, 0, len(config.HostsProxyHeaders))
	for _, given := range config.HostsProxyHeaders {
		if !isToken(given) {
			return fmt.Errorf("headers.hostsProxyHeaders: %q is not a header name", given)
		}
		name := http.CanonicalHeaderKey(given)
		proxies = append(proxies, proxyHeader{name, forwarded.IsManaged(name)})
	}
	if len(config.AllowedHosts) == 0 || config.IsDevelopment {
		return nil
	}
	h.hosts = &hosts{names: make(map[string]struct{}, len(config.AllowedHosts)), proxies: proxies}
	for _, given := range config.AllowedHosts {
		host, ok := canonical.Host(given)
		if !ok {
			h.warnings = append(h.warnings, fmt.Sprintf("headers.allowedHosts: %q is not a host and allows none", given))
			continue
		}
		name := withPort(host, canonical.Port(given))
		h.hosts.names[name] = struct{}{}
		if len(h.hosts.first) < fewHosts {
			h.hosts.first = append(h.hosts.first, name)
		}
	}
	if len(h.hosts.names) == 0 {
		return fmt.Errorf("headers.allowedHosts: none of %q is a host", config.AllowedHosts)
	}
	for _, proxy := range proxies {
		if !proxy.trusted {
			h.warnings = append(h.warnings, fmt.Sprintf("headers.hostsProxyHeaders: any client can send %s, so that Host must "+
				"be an allowed host, too", proxy.name))
		}
	}
	return nil
}

// allow reports whether the request is for an allowed host. The first present proxy header replaces Host if it is from
// trusted peers only; of others, both it and Host must be allowed. A duplicate header is refused.
func (h *hosts) allow(r *http.Request, encrypted bool) bool {
	for _, proxy := range h.proxies {
		values := r.Header[proxy.name]
		if len(values) == 0 || len(values) == 1 && values[0] == "" {
			continue
		}
		if len(values) > 1 || !h.has(values[0], encrypted) {
			return false
		}
		if proxy.trusted {
			return true
		}
		break
	}
	return h.has(r.Host, encrypted)
}

// has reports whether an authority is an allowed host. The scheme's default port need not be listed.
func (h *hosts) has(authority string, encrypted bool) bool {
	if slices.Contains(h.first, authority) {
		return true
	}
	if _, ok := h.names[authority]; ok {
		return true
	}
	host, ok := canonical.Host(authority)
	if !ok {
		return false
	}
	port := canonical.Port(authority)
	if _, ok := h.names[withPort(host, port)]; ok || port == "" {
		return ok
	}
	if own := port == "80" && !encrypted || port == "443" && encrypted; !own {
		return false
	}
	_, ok = h.names[withPort(host, "")]
	return ok
}

func withPort(host, port string) string {
	switch {
	case port == "" && strings.IndexByte(host, ':') >= 0:
		return "[" + host + "]"
	case port == "":
		return host
	}
	return net.JoinHostPort(host, port)
}
