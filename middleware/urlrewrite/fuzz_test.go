package urlrewrite_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/urlrewrite"
)

// FuzzURLRewrite checks that the path which arrives is canonical and read as it is written, that the query stays, and
// that nothing changes where the answer is 400.
func FuzzURLRewrite(f *testing.F) {
	f.Add("/foo", "/", "/foo//admin", "q")
	f.Add("/a%2fb", "/x y", "/a%2Fb/%0d%0a//c", "a=%2F;b")
	f.Add("/", "", "/%2e%2e/é;x", "")
	f.Fuzz(func(t *testing.T, prefix, replacement, path, query string) {
		step, err := urlrewrite.New("r@file", dynamic.URLRewrite{
			Path: &dynamic.PathModifier{ReplacePrefixMatch: &replacement, Prefix: prefix},
		})
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
			Method: http.MethodGet, Host: "h", URL: &url.URL{RawQuery: query}, RequestURI: target.Escaped + suffix,
			Header: http.Header{},
		}
		target.Set(r.URL)
		passed := false
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
		now, _ := canonical.EscapedPath(r)
		if !passed && (w.Status != http.StatusBadRequest || now != target.Escaped) {
			t.Fatalf("%q for %q on %q: status %d, path %q", replacement, prefix, target.Escaped, w.Status, now)
		}
		again, err := canonical.DefaultPolicy().Apply(now)
		if err != nil || again.Escaped != now || again.Routing != canonical.RoutingPath(r) || r.RequestURI != now+suffix {
			t.Fatalf("%q for %q on %q: path %q is read as %q (%v), RequestURI %q", replacement, prefix, target.Escaped, now,
				again.Escaped, err, r.RequestURI)
		}
	})
}
