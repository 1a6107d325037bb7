package index

import (
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/router/rule"
)

// source turns bytes into choices, zeros when they run out.
type source struct{ data []byte }

func (s *source) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

func (s *source) below(n int) int { return int(s.byte()) % n }

func (s *source) of(choices ...string) string { return choices[s.below(len(choices))] }

// The words are few and similar, so that any two rules are likely to overlap.

func (s *source) host() string {
	return s.of("a.x", "*.x", "b.x", "*", "x", "A.X", "*.a.x", "c.a.x", "a.x.")
}

func (s *source) path() string {
	if n := s.below(64); n >= 16 {
		return deep(n - 15)
	}
	return s.of("/", "/a", "/ab", "/a/", "/a/b", "/A", "/b", "/a/b/c")
}

// deep returns a path of n letters, of which every shorter one is a prefix.
func deep(n int) string { return "/" + strings.Repeat("a", n) }

func (s *source) matcher() string {
	switch s.below(26) {
	case 0, 1, 2:
		return "Host(`" + s.host() + "`)"
	case 3, 4, 5:
		return "PathPrefix(`" + s.path() + "`)"
	case 6, 7:
		return "Path(`" + s.path() + "`)"
	case 8:
		return "HostRegexp(`" + s.of("^", "^a", "x$", "^$", "A") + "`)"
	case 9:
		return "PathRegexp(`" + s.of("^", "^/a", "b$", "^$") + "`)"
	case 10:
		return "Method(`" + s.of("GET", "POST") + "`)"
	case 11:
		return "Header(`X-A`, `" + s.of("0", "1") + "`)"
	case 12:
		return "HeaderRegexp(`X-A`, `" + s.of("^$", "^1") + "`)"
	case 13:
		return s.of("Query(`q`)", "Query(`p`, `1`)", "Query(`q`, `1`)")
	case 14:
		return "QueryRegexp(`q`, `" + s.of("^$", "^1") + "`)"
	case 15, 16:
		return "HostSuffix(`" + s.of("x", "a.x", "X", "c.a.x", "a.x.", "y") + "`)"
	case 17, 18:
		return "PathSegmentPrefix(`" + s.path() + "`)"
	case 19, 20:
		return "NormalizedPath(`" + s.path() + "`)"
	case 21, 22, 23:
		return "NormalizedPathPrefix(`" + s.path() + "`)"
	case 24:
		return "NormalizedPathRegexp(`" + s.of("^", "^/A", "(?i)^/a", "b$", "^$") + "`)"
	default:
		return "ClientIP(`" + s.of("10.0.0.0/8", "10.0.0.1", "::/0") + "`)"
	}
}

// expression writes a rule with every operator, down to a few levels.
func (s *source) expression(depth int) string {
	if depth == 0 {
		return s.matcher()
	}
	switch s.below(8) {
	case 0, 1, 2:
		return s.matcher()
	case 3, 4:
		return s.expression(depth-1) + " && " + s.expression(depth-1)
	case 5:
		return s.expression(depth-1) + " || " + s.expression(depth-1)
	case 6:
		return "!(" + s.expression(depth-1) + ")"
	default:
		return "(" + s.expression(depth-1) + " || " + s.expression(depth-1) + ") && (" + s.expression(depth-1) + ")"
	}
}

// name returns one of a few names, so that routes replace each other.
func (s *source) name() string { return "r" + strconv.Itoa(s.below(48)) }

func (s *source) route(tb testing.TB) *Route[int] {
	tb.Helper()
	text := s.expression(3)
	parsed, err := rule.Parse(text)
	if err != nil {
		tb.Fatalf("the generator wrote %s: %v", text, err)
	}
	route := &Route[int]{Name: s.name(), Rule: parsed, Value: s.below(2)}
	order := s.byte()
	route.Provider = int(order>>2) % 2
	route.Precedence, route.Created = s.precedence(), s.created()
	switch order % 4 {
	case 0:
		route.Priority = parsed.Length()
	case 1:
		route.Priority = -1
	default:
		route.Priority = int(order>>3) % 3
	}
	return route
}

// precedence returns up to three keys around 0, of which the last ones may be 0 and are then as good as missing.
func (s *source) precedence() []int64 {
	choice := s.byte()
	var keys []int64
	for range choice % 4 {
		choice >>= 2
		keys = append(keys, int64(choice%4)-1)
	}
	return keys
}

// created returns one of a few times, or none.
func (s *source) created() time.Time {
	if seconds := s.below(4); seconds > 0 {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}

// ladder returns routes for all prefixes of a deep path, more than a walk has room for.
func (s *source) ladder(tb testing.TB) []*Route[int] {
	tb.Helper()
	var routes []*Route[int]
	condition := s.of("", " && Host(`a.x`)", " && Method(`POST`)")
	for n := range walkRoom * 2 {
		parsed, err := rule.Parse("PathPrefix(`" + deep(n) + "`)" + condition)
		if err != nil {
			tb.Fatal(err)
		}
		routes = append(routes, &Route[int]{Name: "l" + strconv.Itoa(n), Rule: parsed, Priority: n * 7 % 5})
	}
	return routes
}

func (s *source) routes(tb testing.TB, most int) []*Route[int] {
	tb.Helper()
	routes := make([]*Route[int], s.below(most+1))
	for i := range routes {
		routes[i] = s.route(tb)
	}
	return routes
}

// requests returns every combination of a host and a path that matters to the words of the rules, with the rest by
// choice.
func (s *source) requests() []rule.Request {
	hosts := []string{"a.x", "b.x", "x", "", ".x", "c.a.x", "d.a.x", "e.c.a.x", "..x"}
	paths := []string{
		"/", "/a", "/ab", "/abc", "/a/", "/a/b", "/a/b/c", "/A", "/b", "/c", "", "*", deep(20), deep(60),
		"/a%2Fb", "//a", "/b/../a", "/c/%2E%2E/a/b", "/../a", "/a//b%2Fc", "//" + deep(20),
	}
	requests := make([]rule.Request, 0, len(hosts)*len(paths))
	for _, host := range hosts {
		for _, path := range paths {
			requests = append(requests, s.request(host, path))
		}
	}
	return requests
}

func (s *source) request(host, path string) rule.Request {
	choice := s.byte()
	req := rule.Request{Host: host, Path: path, Escaped: path, Method: "GET", Client: netip.MustParseAddr("10.0.0.1")}
	if choice&1 != 0 {
		req.Method = "POST"
	}
	switch choice >> 1 & 3 {
	case 1:
		req.Header = http.Header{"X-A": {""}}
	case 2:
		req.Header = http.Header{"X-A": {"0", "1"}}
	}
	switch choice >> 3 & 3 {
	case 1:
		req.RawQuery = "q"
	case 2:
		req.RawQuery = "q=1"
	}
	if choice>>5&1 != 0 {
		req.Client = netip.MustParseAddr("2001:db8::1")
	}
	return req
}
