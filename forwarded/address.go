package forwarded

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// ClientAddr returns the address of a peer from http.Request.RemoteAddr ("192.0.2.1:1234" or "[2001:db8::1]:1234"; the
// port may be missing). An IPv4-mapped IPv6 address becomes IPv4, and a zone is dropped, so that one client has one
// address. ok is false for anything else, such as the name of a Unix socket.
func ClientAddr(remoteAddr string) (netip.Addr, bool) {
	if addr, ok := plainIPv4(remoteAddr); ok {
		return addr, true
	}
	if addrPort, err := netip.ParseAddrPort(remoteAddr); err == nil {
		return addrPort.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.Trim(remoteAddr, "[]"))
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.Unmap().WithZone(""), true
}

// plainIPv4 parses an IPv4 address and a port, the usual form of a peer, in a third of the time of netip. Other forms
// may still be valid.
func plainIPv4(text string) (netip.Addr, bool) {
	var address, value uint32 // value belongs to the field that begins at start.
	fields, start := 0, 0
	for i := range len(text) {
		c := text[i]
		if digit := uint32(c - '0'); digit <= 9 {
			if value = value*10 + digit; value > 65535 || i > start && text[start] == '0' {
				return netip.Addr{}, false
			}
			continue
		}
		if i == start || value > 255 || fields < 3 && c != '.' || fields == 3 && c != ':' || fields > 3 {
			return netip.Addr{}, false
		}
		address, value, fields, start = address<<8|value, 0, fields+1, i+1
	}
	if fields != 4 || start == len(text) {
		return netip.Addr{}, false
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}), true
}

// Trust is an immutable set of addresses, such as the peers whose forwarded headers or PROXY protocol headers are
// trusted. The zero value is empty.
type Trust struct {
	// Disjoint ranges in ascending order, for binary search.
	ranges []addrRange
}

type addrRange struct{ first, last netip.Addr }

// Range is an IP address or a CIDR prefix, IPv4 or IPv6, as options write it. Host bits of a prefix are ignored, and
// IPv4-mapped addresses count as IPv4.
type Range struct{ prefix netip.Prefix }

// UnmarshalText reads "192.0.2.1" or "2001:db8::/32".
func (r *Range) UnmarshalText(text []byte) (err error) {
	r.prefix, err = parsePrefix(string(text))
	return err
}

// MarshalText writes a prefix of one address as the address.
func (r Range) MarshalText() ([]byte, error) {
	if r.prefix.IsSingleIP() {
		return r.prefix.Addr().MarshalText()
	}
	return r.prefix.MarshalText()
}

// ParseRanges reads the entries of an option. Each entry that is no range is named in the error.
func ParseRanges(entries ...string) ([]Range, error) {
	ranges := make([]Range, len(entries))
	var problems []error
	for i, entry := range entries {
		if err := ranges[i].UnmarshalText([]byte(entry)); err != nil {
			problems = append(problems, err)
		}
	}
	return ranges, errors.Join(problems...)
}

// NewTrust makes a set of the entries of an option; see ParseRanges.
func NewTrust(entries []string) (Trust, error) {
	ranges, err := ParseRanges(entries...)
	if err != nil {
		return Trust{}, err
	}
	return TrustOf(ranges), nil
}

// Common returns the ranges of the addresses that are both in a range of one list and in one of another.
func Common(a, b []Range) []Range {
	var common []Range
	for _, one := range a {
		for _, other := range b {
			if !one.prefix.Overlaps(other.prefix) {
				continue
			}
			narrower := one
			if other.prefix.Bits() > one.prefix.Bits() {
				narrower = other
			}
			if !slices.Contains(common, narrower) {
				common = append(common, narrower)
			}
		}
	}
	return common
}

// TrustOf makes a set of all addresses of the ranges.
func TrustOf(of []Range) Trust {
	ranges := make([]addrRange, len(of))
	for i, one := range of {
		ranges[i] = addrRange{one.prefix.Addr(), lastAddr(one.prefix)}
	}
	slices.SortFunc(ranges, func(a, b addrRange) int { return a.first.Compare(b.first) })
	return Trust{ranges: mergeRanges(ranges)}
}

// Covers reports whether all addresses of a range are in the set.
func (t Trust) Covers(of Range) bool {
	first, last := of.prefix.Addr(), lastAddr(of.prefix)
	return slices.ContainsFunc(t.ranges, func(one addrRange) bool {
		return one.first.Compare(first) <= 0 && last.Compare(one.last) <= 0
	})
}

// Contains reports whether addr, as [ClientAddr] returns it, is in the set. It does not allocate.
func (t Trust) Contains(addr netip.Addr) bool {
	if len(t.ranges) == 0 || !addr.IsValid() {
		return false
	}
	addr = addr.Unmap().WithZone("")
	low, high := 0, len(t.ranges)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if t.ranges[middle].last.Less(addr) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low < len(t.ranges) && !addr.Less(t.ranges[low].first)
}

// Empty reports whether the set is empty.
func (t Trust) Empty() bool { return len(t.ranges) == 0 }

func parsePrefix(entry string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(entry); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(entry)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an IP address nor a CIDR prefix", entry)
	}
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	return prefix.Masked(), nil
}

func lastAddr(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// mergeRanges joins overlapping ranges of a sorted list in place.
func mergeRanges(sorted []addrRange) []addrRange {
	merged := sorted[:0]
	for _, next := range sorted {
		if end := len(merged) - 1; end >= 0 && !merged[end].last.Less(next.first) {
			if merged[end].last.Less(next.last) {
				merged[end].last = next.last
			}
			continue
		}
		merged = append(merged, next)
	}
	return slices.Clip(merged)
}
