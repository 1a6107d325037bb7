package forwarded_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/forwarded"
)

func subnet(bits int) *int { return &bits }

// from returns a request of 192.0.2.9 with the lines of X-Forwarded-For.
func from(lines ...string) *http.Request {
	r := &http.Request{RemoteAddr: "192.0.2.9:1234", Header: http.Header{}}
	if lines != nil {
		r.Header[forwarded.XForwardedFor] = lines
	}
	return r
}

func TestClientStrategy(t *testing.T) {
	four := []string{"10.0.0.1,11.0.0.1,12.0.0.1,13.0.0.1"}
	tests := []struct {
		name     string
		depth    int
		excluded []string
		subnet   *int
		lines    []string
		want     string
	}{
		{name: "the peer", lines: four, want: "192.0.2.9"},
		{name: "the peer, no list", want: "192.0.2.9"},
		{name: "an empty list of excluded addresses is none", excluded: []string{}, lines: four, want: "192.0.2.9"},
		{name: "the last", depth: 1, lines: four, want: "13.0.0.1"},
		{name: "the third from the right", depth: 3, lines: four, want: "11.0.0.1"},
		{name: "the first", depth: 4, lines: four, want: "10.0.0.1"},
		{name: "deeper than the list", depth: 5, lines: four},
		{name: "depth without a list", depth: 1},
		{name: "depth in an empty list", depth: 1, lines: []string{""}},
		{name: "depth over lines", depth: 3, lines: []string{"10.0.0.1, 11.0.0.1", "12.0.0.1", "13.0.0.1"}, want: "11.0.0.1"},
		{name: "depth counts empty elements", depth: 3, lines: []string{"10.0.0.1, ,13.0.0.1"}, want: "10.0.0.1"},
		{name: "depth at an empty element", depth: 2, lines: []string{"10.0.0.1, ,13.0.0.1"}},
		{name: "depth at garbage", depth: 2, lines: []string{"10.0.0.1, unknown, 13.0.0.1"}},
		{name: "depth wins over excluded addresses", depth: 1, excluded: []string{"13.0.0.1"}, lines: four, want: "13.0.0.1"},
		{
			name: "excluded addresses are not read beside depth", depth: 1, excluded: []string{"nonsense"}, lines: four,
			want: "13.0.0.1",
		},
		{name: "two excluded", excluded: []string{"12.0.0.1", "13.0.0.1"}, lines: four, want: "11.0.0.1"},
		{name: "one excluded", excluded: []string{"15.0.0.1", "13.0.0.1"}, lines: four, want: "12.0.0.1"},
		{name: "excluded behind one that is not", excluded: []string{"10.0.0.1", "13.0.0.1"}, lines: four, want: "12.0.0.1"},
		{name: "none excluded", excluded: []string{"15.0.0.1", "16.0.0.1"}, lines: four, want: "13.0.0.1"},
		{name: "all excluded", excluded: []string{"10.0.0.1", "11.0.0.0/8"}, lines: []string{"10.0.0.1,11.0.0.1"}},
		{name: "excluded without a list", excluded: []string{"10.0.0.1"}},
		{name: "excluded in an empty list", excluded: []string{"10.0.0.1"}, lines: []string{" , "}},
		{name: "excluded over lines", excluded: []string{"12.0.0.0/7"}, lines: []string{
			"10.0.0.1, 11.0.0.1", "12.0.0.1",
			"13.0.0.1",
		}, want: "11.0.0.1"},
		{
			name: "excluded skips empty elements", excluded: []string{"13.0.0.1"}, lines: []string{"11.0.0.1,, ,13.0.0.1,"},
			want: "11.0.0.1",
		},
		{name: "excluded stops at garbage", excluded: []string{"13.0.0.1"}, lines: []string{"11.0.0.1, unknown, 13.0.0.1"}},
		{
			name: "an excluded address in another form", excluded: []string{"13.0.0.1"},
			lines: []string{"11.0.0.1, ::ffff:13.0.0.1"}, want: "11.0.0.1",
		},
		{
			name: "an excluded address with a port", excluded: []string{"13.0.0.1"}, lines: []string{"11.0.0.1, 13.0.0.1:443"},
			want: "11.0.0.1",
		},
		{name: "subnet of 64", depth: 1, subnet: subnet(64), lines: []string{"::abcd:1111:2222:3333"}, want: "::"},
		{name: "subnet of 80", depth: 1, subnet: subnet(80), lines: []string{"::abcd:1111:2222:3333"}, want: "::abcd:0:0:0"},
		{
			name: "subnet of 96", depth: 1, subnet: subnet(96), lines: []string{"::abcd:1111:2222:3333"},
			want: "::abcd:1111:0:0",
		},
		{name: "subnet of 1", depth: 1, subnet: subnet(1), lines: []string{"ffff::1"}, want: "8000::"},
		{name: "subnet of 128", depth: 1, subnet: subnet(128), lines: []string{"2001:db8::1"}, want: "2001:db8::1"},
		{name: "subnet and IPv4", depth: 1, subnet: subnet(8), lines: []string{"10.0.0.1"}, want: "10.0.0.1"},
		{name: "subnet and mapped IPv4", depth: 1, subnet: subnet(8), lines: []string{"::ffff:10.0.0.1"}, want: "10.0.0.1"},
		{name: "subnet of the peer", subnet: subnet(24), lines: four, want: "192.0.2.9"},
		{
			name: "subnet beside excluded addresses", excluded: []string{"13.0.0.1"}, subnet: subnet(64),
			lines: []string{"2001:db8::1, 13.0.0.1"}, want: "2001:db8::1",
		},
		{name: "zone", depth: 1, lines: []string{"fe80::1%eth0"}, want: "fe80::1"},
		{name: "spaces", depth: 2, lines: []string{" \t10.0.0.1\t , 13.0.0.1"}, want: "10.0.0.1"},
		{name: "port", depth: 1, lines: []string{"10.0.0.1:55000"}, want: "10.0.0.1"},
		{name: "IPv6 in brackets", depth: 1, lines: []string{"[2001:db8::1]"}, want: "2001:db8::1"},
		{name: "IPv6 with a port", depth: 1, lines: []string{"[2001:db8::1]:55000"}, want: "2001:db8::1"},
		{name: "no port", depth: 1, lines: []string{"10.0.0.1:"}},
		{name: "bad port", depth: 1, lines: []string{"10.0.0.1:http"}},
		{name: "open bracket", depth: 1, lines: []string{"[2001:db8::1"}},
		{name: "behind the bracket", depth: 1, lines: []string{"[2001:db8::1]x"}},
		{name: "IPv4 in brackets", depth: 1, lines: []string{"[10.0.0.1]"}},
		{name: "IPv4 with a zone", depth: 1, lines: []string{"10.0.0.1%eth0"}},
		{name: "empty zone", depth: 1, lines: []string{"fe80::1%"}},
		{name: "quotes", depth: 1, lines: []string{`"10.0.0.1"`}},
		{name: "leading zeros", depth: 1, lines: []string{"010.0.0.1"}},
		{name: "prefix", depth: 1, lines: []string{"10.0.0.0/8"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			strategy, err := forwarded.NewClientStrategy(test.depth, test.excluded, test.subnet)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := strategy.Client(from(test.lines...))
			if ok != (test.want != "") || ok && got.String() != test.want {
				t.Errorf("the client is %v, %v, want %q", got, ok, test.want)
			}
		})
	}
}

// TestTrustingStrategy follows X-Forwarded-For as nginx does, from 192.0.2.9.
func TestTrustingStrategy(t *testing.T) {
	for name, test := range map[string]struct {
		trusted []string
		subnet  *int
		lines   []string
		want    string
	}{
		"an untrusted peer": {[]string{"10.0.0.0/8"}, nil, []string{"203.0.113.7"}, "192.0.2.9"},
		"a trusted peer":    {[]string{"192.0.2.0/24"}, nil, []string{"10.0.0.1, 203.0.113.7"}, "203.0.113.7"},
		"no list":           {[]string{"192.0.2.0/24"}, nil, nil, "192.0.2.9"},
		"an empty list":     {[]string{"192.0.2.0/24"}, nil, []string{" , "}, "192.0.2.9"},
		"behind two": {
			[]string{"192.0.2.9", "10.0.0.0/8"}, nil, []string{"1.2.3.4, 203.0.113.7", "10.0.0.1"}, "203.0.113.7",
		},
		"all are trusted":           {[]string{"0.0.0.0/0"}, nil, []string{"1.2.3.4, 203.0.113.7"}, "1.2.3.4"},
		"garbage ends it":           {[]string{"0.0.0.0/0"}, nil, []string{"1.2.3.4, unknown, 203.0.113.7"}, "203.0.113.7"},
		"garbage at the end":        {[]string{"0.0.0.0/0"}, nil, []string{"1.2.3.4, unknown"}, "192.0.2.9"},
		"garbage behind the client": {[]string{"192.0.2.9"}, nil, []string{"unknown, 203.0.113.7"}, "203.0.113.7"},
		"another family is untrusted": {
			[]string{"0.0.0.0/0"}, nil, []string{"1.2.3.4, 2001:db8::1, 203.0.113.7"}, "2001:db8::1",
		},
		"subnet": {[]string{"192.0.2.9"}, subnet(64), []string{"2001:db8::1"}, "2001:db8::"},
	} {
		strategy, err := forwarded.NewTrustingStrategy(test.trusted, test.subnet)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := strategy.Client(from(test.lines...)); !ok || got.String() != test.want {
			t.Errorf("%s: the client is %v, %v, want %s", name, got, ok, test.want)
		}
		if got, ok := strategy.Client(&http.Request{RemoteAddr: "@"}); ok {
			t.Errorf("%s: the client of a Unix socket is %v", name, got)
		}
	}
	for want, trusted := range map[string][]string{"trustedIPs is empty": nil, `trustedIPs: "local" is`: {"local"}} {
		if _, err := forwarded.NewTrustingStrategy(trusted, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if _, err := forwarded.NewTrustingStrategy([]string{"10.0.0.1"}, subnet(0)); err == nil {
		t.Error("a subnet of 0 bits is accepted")
	}
}

func TestCommon(t *testing.T) {
	ranges := func(entries ...string) []forwarded.Range {
		list, err := forwarded.ParseRanges(entries...)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, test := range []struct{ a, b, want []forwarded.Range }{
		{ranges("10.0.0.0/8", "::/0"), ranges("0.0.0.0/0"), ranges("10.0.0.0/8")},
		{ranges("0.0.0.0/0"), ranges("10.0.0.0/8", "10.0.0.0/8"), ranges("10.0.0.0/8")},
		{ranges("10.1.0.0/16", "192.0.2.1"), ranges("10.0.0.0/8", "192.0.2.0/24"), ranges("10.1.0.0/16", "192.0.2.1")},
		{ranges("10.0.0.0/8"), ranges("11.0.0.0/8"), nil},
		{nil, ranges("11.0.0.0/8"), nil},
	} {
		if got := forwarded.Common(test.a, test.b); !slices.Equal(got, test.want) {
			t.Errorf("%v and %v have %v in common, want %v", test.a, test.b, got, test.want)
		}
	}
}

func TestClientStrategyOfThePeer(t *testing.T) {
	grouped, err := forwarded.NewClientStrategy(0, nil, subnet(64))
	if err != nil {
		t.Fatal(err)
	}
	for remote, want := range map[string]string{
		"[2001:db8::1:2:3]:443": "2001:db8::", "[fe80::1%eth0]:1": "fe80::", "[::ffff:10.0.0.1]:1": "10.0.0.1", "@": "",
		"": "",
	} {
		got, ok := grouped.Client(&http.Request{RemoteAddr: remote})
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("the client of %q is %v, %v, want %q", remote, got, ok, want)
		}
	}
}

func TestClientStrategyRefuses(t *testing.T) {
	tests := []struct {
		depth    int
		excluded []string
		subnet   *int
		want     string
	}{
		{depth: -1, want: "depth -1 is negative"},
		{subnet: subnet(0), want: "ipv6Subnet 0 is not the length"},
		{subnet: subnet(-64), want: "ipv6Subnet -64 is not the length"},
		{subnet: subnet(129), want: "ipv6Subnet 129 is not the length"},
		{depth: 1, subnet: subnet(129), want: "ipv6Subnet 129"},
		{excluded: []string{"10.0.0.1"}, subnet: subnet(0), want: "ipv6Subnet 0"},
		{excluded: []string{"10.0.0.1", "10.0.0.0/40", "local"}, want: `excludedIPs: "10.0.0.0/40" is neither`},
	}
	for _, test := range tests {
		_, err := forwarded.NewClientStrategy(test.depth, test.excluded, test.subnet)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: error %v, want %q", test, err, test.want)
		}
	}
}

func TestClientStrategyDoesNotAllocate(t *testing.T) {
	byDepth, _ := forwarded.NewClientStrategy(3, nil, subnet(64))
	byExclusion, _ := forwarded.NewClientStrategy(0, []string{"10.0.0.0/8"}, nil)
	byTrust, _ := forwarded.NewTrustingStrategy([]string{"10.0.0.0/8", "192.0.2.0/24"}, nil)
	r := from("2001:db8::1, fe80::1%eth0, [2001:db8::2]:443", "10.0.0.1:80,10.0.0.2")
	for name, strategy := range map[string]*forwarded.ClientStrategy{
		"peer": {}, "depth": &byDepth, "excluded": &byExclusion, "trusted": &byTrust,
	} {
		if allocations := testing.AllocsPerRun(100, func() { _, _ = strategy.Client(r) }); allocations != 0 {
			t.Errorf("%s: %v allocations", name, allocations)
		}
	}
}

// FuzzForwardedFor compares with a reader that splits the whole list first.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{
		"10.0.0.1, 11.0.0.1", "", ",", "a,,b", "10.0.0.1:80,[::1]:80,::1", "fe80::1%eth0", "[::1", "]", "%", "::%:%",
		"10.0.0.1\n10.0.0.2, 192.0.2.1",
		"::ffff:10.0.0.1", "1.2.3.4.5", " , \t,\n,", "[1.2.3.4]:1", "[::1%a]:1", "::1:80", "1:2",
	} {
		f.Add(seed, uint8(1))
		f.Add(seed, uint8(3))
	}
	trusted := []string{"10.0.0.0/8", "::1"}
	f.Fuzz(func(t *testing.T, text string, depth uint8) {
		lines := strings.Split(text, "\n")
		r := from(lines...)
		elements := strings.Split(strings.Join(lines, ","), ",")
		slices.Reverse(elements)

		byDepth, err := forwarded.NewClientStrategy(int(depth), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want netip.Addr
		switch {
		case depth == 0:
			want = netip.MustParseAddr("192.0.2.9")
		case int(depth) <= len(elements):
			want = oracle(elements[depth-1])
		}
		check(t, &byDepth, r, want)

		byExclusion, err := forwarded.NewClientStrategy(0, trusted, nil)
		if err != nil {
			t.Fatal(err)
		}
		excluded, err := forwarded.NewTrust(trusted)
		if err != nil {
			t.Fatal(err)
		}
		want = netip.Addr{}
		for _, element := range elements {
			if strings.Trim(element, " \t") == "" {
				continue
			}
			if want = oracle(element); !excluded.Contains(want) {
				break
			}
			want = netip.Addr{}
		}
		check(t, &byExclusion, r, want)
	})
}

// oracle reads an element by the standard library alone: an address, or one with a port. It is the zero address for
// anything else.
func oracle(element string) netip.Addr {
	element = strings.Trim(element, " \t")
	if addr, err := netip.ParseAddr(element); err == nil {
		return addr.Unmap().WithZone("")
	}
	if pair, err := netip.ParseAddrPort(element); err == nil {
		return pair.Addr().Unmap().WithZone("")
	}
	if inner, ok := strings.CutPrefix(element, "["); ok && strings.HasSuffix(inner, "]") {
		if addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err == nil && addr.Is6() {
			return addr.Unmap().WithZone("")
		}
	}
	return netip.Addr{}
}

func check(t *testing.T, strategy *forwarded.ClientStrategy, r *http.Request, want netip.Addr) {
	t.Helper()
	got, ok := strategy.Client(r)
	if got != want || ok != want.IsValid() {
		t.Fatalf("%q, %+v: the client is %v, %v, want %v", r.Header[forwarded.XForwardedFor], strategy, got, ok, want)
	}
}

func BenchmarkClientStrategy(b *testing.B) {
	byDepth, _ := forwarded.NewClientStrategy(2, nil, nil)
	byExclusion, _ := forwarded.NewClientStrategy(0, []string{"10.0.0.0/8", "192.168.0.0/16"}, nil)
	r := from("203.0.113.7, 198.51.100.1, 10.0.0.1")
	for name, strategy := range map[string]*forwarded.ClientStrategy{
		"peer": {}, "depth": &byDepth, "excluded": &byExclusion,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = strategy.Client(r)
			}
		})
	}
}
