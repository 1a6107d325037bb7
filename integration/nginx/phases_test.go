package nginx_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// step is something that answers a request to a location.
type step struct {
	name string
	// annotations turn it on.
	annotations []string
	// method, path and length are what the request needs.
	method, path string
	length       int
	// is reports whether an answer is that of the step.
	is func(*response) bool
}

// steps returns the steps of a location, in the order in which nginx answers.
func steps() []step {
	status := func(want int) func(*response) bool { return func(r *response) bool { return r.status == want } }
	challenge := func(scheme string) func(*response) bool {
		return func(r *response) bool {
			return r.status == 401 && strings.HasPrefix(r.header.Get("WWW-Authenticate"), scheme)
		}
	}
	return []step{
		{name: "size", annotations: []string{`proxy-body-size: "1"`}, length: 2, is: status(413)},
		{name: "final slash", path: "/p", is: func(r *response) bool {
			return r.status == 301 && r.header.Get("Location") == "http://p.example/p/"
		}},
		{name: "preflight", annotations: []string{`enable-cors: "true"`}, method: "OPTIONS", is: status(204)},
		{name: "return", annotations: []string{"temporal-redirect: http://return.example"}, is: status(302)},
		{name: "https", annotations: []string{`force-ssl-redirect: "true"`}, is: status(308)},
		{name: "limit", annotations: []string{`limit-rpm: "1"`, `limit-burst-multiplier: "1"`}, is: status(503)},
		{name: "list", annotations: []string{"whitelist-source-range: 10.0.0.0/8"}, is: status(403)},
		{
			name: "password", annotations: []string{"auth-type: basic", "auth-secret: users", "auth-realm: r"},
			is: challenge("Basic"),
		},
		{name: "external", annotations: []string{"auth-url: http://auth.example/"}, is: challenge("Bearer")},
	}
}

// TestPhases turns on two steps of a location at a time, and looks which of them answers, on nginx. The request is sent
// until the limit is reached where there is one.
func TestPhases(t *testing.T) {
	all := pairs(t)
	own := newAuthority(t, "authority")
	bench := newBench(t, own, own)
	bench.load(t, all)
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) { bench.first(t, c) })
	}
}

// TestPhasesOfSluice is TestPhases on Sluice.
func TestPhasesOfSluice(t *testing.T) {
	own := newAuthority(t, "authority")
	var starting sync.Mutex
	for _, c := range pairs(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			newSluice(t, own, own, &starting, c).first(t, c)
		})
	}
}

// pairs returns a case for each pair of steps.
func pairs(t *testing.T) (all []*cases.Case) {
	t.Helper()
	order := steps()
	for i, first := range order {
		for _, second := range order[i+1:] {
			all = append(all, pair(t, first, second))
		}
	}
	return all
}

// first checks that the first step of a pair answers.
func (b *bench) first(t *testing.T, c *cases.Case) {
	t.Helper()
	stage, order := &c.Stages[0], steps()
	_, answers := b.exchange(t, c.Name, stage, &stage.Exchanges[0], map[string]string{})
	last := answers[len(answers)-1]
	name, _, _ := strings.Cut(c.Name, " before ")
	if first := order[slices.IndexFunc(order, func(s step) bool { return s.name == name })]; !first.is(last) {
		t.Errorf("the answer is %d, %v", last.status, last.header)
	}
}

// pair returns a case with two steps.
func pair(t *testing.T, first, second step) *cases.Case {
	t.Helper()
	path, method, length := first.path+second.path, first.method+second.method, first.length+second.length
	if path == "" {
		path = "/p/"
	}
	if method == "" {
		method = "GET"
	}
	annotations := "    unused: value\n"
	for _, annotation := range slices.Concat(first.annotations, second.annotations) {
		annotations += "    nginx.ingress.kubernetes.io/" + annotation + "\n"
	}
	parsed, err := cases.Parse("phases", fmt.Sprintf(`=== %s before %s
--- objects
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: p
  annotations:
%sspec:
  ingressClassName: nginx
  rules:
  - host: p.example
    http: {paths: [{path: /p/, pathType: Exact, backend: {service: {name: echo, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Secret
metadata: {name: users}
stringData: {auth: "foo:{PLAIN}bar"}
--- host auth.example
* 401
WWW-Authenticate: Bearer
--- request repeat=4 length=%d
%s http://p.example%s
--- response
200
`, first.name, second.name, annotations, length, method, path))
	if err != nil {
		t.Fatal(err)
	}
	return parsed[0]
}
