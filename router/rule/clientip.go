package rule

import "net/netip"

// clientIP is ClientIP with a network or a single address. Mapped IPv4 addresses count as IPv4, zones do not count.
type clientIP struct{ network netip.Prefix }

func (m *clientIP) match(r *Request) bool { return m.network.Contains(r.Client.Unmap().WithZone("")) }
func (m *clientIP) name() string          { return "ClientIP" }
func (m *clientIP) args() []string {
	if m.network.IsSingleIP() {
		return []string{m.network.Addr().String()}
	}
	return []string{m.network.String()}
}

func (m *clientIP) saw(r *Request) string {
	if !r.Client.IsValid() {
		return "the client address is unknown"
	}
	return "the client address is " + r.Client.Unmap().String()
}

func newClientIP(args []string, _ *budget) (node, *fault) {
	if ip, err := netip.ParseAddr(args[0]); err == nil {
		if ip.Zone() != "" {
			return nil, faultf(0, "%q: an address with a zone cannot be matched", clip(args[0]))
		}
		ip = ip.Unmap()
		return &clientIP{network: netip.PrefixFrom(ip, ip.BitLen())}, nil
	}
	network, err := netip.ParsePrefix(args[0])
	if err != nil {
		return nil, faultf(0, "%q is neither an address nor a network in CIDR notation", clip(args[0]))
	}
	const mapped = 96
	if network.Addr().Is4In6() && network.Bits() >= mapped {
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-mapped)
	}
	return &clientIP{network: network.Masked()}, nil
}
