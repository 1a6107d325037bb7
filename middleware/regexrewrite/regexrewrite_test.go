package regexrewrite

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func build(t testing.TB, regex, replacement string) *RegexRewrite {
	t.Helper()
	step, err := New("r@file", dynamic.RegexRewrite{Regex: regex, Replacement: replacement})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// serve returns the target that the next handler gets, or the status and Location.
func serve(t *testing.T, step *RegexRewrite, r *http.Request) string {
	t.Helper()
	target := ""
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		target = r.RequestURI
		if r.URL.RequestURI() != target && target != "*" {
			t.Errorf("URL says %q, RequestURI %q", r.URL.RequestURI(), target)
		}
	})
	w := new(middlewaretest.Writer)
	step.Wrap(next).ServeHTTP(w, r)
	if target == "" {
		target = strings.TrimSpace(http.StatusText(w.Status) + " " + w.Header().Get("Location"))
	}
	return target
}

func TestReadme(t *testing.T) {
	step, err := New("api@file", *middlewaretest.Examples(t, "README.md")["api"].RegexRewrite)
	if err != nil {
		t.Fatal(err)
	}
	r := middlewaretest.Request(t, "GET /API/a%20b?id=1")
	record := &telemetry.Record{Client: "192.0.2.1"}
	if got := serve(t, step, r.WithContext(telemetry.WithRecord(r.Context(), record))); got !=
		"/v1/a%20b?client=192.0.2.1&id=1" {
		t.Errorf("forwards %q", got)
	}
}

func TestRegexRewrite(t *testing.T) {
	for _, test := range []struct{ regex, replacement, line, want string }{
		{"^/api(/|$)(.*)", "/$2", "GET /api", "/"},
		{"^/api(/|$)(.*)", "/$2", "GET /api/v1?a=b", "/v1?a=b"},
		{"^/api(/|$)(.*)", "/$2", "GET /apis?a", "/apis?a"},
		{"/foo", "/bar", "GET /x/foo/y", "/bar"},
		{"(?i)/FOO/(.)", "/$1$1", "GET /foo/%C3%A9", "/%C3%C3"},
		{"^/(.*)", "/x/$1", "GET /a%2Fb%3Fc%25", "/x/a/b%3Fc%25"},
		{"^/(.*)", "/x%20y z/$1", "GET /a", "/x%2520y%20z/a"},
		{"^/foo(.*)", "/$1", "GET /foo/x", "/x"},
		{"^/foo(.*)", "/$1", "GET /foo../x", "Bad Request"},
		{"^/foo(.*)", "$1", "GET /foo/x", "/x"},
		{"^/foo(.*)", "$1", "GET /foox", "Bad Request"},
		{"^/foo(.*)", "$1", "GET /foo", "Internal Server Error"},
		{"^/(?<a>.)(?<b>.)", "/${b}a$a", "GET /xy", "/yax"},
		{"^/(a)|^/(b)", "/x$1y$2z", "GET /b", "/xybz"},
		{"^/(.*)", "/q?p=$1", "GET /a&b?c", "/q?p=a&b&c"},
		{"^/(.*)", "/q?p=$1", "GET /a&b%20c", "/q?p=a%26b%20c"},
		{"^/(.*)", "/q?p=$1", "GET /a+b", "/q?p=a%2Bb"},
		{"^/", "/q?", "GET /a?b", "/q"},
		{"^/", "/q?a=b?", "GET /a?b", "/q?a=b"},
		{"^/", "/q?x y=é", "GET /a", "/q?x%20y=%C3%A9"},
		{"^/", "/q", "GET /a?", "/q"},
		{"^/", "/$host$uri", "GET /a%20b", "/example.com/a%20b"},
		{"^/(.*)", "https://$host/new/$1", "GET /a%20b/c?d", "Found https://example.com/new/a%20b/c?d"},
		{"^/(.*)", "https://x/?p=$1", "GET /a&b%3F?d", "Found https://x/?p=a%26b%3F&d"},
		{"^/(.*)", "https://x/$1?", "GET /a%3Fb%0D%0Ac?d", "Found https://x/a?b%0D"},
		{"^/(.*)", "$scheme://x/$1", "GET /a", "Found http://x/a"},
		{"^/", "http://x/%41%zz%4g%2", "GET /", "Found http://x/Azz"},
		{".", "/x", "OPTIONS *", "*"},
	} {
		r := middlewaretest.Request(t, test.line)
		r.Host = "example.com"
		if got := serve(t, build(t, test.regex, test.replacement), r); got != test.want {
			t.Errorf("%s with %s on %s: %q, want %q", test.regex, test.replacement, test.line, got, test.want)
		}
	}
}

// TestLast rewrites as often as nginx does, with which integration/nginx compares.
func TestLast(t *testing.T) {
	for _, test := range []struct{ regex, replacement, line, want string }{
		{"^/a(a*)$", "/$1", "GET /" + strings.Repeat("a", 10), "/"},
		{"^/a(a*)$", "/$1", "GET /" + strings.Repeat("a", 11), "Internal Server Error"},
		{"^/(.*)$", "/x/$1", "GET /", "Internal Server Error"},
		{"^/old/(.*)$", "/new/$1", "GET /old/a?b", "/new/a?b"},
		{"^/old/(.*)$", "/new/$1", "GET /other", "/other"},
		{"^/a(/.*)$", "$1?$uri$request_uri", "GET /a/a/b", "/b?/a/b/a/a/b&/a/a/b/a/a/b"},
		{"^/a/(.*)$", "/$1/", "GET /a/a/a", "/"},
		{"^/a(.*)$", "$1", "GET /aa", "Bad Request"},
		{"^/(.*)$", "http://x/$1", "GET /a", "Found http://x/a"},
	} {
		step, err := New("r@file", dynamic.RegexRewrite{Regex: test.regex, Replacement: test.replacement, Last: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := serve(t, step, middlewaretest.Request(t, test.line)); got != test.want {
			t.Errorf("%s with %s on %s: %q, want %q", test.regex, test.replacement, test.line, got, test.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct{ regex, replacement, reason string }{
		{"", "/x", "regex is empty"},
		{"^/(?=a)", "/x", "lookahead at byte 2"},
		{"^/(", "/x", "not a regular expression"},
		{"^/", "", "begins with neither"},
		{"^/", "?", "begins with neither"},
		{"^/", "x", "begins with neither"},
		{"^/", "/$nope", "$nope is unknown"},
		{"^/", "/$", "dollar sign"},
		{"^/", "/a\nb", "control character"},
		{"^/", "/$namespace", "no value here"},
		{"^/", "/$ssl_client_cert", "no value here"},
	} {
		_, err := New("r@file", dynamic.RegexRewrite{Regex: test.regex, Replacement: test.replacement})
		if err == nil || !strings.Contains(err.Error(), test.reason) || !strings.HasPrefix(err.Error(), "regexRewrite.re") {
			t.Errorf("%q to %q: %v", test.regex, test.replacement, err)
		}
	}
}

// FuzzRegexRewrite checks that no request leads to an invalid target or header.
func FuzzRegexRewrite(f *testing.F) {
	f.Add("^/api(/|$)(.*)", "/$2?a=$1", "/api/x%0D%0Ay", "q")
	f.Add("(?<n>.*)", "https://x/$n?", "/a%3F%zz", "")
	f.Fuzz(func(t *testing.T, regex, replacement, path, query string) {
		step, err := New("r@file", dynamic.RegexRewrite{Regex: regex, Replacement: replacement})
		if err != nil {
			return
		}
		r := middlewaretest.Request(t, "GET /")
		r.URL.Path, r.URL.RawQuery = "/"+path, strings.ToValidUTF8(strings.Map(func(c rune) rune {
			if c <= ' ' || c >= 0x7f || c == '#' {
				return -1
			}
			return c
		}, query), "")
		r.RequestURI = r.URL.RequestURI()
		got := serve(t, step, r)
		if text, redirected := strings.CutPrefix(got, "Found "); redirected {
			got = text
		} else if !strings.HasPrefix(got, "/") {
			return
		}
		if strings.ContainsFunc(got, func(c rune) bool { return c <= ' ' || c >= 0x7f }) {
			t.Fatalf("%q to %q on %q: %q", regex, replacement, path, got)
		}
	})
}

func BenchmarkRegexRewrite(b *testing.B) {
	step := build(b, "(?i)^/api(/|$)(.*)", "/$2").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, bench := range []struct{ name, line string }{{"path", "GET /api/a/b"}, {"idle", "GET /other/path"}} {
		b.Run(bench.name, func(b *testing.B) {
			r, w := middlewaretest.Request(b, bench.line), new(middlewaretest.Writer)
			path := r.URL.Path
			b.ReportAllocs()
			for b.Loop() {
				r.URL.Path, r.RequestURI = path, path
				step.ServeHTTP(w, r)
			}
		})
	}
}
