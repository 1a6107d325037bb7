package forwarded

import "net/netip"

// CoversMost reports whether the set contains half of the IPv4 addresses or more, or half of the IPv6 addresses that
// the Internet uses (2000::/3). Such a set gives no protection.
func (t Trust) CoversMost() bool {
	internet := netip.AddrFrom16([16]byte{0x20})
	return t.halfOf(netip.PrefixFrom(netip.IPv4Unspecified(), 0)) || t.halfOf(netip.PrefixFrom(internet, 3))
}

// halfOf reports whether the set contains half of the addresses of a prefix or more.
func (t Trust) halfOf(prefix netip.Prefix) bool {
	first, last := prefix.Addr(), lastAddr(prefix)
	whole, held := span(first, last), 0.0
	for _, one := range t.ranges {
		if one.first.BitLen() != first.BitLen() || one.last.Less(first) || last.Less(one.first) {
			continue
		}
		from, to := one.first, one.last
		if from.Less(first) {
			from = first
		}
		if last.Less(to) {
			to = last
		}
		held += span(from, to)
	}
	return held >= whole/2
}

// span returns the number of addresses in a range, both ends included. It is exact to one in 2^50.
func span(first, last netip.Addr) float64 { return position(last) - position(first) + 1 }

// position returns an address as a number.
func position(addr netip.Addr) float64 {
	number := 0.0
	for _, octet := range addr.AsSlice() {
		number = number*256 + float64(octet)
	}
	return number
}
