package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestDifferences(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name          string
		before, after any
		want          []Difference
	}{
		{"nothing", &dynamic.Router{Rule: "a"}, &dynamic.Router{Rule: "a"}, []Difference{}},
		{"a text", &dynamic.Router{Rule: "a"}, &dynamic.Router{Rule: "b"}, []Difference{{"rule", "a", "b"}}},
		{"a number", &dynamic.Router{Priority: 2}, &dynamic.Router{Priority: 10}, []Difference{{"priority", 2, 10}}},
		{"an option that goes", &dynamic.Router{Priority: 2}, &dynamic.Router{}, []Difference{{"priority", 2, nil}}},
		{
			"an empty section that comes", &dynamic.Router{}, &dynamic.Router{TLS: &dynamic.RouterTLS{}},
			[]Difference{{"tls", nil, "{}"}},
		},
		{
			"an empty list that comes", &dynamic.Router{}, &dynamic.Router{Middlewares: []string{}},
			[]Difference{{"middlewares", nil, "[]"}},
		},
		{
			"an empty map that comes", &dynamic.Middleware{Headers: &dynamic.Headers{}},
			&dynamic.Middleware{Headers: &dynamic.Headers{CustomRequestHeaders: map[string]string{}}},
			[]Difference{{"headers", "{}", nil}, {"headers.customRequestHeaders", nil, "{}"}},
		},
		{
			"a new object", nil, &dynamic.Router{Rule: "a", Middlewares: []string{"x", "y"}},
			[]Difference{{"middlewares[0]", nil, "x"}, {"middlewares[1]", nil, "y"}, {"rule", nil, "a"}},
		},
		{"an object that goes", &dynamic.Router{Service: "s"}, nil, []Difference{{"service", "s", nil}}},
		{
			"a pointer to a zero", &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{PassHostHeader: &yes}},
			&dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{PassHostHeader: &no}},
			[]Difference{{"loadBalancer.passHostHeader", true, false}},
		},
		{
			"a duration", &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{SlowStart: ptypes.Duration(time.Second)}},
			&dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{SlowStart: ptypes.Duration(time.Minute)}},
			[]Difference{{"loadBalancer.slowStart", "1s", "1m0s"}},
		},
		{
			"what no file may say", &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: "a"}},
			&dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: "b"}},
			[]Difference{{"loadBalancer.endpointSet", "a", "b"}},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, more := differences(test.before, test.after)
			if diff := cmp.Diff(test.want, got); diff != "" || more != 0 {
				t.Errorf("%d more (-want +got):\n%s", more, diff)
			}
		})
	}
}

// TestDifferencesShowNoSecret has secrets in texts, in the values and in the keys of maps, in URLs and in numbers of
// free form.
func TestDifferencesShowNoSecret(t *testing.T) {
	const marker = "hunter2"
	header := func(name, value string) *dynamic.Middleware {
		return &dynamic.Middleware{Headers: &dynamic.Headers{CustomRequestHeaders: map[string]string{name: value}}}
	}
	tests := []struct {
		name          string
		before, after any
		paths         []string
	}{
		{
			"a value of a map", header("X-Token", marker+"1"), header("X-Token", marker+"2"),
			[]string{"headers.customRequestHeaders.X-Token"},
		},
		{"a key of a map", header("X "+marker, "a"), header("X "+marker, "b"), []string{"headers.customRequestHeaders.xxxx"}},
		{
			"a URL", &dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: "http://u:" +
				marker + "1@a/"}}}},
			&dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: "http://u:" + marker +
				"2@a/"}}}},
			[]string{"loadBalancer.servers[0].url"},
		},
		{
			"users", nil, &dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{"a:" + marker}}},
			[]string{"basicAuth.users[0]"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _ := differences(test.before, test.after)
			text, err := json.Marshal(got)
			if err != nil || strings.Contains(string(text), marker) {
				t.Errorf("%v: %s", err, text)
			}
			paths := []string{}
			for _, one := range got {
				paths = append(paths, one.Path)
			}
			for _, path := range test.paths {
				if !slices.Contains(paths, path) {
					t.Errorf("%q is not among %q", path, paths)
				}
			}
		})
	}
}

func TestDifferencesAreBounded(t *testing.T) {
	many := &dynamic.Router{Rule: strings.Repeat("é", maxShown)}
	for i := range 300 {
		many.Middlewares = append(many.Middlewares, fmt.Sprint(i))
	}
	got, more := differences(nil, many)
	if len(got) != maxDifferences || more != 301-maxDifferences {
		t.Errorf("%d differences and %d more", len(got), more)
	}
	if got[2].Path != "middlewares[2]" || got[10].Path != "middlewares[10]" {
		t.Errorf("the order is %q, %q", got[2].Path, got[10].Path)
	}
	got, _ = differences(nil, &dynamic.Router{Rule: "x" + strings.Repeat("é", maxShown)})
	if text := got[0].After.(string); len(text) > maxShown+len("…") || !strings.HasSuffix(text, "é…") {
		t.Errorf("a long text is shown as %d bytes, ending in %q", len(text), text[len(text)-6:])
	}
}
