package proxyredirect_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/middleware/proxyredirect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t *testing.T, relative bool, rewrites ...dynamic.ProxyRewrite) *proxyredirect.ProxyRedirect {
	t.Helper()
	step, err := proxyredirect.New("urls@file", dynamic.ProxyRedirect{Rewrites: rewrites, Relative: relative})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// rewritten returns what becomes of a value of a header. The handler changes the request in place, as middlewares do.
func rewritten(t *testing.T, step *proxyredirect.ProxyRedirect, name, value string) string {
	t.Helper()
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host, r.URL.Path = "changed.test", "/changed"
		w.Header().Set(name, value)
		w.WriteHeader(http.StatusFound)
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /app/x?a=b", "Host: Shop.example.com:8080"))
	return w.Header().Get(name)
}

func TestReadme(t *testing.T) {
	config := middlewaretest.Examples(t, "README.md")["public-urls"].ProxyRedirect
	step := build(t, config.Relative, config.Rewrites...)
	for from, want := range map[string]string{
		"http://shop.internal:8080/cart":   "http://shop.example.com/cart",
		"HTTPS://pay.Internal/x?y=z":       "https://shop.example.com/x?y=z",
		"https://other.example/":           "https://other.example/",
		"http://shop.internal:80800/cart/": "http://shop.internal:80800/cart/",
	} {
		if got := rewritten(t, step, "Location", from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

func TestRewrites(t *testing.T) {
	for name, row := range map[string]struct {
		rewrites     []dynamic.ProxyRewrite
		header, from string
		want         string
	}{
		"prefix": {[]dynamic.ProxyRewrite{{From: "http://a/", To: "/"}}, "Location", "http://a/b", "/b"},
		"prefix in another case": {
			[]dynamic.ProxyRewrite{{From: "http://a/", To: "/"}}, "Location", "HTTP://a/b", "HTTP://a/b",
		},
		"whole":      {[]dynamic.ProxyRewrite{{From: "http://a/", To: "/"}}, "Location", "http://a/", "/"},
		"shorter":    {[]dynamic.ProxyRewrite{{From: "http://a/", To: "/"}}, "Location", "http://a", "http://a"},
		"to nothing": {[]dynamic.ProxyRewrite{{From: "http://a"}}, "Location", "http://a/b", "/b"},
		"the first that matches": {
			[]dynamic.ProxyRewrite{{From: "x", To: "1"}, {From: "http:", To: "2"}, {From: "http://", To: "3"}},
			"Location", "http://a", "2//a",
		},
		"variables": {
			[]dynamic.ProxyRewrite{{From: "http://$host/", To: "$scheme://$http_host$request_uri|"}},
			"Location", "http://shop.example.com/b", "http://Shop.example.com:8080/app/x?a=b|b",
		},
		"pattern": {
			[]dynamic.ProxyRewrite{{From: "~^http://([^/]+)/(?<rest>.*)", To: "https://$1.test/$rest"}},
			"Location", "http://a/b/c", "https://a.test/b/c",
		},
		"pattern within replaces all": {[]dynamic.ProxyRewrite{{From: "~b", To: "x"}}, "Location", "abc", "x"},
		"pattern with case":           {[]dynamic.ProxyRewrite{{From: "~B", To: "x"}}, "Location", "abc", "abc"},
		"pattern without case":        {[]dynamic.ProxyRewrite{{From: "~*B", To: "x"}}, "Location", "abc", "x"},
		"pattern and variable": {
			[]dynamic.ProxyRewrite{{From: "~^http://a(/.*)", To: "$scheme://$host$1"}},
			"Location", "http://a/b", "http://shop.example.com/b",
		},
		"refresh": {
			[]dynamic.ProxyRewrite{{From: "http://a/", To: "/b/"}}, "Refresh", "5; URL=http://a/x", "5; URL=/b/x",
		},
		"refresh without URL": {[]dynamic.ProxyRewrite{{From: "5", To: "6"}}, "Refresh", "5", "5"},
		"refresh by pattern": {
			[]dynamic.ProxyRewrite{{From: "~^http://a/(.*)$", To: "/$1"}}, "Refresh", "0;url=http://a/x", "0;url=/x",
		},
		"another header": {[]dynamic.ProxyRewrite{{From: "a", To: "b"}}, "Content-Location", "abc", "abc"},
	} {
		if got := rewritten(t, build(t, true, row.rewrites...), row.header, row.from); got != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// TestRelative has URLs that become such without a host.
func TestRelative(t *testing.T) {
	rewrites := []dynamic.ProxyRewrite{
		{From: "http://a/", To: "/"}, {From: "/own", To: "/other"}, {From: "~^x(.*)", To: "$1"},
	}
	for from, want := range map[string][2]string{
		"http://a/b": {"http://shop.example.com/b", "/b"}, "/own/x": {"http://shop.example.com/other/x", "/other/x"},
		"/x": {"/x", "/x"}, "x//y": {"http://shop.example.com//y", "//y"}, "xy": {"y", "y"}, "x": {"", ""},
	} {
		for i, relative := range []bool{false, true} {
			if got := rewritten(t, build(t, relative, rewrites...), "Location", from); got != want[i] {
				t.Errorf("%s, relative %t: %q, want %q", from, relative, got, want[i])
			}
			if got := rewritten(t, build(t, relative, rewrites...), "Refresh", "1;url="+from); got != "1;url="+want[1] {
				t.Errorf("refresh to %s, relative %t: %q", from, relative, got)
			}
		}
	}
}

// TestConnections has redirects of endpoints, over each pair of protocols.
func TestConnections(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step := build(t, false, dynamic.ProxyRewrite{From: "http://internal/", To: "$scheme://$http_host/"})
		endpoint := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://internal"+r.URL.Path)
			w.Header()["X-Other"] = []string{"http://internal/"}
			w.WriteHeader(http.StatusCreated)
		}
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: endpoint})
		response, _, err := g.Do(client, g.Request(http.MethodGet, "/x", nil))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := response.Header.Get("Location"), "http://"+g.Address+"/x"; got != want ||
			!slices.Equal(response.Header["X-Other"], []string{"http://internal/"}) {
			t.Errorf("%v, want %s", response.Header, want)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for want, rewrites := range map[string][]dynamic.ProxyRewrite{
		"proxyRedirect.rewrites is empty":                                  nil,
		"proxyRedirect.rewrites[0].from is empty":                          {{To: "x"}},
		"proxyRedirect.rewrites[1].from: not a regular expression":         {{From: "x"}, {From: "~("}},
		"proxyRedirect.rewrites[0].from: lookbehind":                       {{From: "~*(?<=a)"}},
		"proxyRedirect.rewrites[0].from: there is no pattern that $1":      {{From: "a$1"}},
		"proxyRedirect.rewrites[0].to: there is no pattern that $1":        {{From: "a", To: "$1"}},
		"proxyRedirect.rewrites[0].to: the variable $rest is unknown":      {{From: "~a", To: "$rest"}},
		"proxyRedirect.rewrites[0].to: byte 0 is a control character":      {{From: "~a", To: "\n"}},
		"proxyRedirect.rewrites[0].to: the variable $namespace has no val": {{From: "~a", To: "$namespace"}},
	} {
		_, err := proxyredirect.New("x", dynamic.ProxyRedirect{Rewrites: rewrites})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzRewrite has no value begin another header, or change where nothing matches.
func FuzzRewrite(f *testing.F) {
	f.Add("http://a/", "/", "http://a/b")
	f.Add("~^(.*)$", "x$1$host", "5; url=a")
	f.Add("~*[", "$1", "")
	f.Fuzz(func(t *testing.T, from, to, value string) {
		step, err := proxyredirect.New("x", dynamic.ProxyRedirect{Rewrites: []dynamic.ProxyRewrite{{From: from, To: to}}})
		if err != nil || strings.ContainsAny(value, "\r\n") {
			return
		}
		for _, name := range []string{"Location", "Refresh", "X-Other"} {
			got := rewritten(t, step, name, value)
			if strings.ContainsAny(got, "\r\n") || name == "X-Other" && cmp.Diff(got, value) != "" {
				t.Errorf("%s %q becomes %q", name, value, got)
			}
		}
	})
}
