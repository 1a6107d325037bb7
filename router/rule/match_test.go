package rule

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

func mustParse(tb testing.TB, text string) *Rule {
	tb.Helper()
	parsed, err := Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return parsed
}

// TestMatchers decides requests that differ from GET http://a.example.com/ in what they name.
func TestMatchers(t *testing.T) {
	host := func(h string) Request { return Request{Host: h} }
	path := func(p string) Request { return Request{Path: p} }
	query := func(q string) Request { return Request{RawQuery: q} }
	header := func(pairs ...string) Request {
		r := Request{Header: http.Header{}}
		for i := 0; i < len(pairs); i += 2 {
			r.Header.Add(pairs[i], pairs[i+1])
		}
		return r
	}
	client := func(ip string) Request { return Request{Client: netip.MustParseAddr(ip)} }
	tests := []struct {
		rule string
		req  Request
		want bool
	}{
		{"Host(`a.example.com`)", host("a.example.com"), true},
		{"Host(`A.Example.com`)", host("a.example.com"), true},
		{"Host(`a.example.com.`)", host("a.example.com"), true},
		{"Host(`a.example.com`)", host("b.example.com"), false},
		{"Host(`a.example.com`)", host("aa.example.com"), false},
		{"Host(`a.example.com`)", host(""), false},
		{"Host(`[::1]`)", host("::1"), true},
		{"Host(`2001:DB8:0:0::1`)", host("2001:db8::1"), true},
		{"Host(`*`)", host("a.example.com"), true},
		{"Host(`*`)", host(""), true},
		{"Host(`*.example.com`)", host("a.example.com"), true},
		{"Host(`*.example.com`)", host("example.com"), false},
		{"Host(`*.example.com`)", host(".example.com"), false},
		{"Host(`*.example.com`)", host("b.a.example.com"), false},
		{"Host(`*.example.com`)", host("a.example.org"), false},
		{"HostRegexp(`^[A-Z]\\.example\\.com$`)", host("a.example.com"), true},
		{"HostRegexp(`^a|B$`)", host("xb"), true},
		{"HostRegexp(`example`)", host("a.example.com"), true},
		{"HostRegexp(`^example`)", host("a.example.com"), false},
		{"HostRegexp(``)", host(""), true},

		{"Path(`/a`)", path("/a"), true},
		{"Path(`/a`)", path("/A"), false},
		{"Path(`/a`)", path("/a/"), false},
		{"Path(`/a%2Fb`)", path("/a%2Fb"), true},
		{"PathPrefix(`/a`)", path("/a"), true},
		{"PathPrefix(`/a`)", path("/ab"), true},
		{"PathPrefix(`/a`)", path("/a/b"), true},
		{"PathPrefix(`/a`)", path("/"), false},
		{"PathPrefix(`/a/`)", path("/a"), false},
		{"PathPrefix(`/`)", path("*"), false},
		{"PathPrefix(`/`)", path(""), false},
		{"PathRegexp(`[0-9]+`)", path("/a/17/b"), true},
		{"PathRegexp(`^/[0-9]+$`)", path("/17/b"), false},
		{"PathRegexp(`^/a`)", path("/A"), false},

		{"Method(`GET`)", Request{Method: "GET"}, true},
		{"Method(`get`)", Request{Method: "GET"}, true},
		{"Method(`GET`)", Request{Method: "get"}, false},
		{"Method(`GET`)", Request{Method: "HEAD"}, false},

		{"Header(`x-a`, `b`)", header("X-A", "b"), true},
		{"Header(`X-A`, `b`)", header("X-A", "a", "X-A", "b"), true},
		{"Header(`X-A`, `b`)", header("X-A", "B"), false},
		{"Header(`X-A`, ``)", header("X-A", ""), true},
		{"Header(`X-A`, ``)", header(), false},
		{"Header(`Host`, `a.example.com`)", host("a.example.com"), false},
		{"HeaderRegexp(`X-A`, `^b+$`)", header("X-A", "a", "X-A", "bb"), true},
		{"HeaderRegexp(`X-A`, `^b+$`)", header("X-A", "abb"), false},
		{"HeaderRegexp(`X-A`, ``)", header("X-B", ""), false},

		{"Query(`a`, `b`)", query("a=b"), true},
		{"Query(`a`, `b`)", query("a=a&a=b"), true},
		{"Query(`a`, `b c`)", query("a=b%20c"), true},
		{"Query(`a`, `b c`)", query("a=b+c"), true},
		{"Query(`a`, `b`)", query("a=B"), false},
		{"Query(`a`, `b`)", query("x=%zz&a=b"), true},
		{"Query(`a`)", query("a"), true},
		{"Query(`a`)", query("a="), true},
		{"Query(`a`)", query("a=b"), false},
		{"Query(`a`)", query("b"), false},
		{"QueryRegexp(`a`, `^[0-9]+$`)", query("a=b&a=17"), true},
		{"QueryRegexp(`a`, `^[0-9]+$`)", query("a=b"), false},
		{"QueryRegexp(`a`, ``)", query("b=1"), false},
		{"QueryRegexp(`a`)", query("a"), true},
		{"QueryRegexp(`a`)", query("a=b"), false},

		{"ClientIP(`10.0.0.1`)", client("10.0.0.1"), true},
		{"ClientIP(`10.0.0.1`)", client("10.0.0.2"), false},
		{"ClientIP(`10.9.9.9/8`)", client("10.0.0.1"), true},
		{"ClientIP(`10.0.0.0/8`)", client("::ffff:10.0.0.1"), true},
		{"ClientIP(`::ffff:10.0.0.0/104`)", client("10.0.0.1"), true},
		{"ClientIP(`::ffff:10.0.0.1`)", client("10.0.0.1"), true},
		{"ClientIP(`10.0.0.0/8`)", client("11.0.0.1"), false},
		{"ClientIP(`0.0.0.0/0`)", client("2001:db8::1"), false},
		{"ClientIP(`2001:db8::/32`)", client("2001:db8::1"), true},
		{"ClientIP(`fe80::/10`)", client("fe80::1%eth0"), true},
		{"ClientIP(`0.0.0.0/0`)", Request{}, false},
		{"ClientIP(`::/0`)", Request{}, false},
	}
	for _, test := range tests {
		if got := mustParse(t, test.rule).Match(&test.req); got != test.want {
			t.Errorf("%s: got %t for %+v", test.rule, got, test.req)
		}
	}
}

// TestOperators decides all eight truth values of A, B and C.
func TestOperators(t *testing.T) {
	tests := []struct {
		rule string
		want func(a, b, c bool) bool
	}{
		{"A && B", func(a, b, _ bool) bool { return a && b }},
		{"A || B", func(a, b, _ bool) bool { return a || b }},
		{"!A", func(a, _, _ bool) bool { return !a }},
		{"!!A", func(a, _, _ bool) bool { return a }},
		{"A || B && C", func(a, b, c bool) bool { return a || b && c }},
		{"A && B || C", func(a, b, c bool) bool { return a && b || c }},
		{"(A || B) && C", func(a, b, c bool) bool { return (a || b) && c }},
		{"!A && B", func(a, b, _ bool) bool { return !a && b }},
		{"!(A && B) || C", func(a, b, c bool) bool { return !(a && b) || c }},
		{"!(A || !(B && C))", func(a, b, c bool) bool { return !(a || !(b && c)) }},
		{"A && (B || (C && !A) || !C) && (A || B)", func(a, b, c bool) bool { return a && (b || (c && !a) || !c) && (a || b) }},
	}
	for _, test := range tests {
		text := strings.NewReplacer("A", "Host(`a`)", "B", "PathPrefix(`/b`)", "C", "Header(`C`, `c`)").Replace(test.rule)
		parsed := mustParse(t, text)
		for bit := range 8 {
			a, b, c := bit&1 != 0, bit&2 != 0, bit&4 != 0
			req := Request{Header: http.Header{}}
			if a {
				req.Host = "a"
			}
			if b {
				req.Path = "/b"
			}
			if c {
				req.Header.Set("C", "c")
			}
			if got := parsed.Match(&req); got != test.want(a, b, c) {
				t.Errorf("%s: got %t for a=%t b=%t c=%t", test.rule, got, a, b, c)
			}
			if got, steps := parsed.Explain(&req); got != test.want(a, b, c) || len(steps) == 0 {
				t.Errorf("%s: Explain got %t and %v for a=%t b=%t c=%t", test.rule, got, steps, a, b, c)
			}
		}
	}
}

func TestMatchAllocatesNothing(t *testing.T) {
	parsed := mustParse(t, "Host(`*.example.com`) && (PathPrefix(`/a`) || PathRegexp(`^/b[0-9]`)) && !Method(`POST`) &&"+
		" Header(`X-A`, `b`) && HeaderRegexp(`X-A`, `^b`) && HostRegexp(`^a`) && ClientIP(`10.0.0.0/8`)")
	req := Request{
		Host: "a.example.com", Path: "/b1", Method: "GET",
		Header: http.Header{"X-A": {"a", "b"}}, Client: netip.MustParseAddr("::ffff:10.0.0.1"),
	}
	if !parsed.Match(&req) {
		t.Fatal("the request does not match, the test would measure nothing")
	}
	if n := testing.AllocsPerRun(100, func() { parsed.Match(&req) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
}

func TestQueryIsParsedOncePerRequest(t *testing.T) {
	parsed := mustParse(t, "Query(`a`, `1`) && Query(`b`, `2`) && QueryRegexp(`c`, `3`)")
	req := Request{RawQuery: "a=1&b=2&c=3"}
	parsed.Match(&req)
	if n := testing.AllocsPerRun(100, func() { parsed.Match(&req) }); n != 0 {
		t.Errorf("got %v allocations on a request whose query was parsed before, want none", n)
	}
	req.Reset()
	if parsed.Match(&req) {
		t.Error("a request that was reset still has the old query")
	}
}
