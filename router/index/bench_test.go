package index

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule"
)

// shape is a family of configurations: the rule of route i, and a request that only route i takes.
type shape struct {
	name    string
	rule    func(i int) string
	request func(i int) rule.Request
}

func shapes() []shape {
	return []shape{
		{
			name: "host+prefix",
			rule: func(i int) string { return fmt.Sprintf("Host(`app-%d.example.com`) && PathPrefix(`/api/v%d`)", i, i%7) },
			request: func(i int) rule.Request {
				return request(fmt.Sprintf("app-%d.example.com", i), fmt.Sprintf("/api/v%d/users/17", i%7))
			},
		},
		{
			name: "prefix",
			rule: func(i int) string { return fmt.Sprintf("PathPrefix(`/team-%d/service-%d/`)", i%97, i) },
			request: func(i int) rule.Request {
				return request("www.example.com", fmt.Sprintf("/team-%d/service-%d/users/17", i%97, i))
			},
		},
		{
			name:    "wildcard",
			rule:    func(i int) string { return fmt.Sprintf("Host(`*.tenant-%d.example.com`)", i) },
			request: func(i int) rule.Request { return request(fmt.Sprintf("www.tenant-%d.example.com", i), "/users/17") },
		},
	}
}

func request(host, path string) rule.Request {
	return rule.Request{Host: host, Path: path, Method: "GET"}
}

// routesOf returns n routes of a shape.
func routesOf(tb testing.TB, s shape, n int) []*Route[int] {
	tb.Helper()
	routes := make([]*Route[int], n)
	for i := range routes {
		parsed, err := rule.Parse(s.rule(i))
		if err != nil {
			tb.Fatal(err)
		}
		routes[i] = &Route[int]{Name: fmt.Sprintf("route-%d@file", i), Rule: parsed, Priority: parsed.Length(), Value: i}
	}
	return routes
}

// requestsOf returns one request for each of n routes, in random order. What the requests hold lies in memory in that
// same order: a server has just read its request, and the time to fetch it is not the time to route it.
func requestsOf(s shape, n int) (requests []rule.Request, wanted []int) {
	wanted = rand.New(rand.NewPCG(1, 2)).Perm(n)
	var text strings.Builder
	for _, i := range wanted {
		req := s.request(i)
		requests = append(requests, req)
		text.WriteString(req.Host + req.Path)
	}
	rest := text.String()
	for i := range requests {
		req := &requests[i]
		host, path := len(req.Host), len(req.Path)
		req.Host, req.Path, rest = rest[:host], rest[host:host+path], rest[host+path:]
	}
	return requests, wanted
}

// BenchmarkMatch sends random requests over all routes.
func BenchmarkMatch(b *testing.B) {
	for _, s := range shapes() {
		for _, n := range []int{1, 1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				x := New(routesOf(b, s, n))
				requests, wanted := requestsOf(s, n)
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					route := x.Match(&requests[i])
					if route == nil || route.Value != wanted[i] {
						b.Fatal("wrong route")
					}
					if i++; i == n {
						i = 0
					}
				}
			})
		}
	}
}

// BenchmarkMatchLinearRules shows what rules cost that require neither a host nor a path: each request evaluates them
// all, as long as they come before the route that takes it.
func BenchmarkMatchLinearRules(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10_000} {
		for name, text := range map[string]string{
			"header": "Header(`X-Tenant`, `tenant-%d`)",
			"regexp": "HostRegexp(`^tenant-%d\\.`)",
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				routes := []*Route[int]{newRoute(b, "last", "Host(`www.example.com`)", -1)}
				for i := range n {
					routes = append(routes, newRoute(b, fmt.Sprint(i), fmt.Sprintf(text, i), 0))
				}
				x := New(routes)
				req := request("www.example.com", "/")
				req.Header = http.Header{"X-Tenant": {"another"}}
				b.ReportAllocs()
				for b.Loop() {
					if x.Match(&req) != routes[0] {
						b.Fatal("wrong route")
					}
				}
			})
		}
	}
}

// BenchmarkMatchNestedPrefixes sends requests whose path all prefixes are part of.
func BenchmarkMatchNestedPrefixes(b *testing.B) {
	for _, n := range []int{1, 8, walkRoom, 2 * walkRoom, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var routes []*Route[int]
			for i := range n {
				routes = append(routes, newRoute(b, fmt.Sprint(i), "PathPrefix(`"+deep(i)+"`)", 0))
			}
			x := New(routes)
			req := request("www.example.com", deep(n))
			b.ReportAllocs()
			for b.Loop() {
				if x.Match(&req) != routes[n-1] {
					b.Fatal("wrong route")
				}
			}
		})
	}
}

// BenchmarkLinear is the cost without an index.
func BenchmarkLinear(b *testing.B) {
	s := shapes()[0]
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			l := newLinear(routesOf(b, s, n))
			requests, _ := requestsOf(s, n)
			i := 0
			for b.Loop() {
				if l.Match(&requests[i]) == nil {
					b.Fatal("no route")
				}
				if i++; i == n {
					i = 0
				}
			}
		})
	}
}

// BenchmarkBuild parses the rules of n routes and builds their index.
func BenchmarkBuild(b *testing.B) {
	for _, s := range shapes() {
		for _, n := range []int{10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				for b.Loop() {
					if New(routesOf(b, s, n)).Len() != n {
						b.Fatal("routes are missing")
					}
				}
			})
		}
	}
}

// BenchmarkUpdate changes one route among n, which lie on as many hosts or all on one.
func BenchmarkUpdate(b *testing.B) {
	for _, s := range shapes() {
		for _, n := range []int{1000, 10_000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", s.name, n), func(b *testing.B) {
				routes := routesOf(b, s, n)
				x := New(routes)
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					// The same route with the rule of another: it leaves one tree and enters another.
					change := *routes[i%n]
					change.Rule = routes[(i+n/2)%n].Rule
					x = x.Update(nil, []*Route[int]{&change})
					i++
				}
				if x.Len() != n {
					b.Fatal("routes are missing")
				}
			})
		}
	}
}
