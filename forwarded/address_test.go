package forwarded_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/forwarded"
)

func TestClientAddr(t *testing.T) {
	tests := []struct{ remote, want string }{
		{"192.0.2.1:1234", "192.0.2.1"},
		{"192.0.2.1", "192.0.2.1"},
		{"[2001:db8::1]:1234", "2001:db8::1"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"[::ffff:192.0.2.1]:1234", "192.0.2.1"},
		{"[fe80::1%eth0]:1234", "fe80::1"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"fe80::1%eth0", "fe80::1"},
		{"", ""},
		{"@", ""},
		{"example.com:80", ""},
		{"pipe", ""},
	}
	for _, test := range tests {
		got, ok := forwarded.ClientAddr(test.remote)
		if ok != (test.want != "") || ok && got.String() != test.want {
			t.Errorf("ClientAddr(%q) = %v, %v, want %q", test.remote, got, ok, test.want)
		}
	}
}

// FuzzClientAddr has the quick reader agree with that of the standard library wherever it takes anything.
func FuzzClientAddr(f *testing.F) {
	for _, seed := range []string{
		"192.0.2.1:1234", "192.0.2.1:0", "192.0.2.1:65535", "192.0.2.1:65536", "192.0.2.1:01234", "192.0.2.1:00",
		"192.0.2.256:1", "192.0.2.01:1", "0.0.0.0:1", "00.0.0.0:1",
		"192.0.2.1:", "192.0.2:1", "192.0.2.1.1:1", "192.0.2.1:1:1", "192..2.1:1", ".0.2.1:1", "192.0.2.1:99999999999",
		"4294967296.0.0.1:1", "[192.0.2.1]:1", "192.0.2.1:+1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, remote string) {
		got, ok := forwarded.PlainIPv4(remote)
		if pair, err := netip.ParseAddrPort(remote); ok && (err != nil || pair.Addr() != got) {
			t.Errorf("%q is %v, want %v, %v", remote, got, pair, err)
		}
	})
}

func TestTrust(t *testing.T) {
	trust, err := forwarded.NewTrust([]string{
		"192.0.2.1", "10.1.2.3/8", "10.0.0.0/16", "2001:db8::/32", "::ffff:198.51.100.0/120",
		"203.0.113.0/25", "203.0.113.128/25",
	})
	if err != nil {
		t.Fatal(err)
	}
	inside := []string{
		"192.0.2.1", "::ffff:192.0.2.1", "10.0.0.0", "10.255.255.255", "2001:db8::",
		"2001:db8:ffff::1%eth0", "198.51.100.255", "203.0.113.127", "203.0.113.128",
	}
	outside := []string{
		"192.0.2.0", "192.0.2.2", "9.255.255.255", "11.0.0.0", "2001:db7::", "2001:db9::", "198.51.101.0",
		"::1", "203.0.112.255",
	}
	for _, addr := range inside {
		if !trust.Contains(netip.MustParseAddr(addr)) {
			t.Errorf("%s is not trusted", addr)
		}
	}
	for _, addr := range outside {
		if trust.Contains(netip.MustParseAddr(addr)) {
			t.Errorf("%s is trusted", addr)
		}
	}
	if trust.Contains(netip.Addr{}) || (forwarded.Trust{}).Contains(netip.MustParseAddr("127.0.0.1")) {
		t.Error("the zero address, or any by the zero Trust, is trusted")
	}
	if trust.Empty() || !(forwarded.Trust{}).Empty() {
		t.Error("Empty is wrong")
	}
}

func TestNewTrustNamesBadEntries(t *testing.T) {
	_, err := forwarded.NewTrust([]string{"10.0.0.0/8", "10.0.0.0/33", "localhost", "fe80::1%eth0"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, entry := range []string{`"10.0.0.0/33"`, `"localhost"`, `"fe80::1%eth0"`} {
		if !strings.Contains(err.Error(), entry) {
			t.Errorf("%q does not name %s", err, entry)
		}
	}
}

// TestTrustEqualsPrefixes compares the binary search with a search of every prefix.
func TestTrustEqualsPrefixes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	address := func() netip.Addr {
		if random.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, byte(random.IntN(3)), byte(random.IntN(4)), byte(random.IntN(256))})
		}
		return netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::%x", random.IntN(4), random.IntN(16)))
	}
	for range 200 {
		var entries []string
		var prefixes []netip.Prefix
		for range random.IntN(12) {
			addr := address()
			prefix := netip.PrefixFrom(addr, addr.BitLen()-random.IntN(24))
			entries, prefixes = append(entries, prefix.String()), append(prefixes, prefix)
		}
		trust, err := forwarded.NewTrust(entries)
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			addr, want := address(), false
			for _, prefix := range prefixes {
				want = want || prefix.Contains(addr)
			}
			if got := trust.Contains(addr); got != want {
				t.Fatalf("%v contains %v: %v, want %v", entries, addr, got, want)
			}
		}
	}
}

func BenchmarkTrustContains(b *testing.B) {
	var entries []string
	for i := range 64 {
		entries = append(entries, fmt.Sprintf("10.%d.0.0/16", 2*i))
	}
	trust, err := forwarded.NewTrust(entries)
	if err != nil {
		b.Fatal(err)
	}
	addr := netip.MustParseAddr("10.64.1.1")
	b.ReportAllocs()
	for b.Loop() {
		_ = trust.Contains(addr)
	}
}

func BenchmarkClientAddr(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		_, _ = forwarded.ClientAddr("192.0.2.1:1234")
	}
}
