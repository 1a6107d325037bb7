package stripprefix

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
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

// serve returns what the next handler sees: the request target and X-Forwarded-Prefix; or the status when it sees nothing.
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
	if uri, prefix := serve(t, build(t, "/a", "/a/b"), middlewaretest.Request(t, "GET /a/b/c")); uri != "/b/c" || prefix[0] != "/a" {
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
	forged := []string{"X-Forwarded-Prefix: /evil", "X-Forwarded-Prefix: /evil2", "x-forwarded-prefix: /evil3", "X_Forwarded_Prefix: /evil", "x-forwarded_PREFIX: /evil"}
	trust, err := canonical.NewTrust([]string{"192.0.2.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	peer := netip.MustParseAddr("192.0.2.1")

	r := middlewaretest.Request(t, "GET /api/x", forged...)
	new(canonical.Forwarding).Apply(r, peer)
	if _, prefix := serve(t, build(t, "/api"), r); !cmp.Equal(prefix, []string{"/api"}) {
		t.Errorf("an untrusted peer's prefix stays: %q", prefix)
	}

	r = middlewaretest.Request(t, "GET /api/v2/x", "X-Forwarded-Prefix: /outer", "X_Forwarded_Prefix: /evil")
	(&canonical.Forwarding{Trusted: trust}).Apply(r, peer)
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

func TestBadDefinitions(t *testing.T) {
	for prefix, reason := range map[string]string{"": "does not begin", "api": "does not begin", "/a/..": "dot segment", "/%": "percent-encoding"} {
		_, err := New("p@file", dynamic.StripPrefix{Prefixes: []string{"/fine", prefix}})
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), `"`+prefix+`"`) {
			t.Errorf("%q: error %v, want %q", prefix, err, reason)
		}
	}
	if _, err := New("p@file", dynamic.StripPrefix{}); err == nil {
		t.Error("no prefixes are accepted")
	}
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
			delete(r.Header, canonical.XForwardedPrefix)
		}
	})
}
