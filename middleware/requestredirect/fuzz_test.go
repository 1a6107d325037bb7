package requestredirect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/requestredirect"
)

// FuzzRequestRedirect checks that a Location is one line of ASCII, that it leads to the configured host or that of the
// request, and that its path is canonical.
func FuzzRequestRedirect(f *testing.F) {
	f.Add("www.example.org", "/foo", "/", "h", "/foo//evil.test/..?q", "http", "8080")
	f.Add("", "/a%2fb", "/x y", "[::1]:80", "/a%2Fb/\\\\evil", "https, http", "0")
	f.Add("", "/", "", "h:8443", "/@evil.test/%0d%0a#", "ws", "80@evil.test")
	f.Fuzz(func(t *testing.T, hostname, prefix, replacement, host, target, proto, port string) {
		step, err := requestredirect.New("r@file", dynamic.RequestRedirect{
			Hostname: hostname, StatusCode: http.StatusFound,
			Path: &dynamic.PathModifier{ReplacePrefixMatch: &replacement, Prefix: prefix},
		})
		if err != nil {
			return
		}
		r := &http.Request{
			Method: http.MethodGet, Host: host, RequestURI: target,
			Header: http.Header{"X-Forwarded-Proto": {proto}, "X-Forwarded-Port": {port}},
		}
		if r.URL, err = url.ParseRequestURI(target); err != nil {
			return
		}
		if _, err := canonical.DefaultPolicy().Normalize(r); err != nil || r.RequestURI == "*" {
			return
		}
		wanted, valid := canonical.Host(r.Host)
		if hostname != "" {
			wanted, valid = canonical.Host(hostname)
		}
		w := new(middlewaretest.Writer)
		step.Wrap(nil).ServeHTTP(w, r)
		location := w.Header().Get("Location")
		if !valid {
			if w.Status != http.StatusBadRequest || location != "" {
				t.Fatalf("%q at %q: status %d, Location %q", target, host, w.Status, location)
			}
			return
		}
		if strings.ContainsFunc(location, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' }) {
			t.Fatalf("%q at %q: Location %q", target, host, location)
		}
		to, err := url.Parse(location)
		if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Hostname() != wanted || to.User != nil {
			t.Fatalf("%q at %q: Location %q (%v)", target, host, location, err)
		}
		path, err := canonical.DefaultPolicy().Apply(to.EscapedPath())
		if err != nil || path.Escaped != to.EscapedPath() {
			t.Fatalf("%q with %q for %q: Location %q is read as %q (%v)", target, replacement, prefix, location,
				path.Escaped, err)
		}
	})
}
