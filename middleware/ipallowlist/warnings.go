package ipallowlist

import (
	"fmt"
	"net/netip"

	"github.com/sluiceproxy/sluice/dynamic"
)

// warnings returns valid options without the apparent effect.
func warnings(kind string, sources []string, strategy dynamic.IPStrategy) []string {
	var found []string
	excludes := len(strategy.ExcludedIPs) > 0
	if excludes && strategy.Depth > 0 {
		found = append(found, kind+".ipStrategy.excludedIPs is without effect beside depth")
		excludes = false
	}
	if strategy.IPv6Subnet == nil {
		return found
	}
	if excludes {
		return append(found, kind+".ipStrategy.ipv6Subnet is without effect beside excludedIPs")
	}
	for _, source := range sources {
		if narrower(source, *strategy.IPv6Subnet) {
			found = append(found, fmt.Sprintf(
				"%s.sourceRange %s is narrower than ipv6Subnet %d: every client counts as the first address of its subnet, so "+
					"that it allows all of a subnet or none",
				kind, source, *strategy.IPv6Subnet))
		}
	}
	return found
}

// narrower reports whether a source is an IPv6 prefix longer than bits.
func narrower(source string, bits int) bool {
	if addr, err := netip.ParseAddr(source); err == nil {
		return addr.Unmap().Is6() && bits < addr.BitLen()
	}
	prefix, err := netip.ParsePrefix(source)
	return err == nil && prefix.Addr().Unmap().Is6() && bits < prefix.Bits()
}
