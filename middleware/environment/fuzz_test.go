package environment_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	selector "github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/middleware/environment"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// FuzzHost demands of every pattern that is accepted: the host with a tag in its place has that tag, in any case, and
// every tag of another host leads back to that host.
func FuzzHost(f *testing.F) {
	f.Add("{tag}--shop.example.com", "-", "dev-proj1--shop.example.com")
	f.Add("x{tag}", "", "xa.b")
	f.Add("a.{tag}.b", "--", "A.b--c.B:80")
	f.Add("{tag}.{tag}", ".", "[::1]:80")
	f.Fuzz(func(t *testing.T, pattern, splitter, host string) {
		var config dynamic.EnvironmentMiddleware
		config.SetDefaults()
		config.Sources = &dynamic.EnvironmentSources{Host: pattern, HostSplitter: splitter}
		config.Trust = &dynamic.EnvironmentTrust{Anyone: true}
		step, err := environment.New("e@file", config, environment.Options{})
		if err != nil || pattern == "" {
			return
		}
		tagOf := func(host string) string {
			r := middlewaretest.Request(t, "GET /")
			r.Host = host
			return serve(t, step, r).header.Get(header)
		}
		const probe = "q"
		if splitter != probe && tagOf(strings.ToUpper(strings.Replace(pattern, "{tag}", probe, 1))) != probe {
			t.Errorf("%q does not match its own host", pattern)
		}
		tag := tagOf(host)
		if tag == "" {
			return
		}
		label := tag
		if splitter != "" {
			label = strings.ReplaceAll(tag, ".", splitter)
		}
		want := strings.ToLower(strings.Replace(pattern, "{tag}", label, 1))
		if name, _, _ := strings.Cut(strings.ToLower(host), ":"); !selector.ValidTag(tag) || strings.TrimSuffix(name, ".") != want {
			t.Errorf("%q with %q: %q has the tag %q", pattern, splitter, host, tag)
		}
	})
}

// FuzzOutsider sends whatever a client may send past the middleware without trust: nothing of it chooses.
func FuzzOutsider(f *testing.F) {
	f.Add("env=dev&x=1", "/env/dev/a", "env=dev; a=b", "x_virtual-Env", "dev")
	f.Add("%65nv=dev", "/env/a/env/b", `env="dev"`, "Baggage", "dev~1~a")
	step := build(f, trusting(signedOnly()))
	f.Fuzz(func(t *testing.T, query, path, cookie, name, value string) {
		r := middlewaretest.Request(t, "GET /")
		r.URL.Path, r.URL.RawQuery = "/"+strings.TrimPrefix(path, "/"), query
		r.RequestURI = r.URL.RequestURI()
		r.Header = http.Header{"Cookie": {cookie}, http.CanonicalHeaderKey(name): {value}}
		got := serveQuietly(step, r)
		if values := got.header[header]; len(values) > 0 {
			t.Errorf("the tag is %q", values)
		}
		for pair := range strings.SplitSeq(got.header.Get("Cookie"), ";") {
			if first, _, _ := strings.Cut(pair, "="); strings.Trim(first, " \t") == "env" {
				t.Errorf("the cookies are %q", got.header["Cookie"])
			}
		}
		for pair := range strings.SplitSeq(r.URL.RawQuery, "&") {
			if first, _, _ := strings.Cut(pair, "="); first == "env" {
				t.Errorf("the query is %q", r.URL.RawQuery)
			}
		}
	})
}

// serveQuietly is serve for requests that no server reads.
func serveQuietly(step *environment.Environment, r *http.Request) (got served) {
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got.header = r.Header
	})).ServeHTTP(new(middlewaretest.Writer), r)
	return got
}
