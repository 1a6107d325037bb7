package proxycookie_test

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
	"github.com/sluiceproxy/sluice/middleware/proxycookie"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t *testing.T, config dynamic.ProxyCookie) *proxycookie.ProxyCookie {
	t.Helper()
	step, err := proxycookie.New("cookies@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func rewritten(t *testing.T, step *proxycookie.ProxyCookie, cookies ...string) []string {
	t.Helper()
	w := httptest.NewRecorder()
	shared := slices.Clone(cookies)
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "changed.test"
		w.Header()["Set-Cookie"] = shared
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Host: Shop.example.com:8080"))
	if !slices.Equal(shared, cookies) {
		t.Errorf("the values of the response are changed in place: %q", shared)
	}
	return w.Header()["Set-Cookie"]
}

func TestReadme(t *testing.T) {
	config := middlewaretest.Examples(t, "README.md")["public-cookies"].ProxyCookie
	got := rewritten(t, build(t, *config), "id=1; Domain=shop.internal; Path=/app/cart", "release=2; Path=/app/")
	if diff := cmp.Diff([]string{"id=1; Domain=example.com; Path=/cart", "release=2; Path=/app/"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRewrites(t *testing.T) {
	domain := func(from, to string) dynamic.ProxyCookie {
		return dynamic.ProxyCookie{Domain: []dynamic.ProxyRewrite{{From: from, To: to}}}
	}
	path := func(from, to string) dynamic.ProxyCookie {
		return dynamic.ProxyCookie{Path: []dynamic.ProxyRewrite{{From: from, To: to}}}
	}
	for name, row := range map[string]struct {
		config     dynamic.ProxyCookie
		from, want string
	}{
		"domain":                {domain("a.test", "b.test"), "n=v; Domain=a.test", "n=v; Domain=b.test"},
		"domain in capitals":    {domain("a.test", "b.test"), "n=v; DOMAIN=A.Test", "n=v; DOMAIN=b.test"},
		"domain with a dot":     {domain("a.test", "b.test"), "n=v; domain=.a.test", "n=v; domain=.b.test"},
		"dots of the options":   {domain(".a.test", ".b.test"), "n=v; domain=a.test", "n=v; domain=b.test"},
		"part of the domain":    {domain("test", "b"), "n=v; domain=a.test", "n=v; domain=a.test"},
		"domain of the request": {domain("$host", "b"), "n=v; domain=shop.example.com", "n=v; domain=b"},
		"to the host":           {domain("a.test", "$host"), "n=v; domain=a.test", "n=v; domain=shop.example.com"},
		"domain by pattern":     {domain(`~\.?([a-z]+)\.INTERNAL$`, "$1.test"), "n=v; domain=.app.internal", "n=v; domain=app.test"},
		"no domain":             {domain("a.test", "b.test"), "n=v; Path=/", "n=v; Path=/"},
		"path":                  {path("/app", ""), "n=v; Path=/app/x", "n=v; Path=/x"},
		"path in capitals":      {path("/app", "/"), "n=v; Path=/App", "n=v; Path=/App"},
		"path not at first":     {path("app", "x"), "n=v; Path=/app", "n=v; Path=/app"},
		"path by pattern":       {path("~^/user/([^/]+)", "/u/$1"), "n=v; Path=/user/me/x", "n=v; Path=/u/me"},
		"path without case":     {path("~*^/USER", "/u"), "n=v; path=/user", "n=v; path=/u"},
		"other attributes": {
			path("/a", "/b"), "n=v=w;Secure ;  Path = /a ; HttpOnly;SameSite=Lax; Max-Age=1",
			"n=v=w; Secure; Path=/b; HttpOnly; SameSite=Lax; Max-Age=1",
		},
		"nothing matches":     {path("/a", "/b"), "n=v;Secure ; Path = /c", "n=v;Secure ; Path = /c"},
		"equal replacement":   {path("/a", "/a"), "n=v;Secure;Path=/a", "n=v; Secure; Path=/a"},
		"no attributes":       {path("/a", "/b"), "n=v", "n=v"},
		"no value":            {path("/a", "/b"), "Path=/a", "Path=/a"},
		"name alone":          {path("/a", "/b"), "n; Path=/a", "n; Path=/a"},
		"two paths":           {path("/a", "/b"), "n=v; Path=/a; Path=/a", "n=v; Path=/b; Path=/b"},
		"empty path":          {path("~^$", "/b"), "n=v; Path=", "n=v; Path=/b"},
		"path without equals": {path("~^$", "/b"), "n=v; Path", "n=v; Path"},
		"excluded": {
			dynamic.ProxyCookie{Path: []dynamic.ProxyRewrite{{From: "/a", To: "/b"}}, Exclude: []string{"n"}},
			"n=v; Path=/a", "n=v; Path=/a",
		},
		"both": {
			dynamic.ProxyCookie{
				Domain: []dynamic.ProxyRewrite{{From: "x", To: "1"}, {From: "a", To: "2"}, {From: "a", To: "3"}},
				Path:   []dynamic.ProxyRewrite{{From: "/", To: "/p/"}},
			}, "n=v; Path=/; Domain=a", "n=v; Path=/p/; Domain=2",
		},
	} {
		if got := rewritten(t, build(t, row.config), row.from); len(got) != 1 || got[0] != row.want {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

// TestConnections has cookies of endpoints, over each pair of protocols.
func TestConnections(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step := build(t, dynamic.ProxyCookie{Path: []dynamic.ProxyRewrite{{From: "/a/", To: "/"}}})
		endpoint := func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Set-Cookie"] = []string{"one=1; Path=/a/b", "two=2", "three=3; Path=/c; Secure"}
		}
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: endpoint})
		response, _, err := g.Do(client, g.Request(http.MethodGet, "/", nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"one=1; Path=/b", "two=2", "three=3; Path=/c; Secure"},
			response.Header["Set-Cookie"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	for want, config := range map[string]dynamic.ProxyCookie{
		"proxyCookie has none of domain and path":            {Exclude: []string{"a"}},
		"proxyCookie.domain[0].from is empty":                {Domain: []dynamic.ProxyRewrite{{To: "a"}}},
		"proxyCookie.path[0].from: not a regular expression": {Path: []dynamic.ProxyRewrite{{From: "~("}}},
		"proxyCookie.path[0].to: the variable $x is unknown": {Path: []dynamic.ProxyRewrite{{From: "a", To: "$x"}}},
		`proxyCookie.exclude[0] "a b" can't be the name of a cookie`: {
			Path: []dynamic.ProxyRewrite{{From: "a"}}, Exclude: []string{"a b"},
		},
	} {
		if _, err := proxycookie.New("x", config); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzCookies keeps the name and the value of a cookie, and never adds a field.
func FuzzCookies(f *testing.F) {
	for _, seed := range []string{"a=b; Path=/a; Domain=x", "a", "; Path=/a", "a=b;;;Path=/a=;", " a = b ; path = /a "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cookie string) {
		if strings.ContainsAny(cookie, "\r\n") {
			return
		}
		step := build(t, dynamic.ProxyCookie{
			Path:   []dynamic.ProxyRewrite{{From: "/a", To: "/b"}},
			Domain: []dynamic.ProxyRewrite{{From: "~^(.*)$", To: "$1.test"}},
		})
		got := rewritten(t, step, cookie)
		if len(got) != 1 || strings.Count(got[0], ";") != strings.Count(cookie, ";") {
			t.Fatalf("%q becomes %q", cookie, got)
		}
		before, _, _ := strings.Cut(cookie, ";")
		after, _, _ := strings.Cut(got[0], ";")
		name, value, _ := strings.Cut(before, "=")
		if after != before && after != strings.Trim(name, " ")+"="+strings.Trim(value, " ") {
			t.Errorf("%q becomes %q", before, after)
		}
	})
}
