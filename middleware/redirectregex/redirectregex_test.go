package redirectregex

import (
	"crypto/tls"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func build(t testing.TB, regex, replacement string) *RedirectRegex {
	t.Helper()
	step, err := New("r@file", dynamic.RedirectRegex{Regex: regex, Replacement: replacement})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// serve returns the status and Location, or "next" when the request passes as it was.
func serve(t *testing.T, step *RedirectRegex, r *http.Request) string {
	t.Helper()
	before, passed := r.RequestURI, false
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		passed = true
		if r.RequestURI != before || r.URL.RequestURI() != before {
			t.Errorf("%q becomes %q, %q", before, r.RequestURI, r.URL)
		}
	})).ServeHTTP(w, r)
	switch {
	case passed && w.Status == 0:
		return "next"
	case passed:
		return "both"
	}
	return strings.TrimSpace(strconv.Itoa(w.Status) + " " + strings.Join(w.Header()["Location"], " and "))
}

// at is a GET request for an http or https URL.
func at(t testing.TB, url string) *http.Request {
	t.Helper()
	scheme, rest, _ := strings.Cut(url, "://")
	host, path := rest, ""
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		host, path = rest[:slash], rest[slash:]
	}
	r := middlewaretest.Request(t, "GET "+path, "Host: "+host)
	if scheme == "https" {
		r.TLS = new(tls.ConnectionState)
	}
	return r
}

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["moved"]
	step, err := New("moved@file", *definition.RedirectRegex)
	if err != nil {
		t.Fatal(err)
	}
	if got := serve(t, step, at(t, "http://www.example.com/a?b")); got != "301 https://example.com/a?b" {
		t.Errorf("answers %q", got)
	}
}

func TestRedirectRegex(t *testing.T) {
	const hosts, www = `^(?:http?:\/\/)(foo)(\.com)(:\d+)(.*)$`, `(https?)://[^/:]+(:[0-9]+)?/(.*)`
	tests := []struct{ regex, replacement, url, want string }{
		{"^http://localhost/(.*)", "http://mydomain/${1}", "http://localhost/a/b?c=d", "302 http://mydomain/a/b?c=d"},
		{"^http://localhost/(.*)", "http://mydomain/${1}", "https://localhost/a", "next"},
		{hosts, "https://${1}bar$2:443$4", "http://foo.com:80/", "302 https://foobar.com:443/"},
		{hosts, "https://${1}bar$2:443$4", "http://bar.com:80/", "next"},
		{hosts, "https://${1}bar$2:443$4", "http://foo.com/", "next"},
		{"^http://", "https://$1", "http://foo/", "302 https://foo/"},
		{"http://foo:80", "https://foo:443", "http://foo:80/", "302 https://foo:443/"},
		{"https://foo:443", "http://foo:80", "https://foo:443/x", "302 http://foo:80/x"},
		{www, "$1://example.com$2/$3", "http://www.example.com/path", "302 http://example.com/path"},
		{www, "$1://example.com$2/$3", "https://www.example.com:8443/path", "302 https://example.com:8443/path"},
		{www, "$1://example.com$2/$3", "http://example.com/", "next"},
		{`^(https?://)www\.(.*)$`, "${1}$2", "https://www.a.org/x?y", "302 https://a.org/x?y"},
		{`^(https?://[^/]+/[a-z0-9_]+)$`, "${1}/", "http://h/no_slash", "302 http://h/no_slash/"},
		{`^(https?://[^/]+/[a-z0-9_]+)$`, "${1}/", "http://h/slash/", "next"},
		{`^https?://h/old/(?P<rest>[^?]*)(\?.*)?$`, "/new/${rest}$2", "http://h/old/a/b?c", "302 /new/a/b?c"},
		{`^https?://h/old/([^?]*).*$`, "/new/$1", "http://h/old/a?b", "302 /new/a"},
		{`/old`, "", "http://h/old/a", "302 http://h/a"},
		{`o`, "0", "http://foo/foo?o", "302 http://f00/f00?0"},
		{`^http://h/(.*)`, "//other/$1", "http://h/a", "302 //other/a"},
		{`^http://h/(.*)`, "app://open/$1", "http://h/a", "302 app://open/a"},
		{`^http://h/(.*)`, "app:///$1", "http://h/a", "302 app:///a"},
		{`^http://h/(.*)`, "mailto:$1@h", "http://h/a", "302 mailto:a@h"},
		{`^http://h/(.*)`, "page-$1", "http://h/a", "302 page-a"},
		{`^http://h/(.*)`, "?page=$1", "http://h/a", "302 ?page=a"},
		{`^http://h/(.*)`, "https://user@h:8443/$1#top", "http://h/a", "302 https://user@h:8443/a#top"},
		{`^http://h/(.*)`, "https://$$1/${x}", "http://h/a", "302 https://$1/"},
		// Canonical forms.
		{`^http://h\.org/`, "https://h.org/", "http://H.ORG./", "302 https://h.org/"},
		{`^http://h\.org:8000/`, "/x", "http://h.Org:8000/", "302 /x"},
		{`^http://\[::1\]:80/`, "/x", "http://[0:0::1]:80/", "302 /x"},
		{`^http://\[::1\]/`, "https://[::1]:8443/", "http://[::1]/", "302 https://[::1]:8443/"},
		{`^http://h/a%2fb`, "/x", "http://h/a%2fb", "302 /x"},
		{`^http://h/a b`, "/x", "http://h/a%20b", "next"},
		{`^http://h/(.*)`, "/x/$1", "http://h/%61//b/../c", "302 /x/a/c"},
		{`^http://h/\*?$`, "/x", "http://h/*", "302 /x"},
		{`^http://h/\??$`, "/x", "http://h/?", "302 /x"},
	}
	for _, test := range tests {
		if got := serve(t, build(t, test.regex, test.replacement), at(t, test.url)); got != test.want {
			t.Errorf("%q to %q: %s gives %q, want %q", test.regex, test.replacement, test.url, got, test.want)
		}
	}
}

func TestForwardedProtoDecidesNothing(t *testing.T) {
	r := at(t, "http://foo/")
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("X-Forwarded-Host", "bar")
	if got := serve(t, build(t, "^http://foo/", "https://foo/"), r); got != "302 https://foo/" {
		t.Errorf("got %q", got)
	}
}

func TestWholeServerHasNoPath(t *testing.T) {
	r := middlewaretest.Request(t, "OPTIONS *", "Host: h")
	if got := serve(t, build(t, "^http://(.*)$", "https://$1"), r); got != "307 https://h" {
		t.Errorf("got %q", got)
	}
}

func TestStatus(t *testing.T) {
	for _, test := range []struct {
		method    string
		permanent bool
		want      int
	}{
		{"GET", false, 302},
		{"HEAD", false, 307},
		{"POST", false, 307},
		{"GET", true, 301},
		{"HEAD", true, 308},
		{"PUT", true, 308},
	} {
		step, err := New("r@file", dynamic.RedirectRegex{
			Regex: "^http://", Replacement: "https://",
			Permanent: test.permanent,
		})
		if err != nil {
			t.Fatal(err)
		}
		got := serve(t, step, middlewaretest.Request(t, test.method+" /a", "Host: h"))
		if want := strconv.Itoa(test.want) + " https://h/a"; got != want {
			t.Errorf("%s, permanent %v: %q, want %q", test.method, test.permanent, got, want)
		}
	}
}

func TestBadDefinitions(t *testing.T) {
	for _, test := range []struct{ regex, replacement, want string }{
		{"", "/", "redirectRegex.regex is empty"},
		{"^(.*", "$1", `redirectRegex.regex "^(.*" is not a regular expression: missing closing )`},
		{strings.Repeat("a", 5000), "/", "has 5000 bytes, more than the 4096"},
		{"a", strings.Repeat("a", 5000), "redirectRegex.replacement has 5000 bytes, more than the 4096"},
		{"a", "/a\r\nSet-Cookie: evil=1", `redirectRegex.replacement "/a\r\nSet-Cookie: evil=1" has a control character`},
	} {
		_, err := New("r@file", dynamic.RedirectRegex{Regex: test.regex, Replacement: test.replacement})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.40q, %.40q: error %v, want %q", test.regex, test.replacement, err, test.want)
		}
	}
}

func BenchmarkRedirectRegex(b *testing.B) {
	handler := build(b, `^https?://www\.example\.com/(.*)`,
		"https://example.com/${1}").Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, url := range map[string]string{
		"idle":     "https://example.com/cart",
		"redirect": "https://www.example.com/cart",
	} {
		b.Run(name, func(b *testing.B) {
			r, w := at(b, url), new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
