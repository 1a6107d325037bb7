package ipallowlist

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// FuzzForwardedFor has clients write whatever they like to the left of what two proxies have appended.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{
		"192.0.2.1", "192.0.2.1, 192.0.2.1", "for=192.0.2.1", "[192.0.2.1]", "192.0.2.1\n192.0.2.1", "unknown", ",",
		"::ffff:192.0.2.1", "192.0.2.1,,,", "\"",
	} {
		f.Add(seed)
	}
	var lists []*IPAllowList
	for _, strategy := range []dynamic.IPStrategy{{Depth: 2}, {ExcludedIPs: []string{"10.0.0.0/8"}}, {}} {
		lists = append(lists, build(f, dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24"}, IPStrategy: &strategy}))
	}
	f.Fuzz(func(t *testing.T, claimed string) {
		for _, list := range lists {
			r := middlewaretest.Request(t, "GET /")
			r.RemoteAddr = "10.0.0.2:1"
			lines := strings.Split(claimed, "\n")
			r.Header["X-Forwarded-For"] = append(lines, "198.51.100.1, 10.0.0.1")
			if status, _ := ask(t, list, r); status != http.StatusForbidden {
				t.Errorf("%q is let in with status %d", claimed, status)
			}
		}
	})
}

// FuzzSources compares the behaviour of definitions with the standard library.
func FuzzSources(f *testing.F) {
	f.Add("192.0.2.0/24", "192.0.2.1:1", 0, 64, 403)
	f.Add("2001:db8::/32", "[2001:db8::1%eth0]:1", 0, 64, 0)
	f.Add("::ffff:0:0/96", "[::ffff:1.2.3.4]:1", 1, 0, 99)
	f.Add("/", "@", -1, 129, 200)
	f.Fuzz(func(t *testing.T, source, remote string, depth, subnet, status int) {
		config := dynamic.IPAllowList{
			SourceRange: []string{source}, RejectStatusCode: status, IPStrategy: &dynamic.IPStrategy{
				Depth:      depth,
				IPv6Subnet: &subnet,
			},
		}
		list, err := New("list@file", config)
		if err != nil {
			if list != nil || !strings.HasPrefix(err.Error(), "ipAllowList.") {
				t.Fatalf("%v, error %v", list, err)
			}
			return
		}
		r := middlewaretest.Request(t, "GET /")
		r.RemoteAddr = remote
		got, _ := ask(t, list, r)
		if depth == 0 && status != http.StatusTeapot && (got == http.StatusTeapot) != contains(source, remote, subnet) {
			t.Errorf("%s is answered with %d where %s is listed, by subnets of %d", remote, got, source, subnet)
		}
	})
}

// contains is the standard library's result.
func contains(source, remote string, subnet int) bool {
	pair, err := netip.ParseAddrPort(remote)
	peer := pair.Addr()
	if err != nil {
		peer, err = netip.ParseAddr(strings.Trim(remote, "[]"))
	}
	prefix, prefixErr := netip.ParsePrefix(source)
	if addr, err := netip.ParseAddr(source); err == nil {
		prefix, prefixErr = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	if err != nil || prefixErr != nil {
		return false
	}
	if addr := prefix.Addr(); addr.Is4In6() && prefix.Bits() >= 96 {
		prefix = netip.PrefixFrom(addr.Unmap(), prefix.Bits()-96)
	}
	peer = peer.Unmap().WithZone("")
	if peer.Is6() {
		grouped, _ := peer.Prefix(subnet)
		peer = grouped.Addr()
	}
	return prefix.Contains(peer)
}
