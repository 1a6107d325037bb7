package forwarded

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ClientStrategy says which address of a request is its client's (the option ipStrategy of several middlewares). It is
// an immutable value. The zero value takes the peer that sent the request.
//
// X-Forwarded-For is read as the entrypoint leaves it: only trusted peers can send one, each proxy has appended who
// sent it the request, and the peer of this connection is not in it yet. Several lines are one list.
type ClientStrategy struct {
	depth    int
	excluded Trust
	scan     bool
	subnet   int // 0 for none
}

// NewClientStrategy checks the options of an ipStrategy:
//
//   - depth, if it is not 0, takes the address at that place of X-Forwarded-For, counted from the right, where 1 is the
//     last. Empty elements count. It must not be negative, and excludedIPs is not looked at then.
//   - excludedIPs, addresses and CIDR prefixes, takes the first address from the right that is not among them. Empty
//     elements do not count.
//   - ipv6Subnet, the length of a prefix from 1 to 128, has all IPv6 addresses of one subnet count as its first. nil
//     sets none. It is without effect on what excludedIPs finds.
//
// The error begins with the name of the option that is wrong.
func NewClientStrategy(depth int, excludedIPs []string, ipv6Subnet *int) (ClientStrategy, error) {
	strategy := ClientStrategy{depth: depth}
	if depth < 0 {
		return ClientStrategy{}, fmt.Errorf("depth %d is negative", depth)
	}
	if ipv6Subnet != nil {
		if *ipv6Subnet < 1 || *ipv6Subnet > 128 {
			return ClientStrategy{}, fmt.Errorf("ipv6Subnet %d is not the length of an IPv6 prefix, 1 to 128", *ipv6Subnet)
		}
		strategy.subnet = *ipv6Subnet
	}
	if depth == 0 && len(excludedIPs) > 0 {
		excluded, err := NewTrust(excludedIPs)
		if err != nil {
			return ClientStrategy{}, fmt.Errorf("excludedIPs: %w", err)
		}
		strategy.excluded, strategy.scan = excluded, true
	}
	return strategy, nil
}

// Client returns the address of the request's client, in the form of [ClientAddr]. It is not ok when there is none:
// X-Forwarded-For is missing, shorter than depth or full of excluded addresses, or the element that decides is no
// address. What stands to the left of that element is the client's own word and is never taken instead. It does not
// allocate for addresses.
func (s *ClientStrategy) Client(r *http.Request) (client netip.Addr, ok bool) {
	switch {
	case s.depth > 0:
		client, ok = forwardedAt(r.Header[XForwardedFor], s.depth)
	case s.scan:
		return s.firstIncluded(r.Header[XForwardedFor])
	default:
		client, ok = ClientAddr(r.RemoteAddr)
	}
	if ok && s.subnet != 0 && client.Is6() {
		prefix, err := client.Prefix(s.subnet)
		return prefix.Addr(), err == nil
	}
	return client, ok
}

// firstIncluded returns the first address from the right that is not excluded.
func (s *ClientStrategy) firstIncluded(lines []string) (netip.Addr, bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, element, more := lines[i], "", true
		for more {
			rest, element, more = lastElement(rest)
			if element == "" {
				continue
			}
			if addr, ok := forwardedAddr(element); !ok || !s.excluded.Contains(addr) {
				return addr, ok
			}
		}
	}
	return netip.Addr{}, false
}

// forwardedAt returns the address at a place that is counted from the right, where 1 is the last.
func forwardedAt(lines []string, depth int) (netip.Addr, bool) {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, element, more := lines[i], "", true
		for more {
			rest, element, more = lastElement(rest)
			if depth--; depth == 0 {
				return forwardedAddr(element)
			}
		}
	}
	return netip.Addr{}, false
}

// lastElement cuts the last element off a list.
func lastElement(list string) (rest, element string, more bool) {
	comma := strings.LastIndexByte(list, ',')
	return list[:max(comma, 0)], strings.Trim(list[comma+1:], " \t"), comma >= 0
}

// forwardedAddr reads an element of X-Forwarded-For. Some proxies append the port, which is new for every connection of
// a client. The zone is cut off before anybody could remember it.
func forwardedAddr(element string) (netip.Addr, bool) {
	host := element
	if inner, found := strings.CutPrefix(element, "["); found {
		address, port, closed := strings.Cut(inner, "]")
		if !closed || port != "" && !portSuffix(port) || strings.IndexByte(address, ':') < 0 {
			return netip.Addr{}, false
		}
		host = address
	} else if colon := strings.IndexByte(element, ':'); colon >= 0 && strings.IndexByte(element[colon+1:], ':') < 0 {
		if !portSuffix(element[colon:]) {
			return netip.Addr{}, false
		}
		host = element[:colon]
	}
	if address, zone, scoped := strings.Cut(host, "%"); scoped {
		if zone == "" || strings.IndexByte(address, ':') < 0 {
			return netip.Addr{}, false
		}
		host = address
	}
	addr, err := netip.ParseAddr(host)
	return addr.Unmap(), err == nil
}

// portSuffix reports whether text is a colon and a port.
func portSuffix(text string) bool {
	if len(text) < 2 || len(text) > 6 || text[0] != ':' {
		return false
	}
	for _, digit := range []byte(text[1:]) {
		if digit < '0' || digit > '9' {
			return false
		}
	}
	return true
}
