package stripprefixregex

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func build(t testing.TB, regex ...string) *StripPrefixRegex {
	t.Helper()
	step, err := New("p@file", dynamic.StripPrefixRegex{Regex: regex})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// serve returns the request target and X-Forwarded-Prefix of the next handler, or the status if it is not called.
func serve(t *testing.T, step *StripPrefixRegex, r *http.Request) (uri string, prefix []string) {
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
	definition := middlewaretest.Examples(t, "README.md")["below-shop"]
	step, err := New("below-shop@file", *definition.StripPrefixRegex)
	if err != nil {
		t.Fatal(err)
	}
	uri, prefix := serve(t, step, middlewaretest.Request(t, "GET /shops/garden/12/cart?id=1"))
	if uri != "/cart?id=1" || !cmp.Equal(prefix, []string{"/shops/garden/12"}) {
		t.Errorf("forwards %q with prefix %q", uri, prefix)
	}
}

func TestStripPrefixRegex(t *testing.T) {
	const documented = "/foo/[a-z0-9]+/[0-9]+/"
	tests := []struct{ regex, line, uri, header string }{
		{documented, "GET /foo/bar1/42/x?q=/foo/a/1/", "/x?q=/foo/a/1/", "/foo/bar1/42/"},
		{documented, "GET /foo/bar1/42/", "/", "/foo/bar1/42/"},
		{documented, "GET /foo/bar1/42", "/foo/bar1/42", ""},
		{documented, "GET /foo/BAR/42/x", "/foo/BAR/42/x", ""},
		{"(?i)" + documented, "GET /foo/BAR/42/x", "/x", "/foo/BAR/42/"},
		{"/products", "GET /products/shoes", "/shoes", "/products"},
		{"/products", "GET /productsale", "/ale", "/products"},
		{"/products", "GET /all/products/shoes", "/all/products/shoes", ""},
		{"^/products", "GET /products", "/", "/products"},
		{"/a$", "GET /a/b", "/a/b", ""},
		{"/a$|/a/", "GET /a/b", "/b", "/a/"},
		{"/(a|ab)", "GET /ab/c", "/b/c", "/a"},
		{"/[^/]+?", "GET /ab/c", "/b/c", "/a"},
		{" /api ", "GET /api/x", "/x", "/api"},
		{"x*", "GET /x", "/x", ""},
		{"/", "GET /x", "/x", "/"},
		{".*", "GET /x/y?z", "/?z", "/x/y"},
		{"/a b", "GET /a%20b/c", "/c", "/a%20b"},
		{"/é+", "GET /%c3%a9%C3%A9/c", "/c", "/%C3%A9%C3%A9"},
		{"/.", "GET /%C3%A9/c", "/c", "/%C3%A9"},
		{"/.", "GET /%ff/c", "/c", "/%FF"},
		{"/api", "GET /%61pi/x", "/x", "/api"},
		{"/a%2fb", "GET /a%2fb/c", "/c", "/a%2Fb"},
		{"/[^/]+", "GET /a%2fb/c", "/c", "/a%2Fb"},
		{"/a/b", "GET /a%2fb/c", "/a%2Fb/c", ""},
		{"/a", "GET /a%2fb", "/%2Fb", "/a"},
		{"/a", "GET /a/b%2f%20c", "/b%2F%20c", "/a"},
		{"/a%0d", "GET /a%0d%0aX-Evil:1/b", "/a%0D%0AX-Evil:1/b", ""},
		{"/a\\r\\n", "GET /a%0d%0aX-Evil:1/b", "/X-Evil:1/b", "/a%0D%0A"},
		{"/a\\x00", "GET /a%00b", "/b", "/a%00"},
		{"/.", "OPTIONS *", "*", ""},
		{"[*]", "OPTIONS *", "*", ""},
		{"/api", "GET /api../admin", "Bad Request", ""},
		{"/api", "GET /api./admin", "Bad Request", ""},
		{"/api", "GET /api..;/admin", "Bad Request", ""},
		{"/api", "GET /api..", "Bad Request", ""},
		{"/a%2", "GET /a%2Fb", "Bad Request", ""},
		{"/..", "GET /a%2Fb", "Bad Request", ""},
	}
	for _, test := range tests {
		var want []string
		if test.header != "" {
			want = []string{test.header}
		}
		uri, header := serve(t, build(t, test.regex), middlewaretest.Request(t, test.line))
		if uri != test.uri || !cmp.Equal(header, want) {
			t.Errorf("%q from %s gives %q with prefix %q, want %q, %q", test.regex, test.line, uri, header, test.uri, want)
		}
	}
}

func TestFirstMatchWins(t *testing.T) {
	step := build(t, "y*", "/b/x", "/a", "/a/b")
	uri, prefix := serve(t, step, middlewaretest.Request(t, "GET /a/b/c"))
	if uri != "/b/c" || !cmp.Equal(prefix, []string{"/a"}) {
		t.Errorf("forwards %q with prefix %q", uri, prefix)
	}
}

func TestTwoInARow(t *testing.T) {
	r := middlewaretest.Request(t, "GET /a/b/c", "X-Forwarded-Prefix: /proxy", "X_Forwarded_Prefix: /evil")
	if uri, _ := serve(t, build(t, "/[a-z]"), r); uri != "/b/c" {
		t.Fatalf("forwards %q", uri)
	}
	uri, prefix := serve(t, build(t, "/[a-z]"), r)
	if want := []string{"/proxy", "/a", "/b"}; uri != "/c" || !cmp.Equal(prefix, want) {
		t.Errorf("forwards %q with prefix %q", uri, prefix)
	}
	if _, found := r.Header["X_forwarded_prefix"]; found {
		t.Errorf("an alias passes: %v", r.Header)
	}
}

// TestEmptySegments covers an entrypoint that does not sanitize paths.
func TestEmptySegments(t *testing.T) {
	for path, want := range map[string]string{
		"/api//admin": "Bad Request", "/api/x//y": "/x//y",
		"/api/../admin": "Bad Request",
	} {
		r := middlewaretest.Request(t, "GET /")
		r.URL, r.RequestURI = &url.URL{Path: path}, path
		if uri, _ := serve(t, build(t, "/api"), r); uri != want {
			t.Errorf("%s gives %q, want %q", path, uri, want)
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	for _, test := range []struct {
		regex []string
		want  string
	}{
		{nil, "stripPrefixRegex.regex is empty"},
		{[]string{"/a", " "}, "stripPrefixRegex.regex: an empty regular expression removes nothing"},
		{[]string{"/a", "/(b"}, `stripPrefixRegex.regex: "/(b" is not a regular expression: missing closing )`},
		{[]string{strings.Repeat("a", 5000)}, "has 5000 bytes, more than the 4096"},
	} {
		_, err := New("p@file", dynamic.StripPrefixRegex{Regex: test.regex})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %q", test.regex, err, test.want)
		}
	}
}

// FuzzStripPrefixRegex asserts that what arrives is canonical and read as it was written, that the prefix and the
// rest are the path from before, and that the header is one line of ASCII.
func FuzzStripPrefixRegex(f *testing.F) {
	f.Add("/api/[^/]+", "/api/a%2Fb/../c")
	f.Add("/.", "/%C3%A9%2e%2e/admin")
	f.Add(".*%", "/a%0d%0a%25%2F..;/")
	f.Fuzz(func(t *testing.T, regex, path string) {
		step, err := New("p@file", dynamic.StripPrefixRegex{Regex: []string{regex}})
		target, refused := canonical.DefaultPolicy().Apply(path)
		if err != nil || refused != nil || target.Escaped == "*" {
			return
		}
		r := &http.Request{
			Method: http.MethodGet, URL: &url.URL{RawQuery: "q"}, RequestURI: target.Escaped + "?q",
			Header: http.Header{},
		}
		target.Set(r.URL)
		passed := false
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
		now, _ := canonical.EscapedPath(r)
		prefix := r.Header.Get("X-Forwarded-Prefix")
		if !passed {
			if w.Status != http.StatusBadRequest || now != target.Escaped || prefix != "" {
				t.Fatalf("%q on %q: status %d, path %q, prefix %q", regex, target.Escaped, w.Status, now, prefix)
			}
			return
		}
		again, err := canonical.DefaultPolicy().Apply(now)
		if err != nil || again.Escaped != now || again.Routing != canonical.RoutingPath(r) || r.RequestURI != now+"?q" {
			t.Fatalf("%q on %q: path %q is read as %q (%v), RequestURI %q", regex, target.Escaped, now, again, err, r.RequestURI)
		}
		if whole := prefix + now; whole != target.Escaped && prefix+strings.TrimPrefix(now, "/") != target.Escaped {
			t.Fatalf("%q on %q: prefix %q and path %q", regex, target.Escaped, prefix, now)
		}
		if strings.ContainsFunc(prefix, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			t.Fatalf("%q on %q: prefix %q", regex, target.Escaped, prefix)
		}
	})
}

func BenchmarkStripPrefixRegex(b *testing.B) {
	handler := build(b, "/foo/[a-z0-9]+/[0-9]+/").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, line := range map[string]string{"idle": "GET /cart/items", "path": "GET /foo/bar/42/x"} {
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, line)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(nil, r)
				if name == "path" {
					canonical.Target{Escaped: "/foo/bar/42/x"}.Set(r.URL)
					delete(r.Header, forwarded.XForwardedPrefix)
				}
			}
		})
	}
}
