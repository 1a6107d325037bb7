package expression

import "net/netip"

// Network reads the first argument of a matcher: a network in CIDR notation, or an address as the network of itself
// alone. An IPv4 network that is mapped into IPv6 becomes IPv4.
func Network(args []string) (netip.Prefix, *Fault) {
	if ip, err := netip.ParseAddr(args[0]); err == nil {
		if ip.Zone() != "" {
			return netip.Prefix{}, Faultf(0, "%q: an address with a zone cannot be matched", Clip(args[0]))
		}
		ip = ip.Unmap()
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	network, err := netip.ParsePrefix(args[0])
	if err != nil {
		return netip.Prefix{}, Faultf(0, "%q is neither an address nor a network in CIDR notation", Clip(args[0]))
	}
	const mapped = 96
	if network.Addr().Is4In6() && network.Bits() >= mapped {
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mapped)
	}
	return network.Masked(), nil
}

// PrintNetwork returns a network as [Network] reads it: the address alone when it has but one.
func PrintNetwork(network netip.Prefix) string {
	if network.IsSingleIP() {
		return network.Addr().String()
	}
	return network.String()
}

// InNetwork reports whether an address is in a network. Mapped IPv4 addresses count as IPv4, zones do not count, and
// the zero Addr is in none.
func InNetwork(network netip.Prefix, address netip.Addr) bool {
	return network.Contains(address.Unmap().WithZone(""))
}

// SawClient describes the address of a client.
func SawClient(client netip.Addr) string {
	if !client.IsValid() {
		return "the client address is unknown"
	}
	return "the client address is " + client.Unmap().String()
}
