package forwarded

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ClientStrategy selects the client's address of a request (the option ipStrategy of several middlewares). It is an
// immutable value. The zero value selects the peer.
//
// X-Forwarded-For is read as the entrypoint leaves it: only trusted peers can send it, each proxy has appended its
// peer, and the peer of this connection is not in it yet. Several lines are one list.
type ClientStrategy struct {
	depth    int
	excluded Trust
	scan     bool
	trusted  Trust
	walks    bool
	subnet   int // 0 for none
}

// NewTrustingStrategy returns the strategy of real_ip_recursive of nginx: the client is the peer, unless that is one of
// the trusted addresses and CIDR prefixes, of which there must be at least one. Then it is the first address of
// X-Forwarded-For from the right that is not trusted, or the last one before an element that is no address, or the
// leftmost one. ipv6Subnet is as for [NewClientStrategy]. The error begins with the name of the option that is wrong.
func NewTrustingStrategy(trustedIPs []string, ipv6Subnet *int) (ClientStrategy, error) {
	strategy, err := NewClientStrategy(0, nil, ipv6Subnet)
	if err != nil {
		return ClientStrategy{}, err
	}
	if strategy.trusted, err = NewTrust(trustedIPs); err != nil {
		return ClientStrategy{}, fmt.Errorf("trustedIPs: %w", err)
	}
	if strategy.trusted.Empty() {
		return ClientStrategy{}, errors.New("trustedIPs is empty")
	}
	strategy.walks = true
	return strategy, nil
}

// NewClientStrategy checks the options of an ipStrategy:
//
//   - depth, if not 0, selects that element of X-Forwarded-For, counted from the right, where 1 is the last. Empty
//     elements count. It must not be negative, and takes precedence over excludedIPs.
//   - excludedIPs, addresses and CIDR prefixes, selects the first address from the right that is not among them. Empty
//     elements do not count.
//   - ipv6Subnet, a prefix length from 1 to 128, maps all IPv6 addresses of one subnet to its first. nil disables it.
//     It has no effect on excludedIPs.
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

// Client returns the address of the request's client, in the form of [ClientAddr]. ok is false if there is none:
// X-Forwarded-For is missing, shorter than depth or full of excluded addresses, or the selected element is no address.
// Elements to the left of it are not verified and never used. It does not allocate for addresses.
func (s *ClientStrategy) Client(r *http.Request) (client netip.Addr, ok bool) {
	switch {
	case s.depth > 0:
		client, ok = forwardedAt(r.Header[XForwardedFor], s.depth)
	case s.scan:
		return s.firstIncluded(r.Header[XForwardedFor])
	case s.walks:
		if client, ok = ClientAddr(r.RemoteAddr); ok && s.trusted.Contains(client) {
			client = s.behind(client, r.Header[XForwardedFor])
		}
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

// behind returns the client that a trusted address stands for.
func (s *ClientStrategy) behind(client netip.Addr, lines []string) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		rest, element, more := lines[i], "", true
		for more {
			rest, element, more = lastElement(rest)
			if element == "" {
				continue
			}
			addr, ok := forwardedAddr(element)
			if !ok {
				return client
			}
			if client = addr; !s.trusted.Contains(client) {
				return client
			}
		}
	}
	return client
}

// forwardedAt returns the address at a depth, where 1 is the last element.
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

// lastElement splits off the last element of a list.
func lastElement(list string) (rest, element string, more bool) {
	comma := strings.LastIndexByte(list, ',')
	return list[:max(comma, 0)], strings.Trim(list[comma+1:], " \t"), comma >= 0
}

// forwardedAddr parses an element of X-Forwarded-For. Some proxies append the port, which is new for every connection
// of a client. Zones are removed, since netip interns them.
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
