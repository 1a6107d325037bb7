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

// decision is a rule, a request, and whether the rule accepts it.
type decision struct {
	rule string
	req  Request
	want bool
}

func check(t *testing.T, decisions []decision) {
	t.Helper()
	for _, d := range decisions {
		if got := mustParse(t, d.rule).Match(&d.req); got != d.want {
			t.Errorf("%s: got %t for %+v", d.rule, got, d.req)
		}
	}
}

func onHost(h string) Request { return Request{Host: h} }

func onPath(p string) Request { return Request{Path: p} }

func withQuery(q string) Request { return Request{RawQuery: q} }

func from(ip string) Request { return Request{Client: netip.MustParseAddr(ip)} }

func withHeader(pairs ...string) Request {
	r := Request{Header: http.Header{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Header.Add(pairs[i], pairs[i+1])
	}
	return r
}

func TestHostMatchers(t *testing.T) {
	check(t, []decision{
		{"Host(`a.example.com`)", onHost("a.example.com"), true},
		{"Host(`A.Example.com`)", onHost("a.example.com"), true},
		{"Host(`a.example.com.`)", onHost("a.example.com"), true},
		{"Host(`a.example.com`)", onHost("b.example.com"), false},
		{"Host(`a.example.com`)", onHost("aa.example.com"), false},
		{"Host(`a.example.com`)", onHost(""), false},
		{"Host(`[::1]`)", onHost("::1"), true},
		{"Host(`2001:DB8:0:0::1`)", onHost("2001:db8::1"), true},
		{"Host(`*`)", onHost("a.example.com"), true},
		{"Host(`*`)", onHost(""), true},
		{"Host(`*.example.com`)", onHost("a.example.com"), true},
		{"Host(`*.example.com`)", onHost("example.com"), false},
		{"Host(`*.example.com`)", onHost(".example.com"), false},
		{"Host(`*.example.com`)", onHost("b.a.example.com"), false},
		{"Host(`*.example.com`)", onHost("a.example.org"), false},
		{"HostRegexp(`^[a-z]\\.example\\.com$`)", onHost("a.example.com"), true},
		{"HostRegexp(`^[A-Z]\\.example\\.com$`)", onHost("a.example.com"), false},
		{"HostRegexp(`(?i)^[A-Z]\\.example\\.com$`)", onHost("a.example.com"), true},
		{"HostRegexp(`^a|B$`)", onHost("xb"), false},
		{"HostRegexp(`^a|b$`)", onHost("xb"), true},
		{"HostRegexp(`example`)", onHost("a.example.com"), true},
		{"HostRegexp(`^example`)", onHost("a.example.com"), false},
		{"HostRegexp(`^$`)", onHost(""), true},
		{"HostSuffix(`example.com`)", onHost("a.example.com"), true},
		{"HostSuffix(`Example.com.`)", onHost("a.example.com"), true},
		{"HostSuffix(`example.com`)", onHost("b.a.example.com"), true},
		{"HostSuffix(`example.com`)", onHost("example.com"), false},
		{"HostSuffix(`example.com`)", onHost(".example.com"), false},
		{"HostSuffix(`example.com`)", onHost("aexample.com"), false},
		{"HostSuffix(`example.com`)", onHost("a.example.org"), false},
		{"HostSuffix(`example.com`)", onHost(""), false},
	})
}

func TestPathMatchers(t *testing.T) {
	check(t, []decision{
		{"Path(`/a`)", onPath("/a"), true},
		{"Path(`/a`)", onPath("/A"), false},
		{"Path(`/a`)", onPath("/a/"), false},
		{"Path(`/a%2Fb`)", onPath("/a%2Fb"), true},
		{"PathPrefix(`/a`)", onPath("/a"), true},
		{"PathPrefix(`/a`)", onPath("/ab"), true},
		{"PathPrefix(`/a`)", onPath("/a/b"), true},
		{"PathPrefix(`/a`)", onPath("/"), false},
		{"PathPrefix(`/a/`)", onPath("/a"), false},
		{"PathPrefix(`/`)", onPath("*"), false},
		{"PathPrefix(`/`)", onPath(""), false},
		{"PathRegexp(`[0-9]+`)", onPath("/a/17/b"), true},
		{"PathRegexp(`^/[0-9]+$`)", onPath("/17/b"), false},
		{"PathRegexp(`^/a`)", onPath("/A"), false},
		{"PathSegmentPrefix(`/a`)", onPath("/a"), true},
		{"PathSegmentPrefix(`/a`)", onPath("/a/"), true},
		{"PathSegmentPrefix(`/a`)", onPath("/a/b"), true},
		{"PathSegmentPrefix(`/a`)", onPath("/ab"), false},
		{"PathSegmentPrefix(`/a`)", onPath("/"), false},
		{"PathSegmentPrefix(`/a`)", onPath("/A"), false},
		{"PathSegmentPrefix(`/a/`)", onPath("/a"), true},
		{"PathSegmentPrefix(`/a/`)", onPath("/a/b"), true},
		{"PathSegmentPrefix(`/a/`)", onPath("/ab"), false},
		{"PathSegmentPrefix(`/`)", onPath("/"), true},
		{"PathSegmentPrefix(`/`)", onPath("/a"), true},
		{"PathSegmentPrefix(`/`)", onPath("*"), false},
		{"PathSegmentPrefix(`/`)", onPath(""), false},
	})
}

func TestMethodMatchers(t *testing.T) {
	check(t, []decision{
		{"Method(`GET`)", Request{Method: "GET"}, true},
		{"Method(`get`)", Request{Method: "GET"}, true},
		{"Method(`GET`)", Request{Method: "get"}, false},
		{"Method(`GET`)", Request{Method: "HEAD"}, false},
	})
}

func TestHeaderMatchers(t *testing.T) {
	check(t, []decision{
		{"Header(`x-a`, `b`)", withHeader("X-A", "b"), true},
		{"Header(`X-A`, `b`)", withHeader("X-A", "a", "X-A", "b"), true},
		{"Header(`X-A`, `b`)", withHeader("X-A", "B"), false},
		{"Header(`Host`, `a.example.com`)", onHost("a.example.com"), false},
		{"HeaderRegexp(`X-A`, `^b+$`)", withHeader("X-A", "a", "X-A", "bb"), true},
		{"HeaderRegexp(`X-A`, `^b+$`)", withHeader("X-A", "abb"), false},
		{"HeaderRegexp(`X-A`, `^$`)", withHeader("X-A", ""), true},
		{"HeaderRegexp(`X-A`, `^$`)", withHeader("X-B", ""), false},
	})
}

func TestQueryMatchers(t *testing.T) {
	check(t, []decision{
		{"Query(`a`, `b`)", withQuery("a=b"), true},
		{"Query(`a`, `b`)", withQuery("a=a&a=b"), true},
		{"Query(`a`, `b c`)", withQuery("a=b%20c"), true},
		{"Query(`a`, `b c`)", withQuery("a=b+c"), true},
		{"Query(`a`, `b`)", withQuery("a=B"), false},
		{"Query(`a`, `b`)", withQuery("x=%zz&a=b"), true},
		{"Query(`a`)", withQuery("a"), true},
		{"Query(`a`)", withQuery("a="), true},
		{"Query(`a`)", withQuery("a=b"), false},
		{"Query(`a`)", withQuery("b"), false},
		{"QueryRegexp(`a`, `^[0-9]+$`)", withQuery("a=b&a=17"), true},
		{"QueryRegexp(`a`, `^[0-9]+$`)", withQuery("a=b"), false},
		{"QueryRegexp(`a`, `.*`)", withQuery("b=1"), false},
		{"QueryRegexp(`a`)", withQuery("a"), true},
		{"QueryRegexp(`a`)", withQuery("a=b"), false},
	})
}

func TestPortMatchers(t *testing.T) {
	check(t, []decision{
		{"Port(`80`)", Request{Authority: "a.example"}, true},
		{"Port(`443`)", Request{Authority: "a.example"}, false},
		{"Port(`443`)", Request{Authority: "a.example", TLS: true}, true},
		{"Port(`8080`)", Request{Authority: "a.example:8080", TLS: true}, true},
		{"Port(`8080`)", Request{Authority: "[2001:db8::1]:8080"}, true},
		{"Port(`80`)", Request{Authority: "a.example:"}, true},
		{"Port(`80`)", Request{Authority: "a.example:8080"}, false},
	})
}

func TestClientIPMatchers(t *testing.T) {
	check(t, []decision{
		{"ClientIP(`10.0.0.1`)", from("10.0.0.1"), true},
		{"ClientIP(`10.0.0.1`)", from("10.0.0.2"), false},
		{"ClientIP(`10.9.9.9/8`)", from("10.0.0.1"), true},
		{"ClientIP(`10.0.0.0/8`)", from("::ffff:10.0.0.1"), true},
		{"ClientIP(`::ffff:10.0.0.0/104`)", from("10.0.0.1"), true},
		{"ClientIP(`::ffff:10.0.0.1`)", from("10.0.0.1"), true},
		{"ClientIP(`10.0.0.0/8`)", from("11.0.0.1"), false},
		{"ClientIP(`0.0.0.0/0`)", from("2001:db8::1"), false},
		{"ClientIP(`2001:db8::/32`)", from("2001:db8::1"), true},
		{"ClientIP(`fe80::/10`)", from("fe80::1%eth0"), true},
		{"ClientIP(`0.0.0.0/0`)", Request{}, false},
		{"ClientIP(`::/0`)", Request{}, false},
	})
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
		{"A && (B || (C && !A) || !C) && (A || B)", func(a, b, c bool) bool {
			return a && (b || (c && !a) || !c) && (a || b)
		}},
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
	withRegexps := 0.0
	if raceDetector {
		withRegexps = 2 // The pools of package regexp drop items at random under the race detector.
	}
	for text, limit := range map[string]float64{
		"Host(`*.example.com`) && (PathPrefix(`/a`) || PathPrefix(`/b`)) && !Method(`POST`) && Header(`X-A`, `b`) &&" +
			" ClientIP(`10.0.0.0/8`)": 0,
		"Host(`*.example.com`) && (PathPrefix(`/a`) || PathRegexp(`^/b[0-9]`)) && HeaderRegexp(`X-A`, `^b`) &&" +
			" HostRegexp(`^a`)": withRegexps,
	} {
		parsed := mustParse(t, text)
		req := Request{
			Host: "a.example.com", Path: "/b1", Method: "GET",
			Header: http.Header{"X-A": {"a", "b"}}, Client: netip.MustParseAddr("::ffff:10.0.0.1"),
		}
		if !parsed.Match(&req) {
			t.Fatalf("%s: the request does not match, the test would measure nothing", text)
		}
		if n := testing.AllocsPerRun(100, func() { parsed.Match(&req) }); n > limit {
			t.Errorf("%s: got %v allocations, want at most %v", text, n, limit)
		}
	}
}

func TestQueryIsParsedOncePerRequest(t *testing.T) {
	parsed := mustParse(t, "Query(`a`, `1`) && Query(`b`, `2`) && Query(`c`, `3`)")
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
