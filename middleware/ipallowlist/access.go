package ipallowlist

import (
	"net/netip"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/guard"
)

// access returns when a list restricts access. what is the kind and name of the middleware.
func access(what string, sources []string, strategy *dynamic.IPStrategy) guard.Access {
	if strategy != nil && strategy.IPv6Subnet != nil {
		sources = widened(sources, *strategy.IPv6Subnet)
	}
	if listed, err := forwarded.NewTrust(sources); err == nil && listed.CoversMost() {
		return guard.Except(guard.Always, what+" lists half of the Internet or more")
	}
	if strategy != nil && (strategy.Depth > 0 || len(strategy.ExcludedIPs)+len(strategy.TrustedIPs) > 0) {
		return guard.Except(guard.AnyForwarded|guard.AnyProxy,
			what+" reads X-Forwarded-For, which any client can set on that entrypoint")
	}
	return guard.Except(guard.AnyProxy, what+" reads the address of a PROXY header, which any client can send to that "+
		"entrypoint")
}

// widened limits the prefix length of IPv6 sources: the first address of a subnet represents the whole subnet.
func widened(sources []string, bits int) []string {
	wide := make([]string, len(sources))
	for i, source := range sources {
		wide[i] = source
		address, _, _ := strings.Cut(source, "/")
		addr, err := netip.ParseAddr(address)
		if err != nil || addr.Unmap().Is4() {
			continue
		}
		length := addr.BitLen()
		if prefix, err := netip.ParsePrefix(source); err == nil {
			length = prefix.Bits()
		}
		if prefix, err := addr.Prefix(min(length, bits)); err == nil {
			wide[i] = prefix.String()
		}
	}
	return wide
}
