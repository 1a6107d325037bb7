package ipallowlist

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func bits(n int) *int { return &n }

func build(t testing.TB, config dynamic.IPAllowList) *IPAllowList {
	t.Helper()
	list, err := New("list@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// ask returns the status of a request, and the reason in its record.
func ask(t testing.TB, list *IPAllowList, r *http.Request) (status int, reason string) {
	t.Helper()
	record := new(telemetry.Record)
	w := httptest.NewRecorder()
	list.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	})).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	if strings.Contains(w.Body.String(), "list@file") {
		t.Errorf("the answer names the middleware: %q", w.Body)
	}
	return w.Code, record.Reason
}

func TestPeers(t *testing.T) {
	four, six := []string{"192.0.2.0/24", "203.0.113.7"}, []string{"2001:db8:1::/48", "2001:db8:ffff::7"}
	tests := []struct {
		name    string
		sources []string
		subnet  *int
		remote  string
		passes  bool
	}{
		{"in the prefix", four, nil, "192.0.2.200:1", true},
		{"the address", four, nil, "203.0.113.7:1", true},
		{"beside the prefix", four, nil, "192.0.3.0:1", false},
		{"beside the address", four, nil, "203.0.113.8:1", false},
		{"without a port", four, nil, "192.0.2.1", true},
		{"mapped", four, nil, "[::ffff:192.0.2.1]:1", true},
		{"mapped with a zone", four, nil, "[::ffff:192.0.2.1%eth0]:1", true},
		{"mapped source", []string{"::ffff:192.0.2.0/120"}, nil, "192.0.2.1:1", true},
		{"IPv4-compatible is another", four, nil, "[::192.0.2.1]:1", false},
		{"6to4 is another", four, nil, "[2002:c000:0201::]:1", false},
		{"in the IPv6 prefix", six, nil, "[2001:db8:1:2::3]:1", true},
		{"the IPv6 address", six, nil, "[2001:db8:ffff::7]:1", true},
		{"the IPv6 address, spelt long", six, nil, "[2001:0DB8:ffff:0:0:0:0:7]:1", true},
		{"beside the IPv6 prefix", six, nil, "[2001:db8:2::]:1", false},
		{"zone", []string{"fe80::/10"}, nil, "[fe80::1%eth0]:1", true},
		{"host bits of a prefix", []string{"192.0.2.77/24"}, nil, "192.0.2.1:1", true},
		{"all of IPv4", []string{"0.0.0.0/0"}, nil, "198.51.100.1:1", true},
		{"all of IPv4 is not IPv6", []string{"0.0.0.0/0"}, nil, "[2001:db8::1]:1", false},
		{"all of IPv6 is not IPv4", []string{"::/0"}, nil, "198.51.100.1:1", false},
		{"all of IPv6 is not mapped IPv4", []string{"::/0"}, nil, "[::ffff:198.51.100.1]:1", false},
		{"subnet", []string{"2001:db8:1:2::"}, bits(64), "[2001:db8:1:2:3:4:5:6]:1", true},
		{"another subnet", []string{"2001:db8:1:2::"}, bits(64), "[2001:db8:1:3::]:1", false},
		{"subnet and IPv4", four, bits(8), "192.0.2.1:1", true},
		{"Unix socket", []string{"0.0.0.0/0", "::/0"}, nil, "@", false},
		{"no peer", []string{"0.0.0.0/0", "::/0"}, nil, "", false},
		{"a host", []string{"0.0.0.0/0", "::/0"}, nil, "localhost:1", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := dynamic.IPAllowList{SourceRange: test.sources}
			if test.subnet != nil {
				config.IPStrategy = &dynamic.IPStrategy{IPv6Subnet: test.subnet}
			}
			list := build(t, config)
			r := middlewaretest.Request(t, "GET /", "X-Forwarded-For: 192.0.2.1, 203.0.113.7", "X-Real-Ip: 192.0.2.1")
			r.RemoteAddr = test.remote
			status, _ := ask(t, list, r)
			if (status == http.StatusTeapot) != test.passes || !test.passes && status != http.StatusForbidden {
				t.Errorf("status %d", status)
			}
			refused := uint64(1)
			if test.passes {
				refused = 0
			}
			if diff := cmp.Diff(map[string]uint64{"refused": refused}, list.Counts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestStrategies has the places that an ipStrategy takes the address from. How elements are read is the test of the
// strategy itself.
func TestStrategies(t *testing.T) {
	deep := &dynamic.IPStrategy{Depth: 2}
	excluding := &dynamic.IPStrategy{ExcludedIPs: []string{"10.0.0.0/8"}}
	const refused = http.StatusForbidden
	tests := []struct {
		name     string
		strategy *dynamic.IPStrategy
		lines    []string
		status   int
	}{
		{"an empty strategy takes the peer", &dynamic.IPStrategy{}, []string{"192.0.2.1"}, refused},
		{"depth", deep, []string{"192.0.2.1, 10.0.0.1"}, http.StatusTeapot},
		{"depth of another", deep, []string{"192.0.2.1, 198.51.100.1, 10.0.0.1"}, refused},
		{"depth over lines", deep, []string{"192.0.2.1", "10.0.0.1"}, http.StatusTeapot},
		{"depth, list too short", deep, []string{"192.0.2.1"}, refused},
		{"depth, no list", deep, nil, refused},
		{"depth, empty list", deep, []string{" , "}, refused},
		{"depth, garbage before", deep, []string{"unknown, 192.0.2.1, 10.0.0.1"}, http.StatusTeapot},
		{"depth at garbage", deep, []string{"192.0.2.1, unknown, 10.0.0.1"}, refused},
		{"depth at something longer", deep, []string{"192.0.2.1 192.0.2.1, 10.0.0.1"}, refused},
		{"depth at a name", deep, []string{"for=192.0.2.1, 10.0.0.1"}, refused},
		{"excluded", excluding, []string{"192.0.2.1, 10.0.0.2, 10.0.0.1"}, http.StatusTeapot},
		{"not excluded", excluding, []string{"192.0.2.1, 198.51.100.1, 10.0.0.1"}, refused},
		{"all excluded", excluding, []string{"10.0.0.2, 10.0.0.1"}, refused},
		{"garbage ends the search", excluding, []string{"192.0.2.1, unknown, 10.0.0.1"}, refused},
		{"excluded without a list", excluding, nil, refused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := build(t, dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24"}, IPStrategy: test.strategy})
			r := middlewaretest.Request(t, "GET /")
			r.RemoteAddr = "10.0.0.9:1"
			if test.lines != nil {
				r.Header["X-Forwarded-For"] = test.lines
			}
			if status, _ := ask(t, list, r); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for status, want := range map[int]int{0: 403, 200: 200, 401: 401, 404: 404, 444: 444, 599: 599} {
		list := build(t, dynamic.IPAllowList{SourceRange: []string{"10.0.0.0/8"}, RejectStatusCode: status})
		r := middlewaretest.Request(t, "GET /")
		got, reason := ask(t, list, r)
		if got != want || reason != "middleware list@file: the client 192.0.2.1 is not in sourceRange" {
			t.Errorf("%d: %d, %q", status, got, reason)
		}
		r.RemoteAddr = "@"
		got, reason = ask(t, list, r)
		if got != want || reason != "middleware list@file: the address of the client is unknown" {
			t.Errorf("%d: %d, %q", status, got, reason)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	some := []string{"10.0.0.0/8"}
	for want, config := range map[string]dynamic.IPAllowList{
		"ipAllowList.sourceRange is empty":                                                {},
		`ipAllowList.sourceRange: "" is neither`:                                          {SourceRange: []string{""}},
		`ipAllowList.sourceRange: "localhost" is neither an IP address nor a CIDR prefix`: {SourceRange: []string{"10.0.0.0/8", "localhost"}},
		`ipAllowList.sourceRange: "10.0.0.0/33" is neither`:                               {SourceRange: []string{"10.0.0.0/33"}},
		`ipAllowList.sourceRange: "10.0.0.1-10.0.0.9" is neither`:                         {SourceRange: []string{"10.0.0.1-10.0.0.9"}},
		`ipAllowList.sourceRange: "010.0.0.1" is neither`:                                 {SourceRange: []string{"010.0.0.1"}},
		`ipAllowList.sourceRange: "fe80::1%eth0" is neither`:                              {SourceRange: []string{"fe80::1%eth0"}},
		`ipAllowList.sourceRange: "10.0.0.0/8, 192.0.2.1" is neither`:                     {SourceRange: []string{"10.0.0.0/8, 192.0.2.1"}},
		"ipAllowList.rejectStatusCode -1 is not a status that ends a request, 200 to 599": {
			SourceRange:      some,
			RejectStatusCode: -1,
		},
		"ipAllowList.rejectStatusCode 101 is not a status that ends a request, 200 to 599": {
			SourceRange:      some,
			RejectStatusCode: 101,
		},
		"ipAllowList.rejectStatusCode 600 is not": {
			SourceRange:      some,
			RejectStatusCode: 600,
		},
		"ipAllowList.ipStrategy.depth -1 is negative": {
			SourceRange: some,
			IPStrategy:  &dynamic.IPStrategy{Depth: -1},
		},
		"ipAllowList.ipStrategy.ipv6Subnet 0 is not": {
			SourceRange: some,
			IPStrategy:  &dynamic.IPStrategy{IPv6Subnet: bits(0)},
		},
		"ipAllowList.ipStrategy.ipv6Subnet 129 is not": {
			SourceRange: some,
			IPStrategy:  &dynamic.IPStrategy{IPv6Subnet: bits(129)},
		},
		`ipAllowList.ipStrategy.excludedIPs: "proxy" is neither`: {
			SourceRange: some,
			IPStrategy:  &dynamic.IPStrategy{ExcludedIPs: []string{"proxy"}},
		},
	} {
		if list, err := New("list@file", config); list != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, error %v, want %q", config, list, err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	const narrow = " is narrower than ipv6Subnet 64: every client counts as the first address of its subnet, so that " +
		"it allows all of a subnet or none"
	tests := []struct {
		sources  []string
		strategy *dynamic.IPStrategy
		want     []string
	}{
		{sources: []string{"2001:db8::7"}},
		{sources: []string{"2001:db8::7"}, strategy: &dynamic.IPStrategy{Depth: 1}},
		{
			sources:  []string{"2001:db8::/64", "10.0.0.1", "::ffff:10.0.0.1", "::ffff:10.0.0.0/120"},
			strategy: &dynamic.IPStrategy{IPv6Subnet: bits(64)},
		},
		{
			sources: []string{"2001:db8::7", "2001:db8::/65"}, strategy: &dynamic.IPStrategy{IPv6Subnet: bits(64), Depth: 1},
			want: []string{"ipAllowList.sourceRange 2001:db8::7" + narrow, "ipAllowList.sourceRange 2001:db8::/65" + narrow},
		},
		{
			sources: []string{"2001:db8::7"}, strategy: &dynamic.IPStrategy{
				IPv6Subnet:  bits(64),
				ExcludedIPs: []string{"10.0.0.1"},
			},
			want: []string{"ipAllowList.ipStrategy.ipv6Subnet is without effect beside excludedIPs"},
		},
		{
			sources: []string{"2001:db8::7"}, strategy: &dynamic.IPStrategy{Depth: 1, ExcludedIPs: []string{"10.0.0.1"}},
			want: []string{"ipAllowList.ipStrategy.excludedIPs is without effect beside depth"},
		},
	}
	for _, test := range tests {
		list := build(t, dynamic.IPAllowList{SourceRange: test.sources, IPStrategy: test.strategy})
		if diff := cmp.Diff(test.want, list.Warnings()); diff != "" {
			t.Errorf("%v, %+v: %s", test.sources, test.strategy, diff)
		}
	}
}

func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	if diff := cmp.Diff(&dynamic.IPAllowList{SourceRange: []string{"192.0.2.0/24", "2001:db8::/32", "203.0.113.7"}},
		examples["office-only"].IPAllowList); diff != "" {
		t.Error(diff)
	}
	list := build(t, *examples["office-behind-two-proxies"].IPAllowList)
	r := middlewaretest.Request(t, "GET /", "X-Forwarded-For: 192.0.2.1, 10.0.0.1")
	if status, _ := ask(t, list, r); status != http.StatusTeapot {
		t.Errorf("status %d", status)
	}
	r.Header["X-Forwarded-For"] = []string{"192.0.2.1, 198.51.100.1, 10.0.0.1"}
	if status, _ := ask(t, list, r); status != http.StatusNotFound {
		t.Errorf("status %d", status)
	}
	if _, err := NewWhiteList("list@file", *examples["office-only-as-before"].IPWhiteList); err != nil {
		t.Error(err)
	}
}

func TestWhiteList(t *testing.T) {
	list, err := NewWhiteList("list@file", dynamic.IPWhiteList{
		SourceRange: []string{"192.0.2.0/24"}, IPStrategy: &dynamic.IPStrategy{Depth: 1, ExcludedIPs: []string{"10.0.0.1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]int{"192.0.2.7": http.StatusTeapot, "198.51.100.7": http.StatusForbidden} {
		if status, _ := ask(t, list, middlewaretest.Request(t, "GET /", "X-Forwarded-For: "+address)); status != want {
			t.Errorf("%s: status %d", address, status)
		}
	}
	if diff := cmp.Diff([]string{
		"ipWhiteList is deprecated: ipAllowList takes the same options",
		"ipWhiteList.ipStrategy.excludedIPs is without effect beside depth",
	}, list.Warnings()); diff != "" {
		t.Error(diff)
	}
	for want, config := range map[string]dynamic.IPWhiteList{
		"ipWhiteList.sourceRange is empty": {}, `ipWhiteList.sourceRange: "x" is neither`: {SourceRange: []string{"x"}},
		"ipWhiteList.ipStrategy.depth -1 is negative": {
			SourceRange: []string{"::/0"},
			IPStrategy:  &dynamic.IPStrategy{Depth: -1},
		},
	} {
		if _, err := NewWhiteList("list@file", config); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q", config, err, want)
		}
	}
}
