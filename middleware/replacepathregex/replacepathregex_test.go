package replacepathregex

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func build(t testing.TB, regex, replacement string) *ReplacePathRegex {
	t.Helper()
	step, err := New("p@file", dynamic.ReplacePathRegex{Regex: regex, Replacement: replacement})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// serve returns the request target and X-Replaced-Path of the next handler, or the status if it is not called.
func serve(t *testing.T, step *ReplacePathRegex, r *http.Request) (uri string, before []string) {
	t.Helper()
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		uri, before = r.RequestURI, r.Header["X-Replaced-Path"]
		if r.URL.RequestURI() != uri {
			t.Errorf("URL says %q, RequestURI %q", r.URL.RequestURI(), uri)
		}
	})
	w := new(middlewaretest.Writer)
	step.Wrap(next).ServeHTTP(w, r)
	if uri == "" {
		uri = http.StatusText(w.Status)
	}
	return uri, before
}

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["foo-is-bar"]
	step, err := New("foo-is-bar@file", *definition.ReplacePathRegex)
	if err != nil {
		t.Fatal(err)
	}
	uri, before := serve(t, step, middlewaretest.Request(t, "GET /foo/a%20b?id=1"))
	if uri != "/bar/a%20b?id=1" || !cmp.Equal(before, []string{"/foo/a%20b"}) {
		t.Errorf("forwards %q, before %q", uri, before)
	}
}

func TestReplacePathRegex(t *testing.T) {
	const refused = "Bad Request"
	tests := []struct{ regex, replacement, line, uri string }{
		{"^/foo/(.*)", "/bar/$1", "GET /foo/x/y?q=/foo/z", "/bar/x/y?q=/foo/z"},
		{"^/foo/(.*)", "/bar/$1", "GET /foo/", "/bar/"},
		{"^/foo/(.*)", "/bar/$1", "GET /fo/o", ""},
		{"/who", "/me", "GET /who/and/who", "/me/and/me"},
		{"/who", "", "GET /who/and/who", "/and"},
		{" /who ", " ", "GET /who/and/who", "/and"},
		{"/who", "", "GET /who", "/"},
		{"^(?i)/downloads/([^/]+)/([^/]+)$", "/downloads/$1-$2", "GET /downLoads/src/a.go", "/downloads/src-a.go"},
		{"^/(?P<year>[0-9]+)/(?P<month>[0-9]+)", "/archive/${year}x$month", "GET /2026/11/a", "/archive/2026x11/a"},
		{"^/([a-z])", "/$1x", "GET /ab", "/b"},
		{"^/(a)", "/x$1y", "GET /ab", "/xb"},
		{"^/(a)", "/${1}x$$1$", "GET /ab", "/ax$1$b"},
		{"^/(a)", "/x${", "GET /ab", "/x$%7Bb"},
		{"^/(a)", "/x$3", "GET /ab", "/xb"},
		{"^/", "", "GET /a", "/a"},
		{"^/a", "b", "GET /a", "/b"},
		{"^/a$", "/b?c#d e", "GET /a?f", "/b%3Fc%23d%20e?f"},
		{"/aaa/bbb", "/a%2fb", "GET /aaa/bbb", "/a%2Fb"},
		{"^/(.*)/(.*)$", "/$1%2F$2", "GET /a/b", "/a%2Fb"},
		{"/a%2fb", "/c", "GET /a%2fb", "/c"},
		{"/a%2Fb", "/c", "GET /a%2fb", "/c"},
		{"/a/b", "/c", "GET /a%2fb", ""},
		{"/a%20b", "/c", "GET /a%20b", "/c"},
		{"/a b", "/c", "GET /a%20b", ""},
		{"^/é", "/c", "GET /%c3%a9", ""},
		{"^/%c3%a9", "/é", "GET /é", "/%C3%A9"},
		{"^/%c3%a9", "/ü", "GET /é", "/%C3%BC"},
		{"^/foo/(.*)", "/$1", "GET /foo/%08bar", "/%08bar"},
		{"^/foo/(.*)", "/$1", "GET /foo/%0d%0aX:1", "/%0D%0AX:1"},
		{"^/foo/(.*)", "/$1", "GET /foo/%00%5c\\", "/%00%5C%5C"},
		{"^/foo(.*)", "/$1", "GET /foo../bar", refused},
		{"^/foo(.*)", "/$1", "GET /foo./bar", refused},
		{"^/foo(.*)", "/$1", "GET /foo..;/bar", refused},
		{"^/foo(.*)", "/$1", "GET /foo/bar", refused},
		{"^/foo/?(.*)", "/$1", "GET /foo/bar", "/bar"},
		{"^/a", "/b/..", "GET /a", refused},
		{"^/a", "/b/%2e%2E/", "GET /a/c", refused},
		{"^/a-(.*)$", "/%$1", "GET /a-2e", refused},
		{"^/a-(.*)$", "/%2$1%2$1/x", "GET /a-e", refused},
		{"^/a-(.*)$", "/%2$1", "GET /a-f", "/%2F"},
		{"a", "%", "GET /a", refused},
		{"a", "%%%", "GET /a", refused},
		{".", strings.Repeat("$0", 1500), "GET /" + strings.Repeat("a", 50), refused},
		{"a", "b", "GET /" + strings.Repeat("a", 1024), "/" + strings.Repeat("b", 1024)},
		{"a", "b", "GET /" + strings.Repeat("a", 1025), refused},
		{".*", "/x", "OPTIONS *", ""},
	}
	for _, test := range tests {
		r := middlewaretest.Request(t, test.line)
		path, _, _ := strings.Cut(r.RequestURI, "?")
		want, wantBefore := test.uri, []string{path}
		if want == "" || want == refused {
			wantBefore = nil
		}
		if want == "" {
			want = r.RequestURI
		}
		uri, got := serve(t, build(t, test.regex, test.replacement), r)
		if uri != want || !cmp.Equal(got, wantBefore) {
			t.Errorf("%q to %.40q from %s gives %q, before %q, want %q, %q", test.regex, test.replacement, test.line, uri, got,
				want, wantBefore)
		}
	}
}

func TestTwoInARow(t *testing.T) {
	r := middlewaretest.Request(t, "GET /a", "X-Replaced-Path: /proxy", "X_Replaced_Path: /evil")
	serve(t, build(t, "a", "b"), r)
	uri, before := serve(t, build(t, "b", "c"), r)
	if want := []string{"/proxy", "/a", "/b"}; uri != "/c" || !cmp.Equal(before, want) {
		t.Errorf("forwards %q, before %q", uri, before)
	}
	if _, found := r.Header["X_replaced_path"]; found {
		t.Errorf("an alias passes: %v", r.Header)
	}
}

// TestEmptySegments covers an entrypoint that does not sanitize paths: what was there may stay, but not come to the
// front.
func TestEmptySegments(t *testing.T) {
	for replacement, want := range map[string]string{"/b$1": "/b//c", "/$1": "Bad Request", "$1": "Bad Request", "": "/"} {
		r := middlewaretest.Request(t, "GET /")
		r.URL, r.RequestURI = &url.URL{Path: "/a//c"}, "/a//c"
		if uri, _ := serve(t, build(t, "^/a(.*)$", replacement), r); uri != want {
			t.Errorf("%q gives %q, want %q", replacement, uri, want)
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	for _, test := range []struct{ regex, replacement, want string }{
		{"", "/a", "replacePathRegex.regex is empty"},
		{"  ", "/a", "replacePathRegex.regex is empty"},
		{
			"^(?err)/a", "/a",
			`replacePathRegex.regex "^(?err)/a" is not a regular expression: invalid or unsupported Perl syntax`,
		},
		{strings.Repeat("a", 5000), "/a", "has 5000 bytes, more than the 4096"},
		{"a", strings.Repeat("a", 5000), "replacePathRegex.replacement has 5000 bytes, more than the 4096"},
		{"a", "/a\r\nX-Evil: 1", `replacePathRegex.replacement "/a\r\nX-Evil: 1" has a control character`},
		{"a", "/a\x7fb", "has a control character"},
	} {
		_, err := New("p@file", dynamic.ReplacePathRegex{Regex: test.regex, Replacement: test.replacement})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q, %.40q: error %v, want %q", test.regex, test.replacement, err, test.want)
		}
	}
}

// FuzzReplacePathRegex asserts that what arrives is canonical and read as it was written, has no dot segment and no
// new empty one, is what Go's own package makes of a plain path, and that nothing changes where the answer is 400.
func FuzzReplacePathRegex(f *testing.F) {
	f.Add("^/foo/(.*)", "/$1", "/foo/..%2fadmin")
	f.Add("^/foo(.*)", "/$1", "/foo../%0d%0a")
	f.Add("(?P<a>.)", "${a}%$a#", "/%C3%A9//b")
	f.Fuzz(func(t *testing.T, regex, replacement, path string) {
		step, err := New("p@file", dynamic.ReplacePathRegex{Regex: regex, Replacement: replacement})
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
		before, said := r.Header["X-Replaced-Path"]
		if said && (len(before) != 1 || before[0] != target.Escaped) || !said && now != target.Escaped {
			t.Fatalf("%q to %q on %q: path %q, before %q", regex, replacement, target.Escaped, now, before)
		}
		if !passed {
			if w.Status != http.StatusBadRequest || said {
				t.Fatalf("%q to %q on %q: status %d, path %q", regex, replacement, target.Escaped, w.Status, now)
			}
			return
		}
		again, err := canonical.DefaultPolicy().Apply(now)
		if err != nil || again.Escaped != now || again.Routing != canonical.RoutingPath(r) || r.RequestURI != now+"?q" {
			t.Fatalf("%q to %q on %q: path %q is read as %q (%v), RequestURI %q", regex, replacement, target.Escaped, now, again,
				err, r.RequestURI)
		}
		if strings.ContainsFunc(regex+replacement+path, func(c rune) bool {
			return c <= ' ' || c >= 0x7f || c == '%' || c == '#'
		}) {
			return
		}
		want := regexp.MustCompile(regex).ReplaceAllString(path, replacement)
		if decoded := r.URL.Path; decoded != want && decoded != "/"+want && path == target.Escaped {
			t.Fatalf("%q to %q on %q: path %q, want %q", regex, replacement, path, decoded, want)
		}
	})
}

func BenchmarkReplacePathRegex(b *testing.B) {
	handler := build(b, "^/foo/(.*)", "/bar/$1").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, line := range map[string]string{"idle": "GET /cart/items", "path": "GET /foo/x"} {
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, line)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(nil, r)
				if name == "path" {
					canonical.Target{Escaped: "/foo/x"}.Set(r.URL)
					delete(r.Header, forwarded.XReplacedPath)
				}
			}
		})
	}
}
