package stripprefix

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func build(t testing.TB, prefixes ...string) *StripPrefix {
	t.Helper()
	step, err := New("p@file", dynamic.StripPrefix{Prefixes: prefixes})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// serve returns the request target and X-Forwarded-Prefix of the next handler, or the status if it is not called.
func serve(t *testing.T, step *StripPrefix, r *http.Request) (uri string, prefix []string) {
	t.Helper()
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		uri, prefix = r.RequestURI, r.Header["X-Forwarded-Prefix"]
		if r.URL.RequestURI() != uri {
			t.Errorf("URL says %q, RequestURI %q", r.URL.RequestURI(), uri)
		}
	})
	w := new(middlewaretest.Writer)
	step.Wrap(next).ServeHTTP(w, r)
	if uri == "" {
		uri = http.StatusText(w.Status)
	}
	return uri, prefix
}

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["below-api"]
	step, err := New("below-api@file", *definition.StripPrefix)
	if err != nil {
		t.Fatal(err)
	}
	uri, prefix := serve(t, step, middlewaretest.Request(t, "GET /api/users?id=1"))
	if uri != "/users?id=1" || !cmp.Equal(prefix, []string{"/api"}) {
		t.Errorf("forwards %q with prefix %q", uri, prefix)
	}
}

func TestStripPrefix(t *testing.T) {
	tests := []struct{ prefix, line, uri, header string }{
		{"/api", "GET /api/x", "/x", "/api"},
		{"/api", "GET /api", "/", "/api"},
		{"/api", "GET /api?q=/api", "/?q=/api", "/api"},
		{"/api/", "GET /api/x", "/x", "/api/"},
		{"/api/", "GET /api", "/api", ""},
		{" /api ", "GET /api/x", "/x", "/api"},
		{"/", "GET /x", "/x", "/"},
		{"/api", "GET /API/x", "/API/x", ""},
		{"/api", "GET /apiary", "/ary", "/api"},
		{"/api", "GET /%61pi/x", "/x", "/api"},
		{"/a b", "GET /a%20b/c", "/c", "/a%20b"},
		{"/a%20b", "GET /a%20b/c", "/c", "/a%20b"},
		{"/é", "GET /%c3%a9/c", "/c", "/%C3%A9"},
		{"/api/admin", "GET /api%2fadmin/x", "/api%2Fadmin/x", ""},
		{"/api", "GET /api%2fadmin", "/%2Fadmin", "/api"},
		{"/api", "GET /api/x%2fy(z)", "/x%2Fy(z)", "/api"},
		{"/api", "GET /api../admin", "Bad Request", ""},
		{"/api", "GET /api.%2e/admin", "Bad Request", ""},
		{"/api", "GET /api./admin", "Bad Request", ""},
		{"/api", "GET /api/../admin", "/admin", ""},
		{"/api", "OPTIONS *", "*", ""},
	}
	for _, test := range tests {
		uri, prefix := serve(t, build(t, test.prefix), middlewaretest.Request(t, test.line))
		if uri != test.uri || strings.Join(prefix, "|") != test.header {
			t.Errorf("%q of %s gives %q and %q, want %q and %q", test.prefix, test.line, uri, prefix, test.uri, test.header)
		}
	}
}

func TestFirstPrefixWins(t *testing.T) {
	if uri, prefix := serve(t, build(t, "/a", "/a/b"), middlewaretest.Request(t, "GET /a/b/c")); uri != "/b/c" ||
		prefix[0] != "/a" {
		t.Errorf("forwards %q, %q", uri, prefix)
	}
}

func TestUnsanitizedPathCannotGrowAnEmptySegment(t *testing.T) {
	r := middlewaretest.Request(t, "GET /")
	r.URL.Path, r.RequestURI = "/api//admin", "/api//admin"
	if uri, _ := serve(t, build(t, "/api"), r); uri != "Bad Request" {
		t.Errorf("forwards %q", uri)
	}
}

func TestPrefixHeaderIsNotForged(t *testing.T) {
	forged := []string{
		"X-Forwarded-Prefix: /evil", "X-Forwarded-Prefix: /evil2", "x-forwarded-prefix: /evil3",
		"X_Forwarded_Prefix: /evil", "x-forwarded_PREFIX: /evil",
	}
	trust, err := forwarded.NewTrust([]string{"192.0.2.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	peer := netip.MustParseAddr("192.0.2.1")

	r := middlewaretest.Request(t, "GET /api/x", forged...)
	new(forwarded.Policy).Apply(r, peer)
	if _, prefix := serve(t, build(t, "/api"), r); !cmp.Equal(prefix, []string{"/api"}) {
		t.Errorf("an untrusted peer's prefix stays: %q", prefix)
	}

	r = middlewaretest.Request(t, "GET /api/v2/x", "X-Forwarded-Prefix: /outer", "X_Forwarded_Prefix: /evil")
	(&forwarded.Policy{Trusted: trust}).Apply(r, peer)
	serve(t, build(t, "/api"), r)
	r.Header["x_forwarded_prefix"] = []string{"/evil"}
	if _, prefix := serve(t, build(t, "/v2"), r); !cmp.Equal(prefix, []string{"/outer", "/api", "/v2"}) {
		t.Errorf("a trusted peer's prefix and those of two steps are %q", prefix)
	}
	for name := range r.Header {
		if strings.Contains(name, "_") {
			t.Errorf("alias %s passes", name)
		}
	}
}

func TestForceSlashChangesNothing(t *testing.T) {
	for _, force := range []*bool{nil, new(false), new(true)} {
		step, err := New("p@file", dynamic.StripPrefix{Prefixes: []string{"/api"}, ForceSlash: force})
		if err != nil {
			t.Fatal(err)
		}
		for line, want := range map[string]string{
			"GET /api": "/", "GET /api/": "/", "GET /apix": "/x",
			"GET /api/x/": "/x/",
		} {
			if uri, _ := serve(t, step, middlewaretest.Request(t, line)); uri != want {
				t.Errorf("%s gives %q, want %q", line, uri, want)
			}
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	for prefix, reason := range map[string]string{
		"": "does not begin", "api": "does not begin", "/a/..": "dot segment",
		"/%": "percent-encoding",
	} {
		_, err := New("p@file", dynamic.StripPrefix{Prefixes: []string{"/fine", prefix}})
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), `"`+prefix+`"`) {
			t.Errorf("%q: error %v, want %q", prefix, err, reason)
		}
	}
	if _, err := New("p@file", dynamic.StripPrefix{}); err == nil {
		t.Error("no prefixes are accepted")
	}
}

// FuzzStripPrefix asserts that what arrives is canonical and read as it was written, that the query stays, and that
// nothing changes where the answer is 400.
func FuzzStripPrefix(f *testing.F) {
	f.Add("/api", "/api../admin", "q")
	f.Add("/a%2fb", "/a%2Fb/%0d%0a//c", "a=%2F;b")
	f.Add("/%2e%2e/", "/%2e/é", "")
	f.Fuzz(func(t *testing.T, option, path, query string) {
		step, err := New("p@file", dynamic.StripPrefix{Prefixes: []string{option}})
		target, refused := canonical.DefaultPolicy().Apply(path)
		query, flaw := canonical.DefaultPolicy().Query(query)
		if err != nil || refused != nil || flaw != nil || target.Escaped == "*" {
			return
		}
		suffix := ""
		if query != "" {
			suffix = "?" + query
		}
		r := &http.Request{
			Method: http.MethodGet, URL: &url.URL{RawQuery: query}, RequestURI: target.Escaped + suffix,
			Header: http.Header{},
		}
		target.Set(r.URL)
		passed := false
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
		now, _ := canonical.EscapedPath(r)
		if !passed && (w.Status != http.StatusBadRequest || now != target.Escaped || len(r.Header) > 0) {
			t.Fatalf("%q on %q: status %d, path %q, header %v", option, target.Escaped, w.Status, now, r.Header)
		}
		again, err := canonical.DefaultPolicy().Apply(now)
		if err != nil || again.Escaped != now || again.Routing != canonical.RoutingPath(r) || r.RequestURI != now+suffix {
			t.Fatalf("%q on %q: path %q is read as %q (%v), RequestURI %q", option, target.Escaped, now, again, err,
				r.RequestURI)
		}
		for name, values := range r.Header {
			if strings.ContainsFunc(strings.Join(values, ""), func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
				t.Fatalf("%q on %q: %s is %q", option, target.Escaped, name, values)
			}
		}
	})
}

func BenchmarkStripPrefix(b *testing.B) {
	handler := build(b, "/api", "/v2").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	b.Run("idle", func(b *testing.B) {
		r := middlewaretest.Request(b, "GET /other/users/42")
		b.ReportAllocs()
		for b.Loop() {
			handler.ServeHTTP(nil, r)
		}
	})
	b.Run("match", func(b *testing.B) {
		r := middlewaretest.Request(b, "GET /api/users/42")
		b.ReportAllocs()
		for b.Loop() {
			handler.ServeHTTP(nil, r)
			canonical.Target{Escaped: "/api/users/42"}.Set(r.URL)
			delete(r.Header, forwarded.XForwardedPrefix)
		}
	})
}
