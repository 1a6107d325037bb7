package index

import (
	"fmt"
	"math/rand/v2"
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
