package propagate

import (
	"net/netip"
	"strconv"
	"strings"
)

// DefaultClusterDomain is the domain of a Kubernetes cluster that is configured with no other.
const DefaultClusterDomain = "cluster.local"

// InternalHosts returns a predicate for hosts that are inside the cluster by their name or address alone; nothing is
// resolved. These are
//
//   - names of a single label, such as web and localhost,
//   - names that end in .svc or .svc.DOMAIN, where DOMAIN is the domain of the cluster,
//   - loopback addresses, and private addresses (RFC 1918, RFC 4193).
//
// Names of two labels, such as web.shop, may also be in a domain of the Internet, and are not among them. Neither is a
// number, such as 2130706433, which some resolvers take for an IPv4 address. The predicate is the default of
// [Propagator.AllowHost], with [DefaultClusterDomain].
func InternalHosts(clusterDomain string) func(host string) bool {
	suffix := ".svc." + strings.ToLower(strings.Trim(clusterDomain, "."))
	return func(host string) bool {
		if address, err := netip.ParseAddr(host); err == nil {
			address = address.Unmap()
			return address.IsLoopback() || address.IsPrivate()
		}
		name, absolute := strings.CutSuffix(strings.ToLower(host), ".")
		switch {
		case !hostName(name):
			return false
		case strings.Contains(name, "."):
			return strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, suffix)
		}
		return name == "localhost" || !absolute // A single label with a final dot is a top-level domain.
	}
}

// hostName reports whether a text consists of labels of ASCII letters, digits, "-" and "_", of which the last one is
// not a number. Other characters could be mapped to dots later (UTS #46), such as U+3002.
func hostName(name string) bool {
	last := name
	for more := true; more; {
		last, name, more = strings.Cut(name, ".")
		if last == "" || strings.ContainsFunc(last, func(r rune) bool {
			return r > 0x7f || !alphanumeric(byte(r)) && r != '-' && r != '_'
		}) {
			return false
		}
	}
	_, err := strconv.ParseUint(last, 0, 64)
	return err != nil && strings.Trim(last, "0123456789") != ""
}
