package replacepath

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// serve returns the request of the next handler.
func serve(t *testing.T, step *ReplacePath, r *http.Request) *http.Request {
	t.Helper()
	var seen *http.Request
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = r
		if r.URL.RequestURI() != r.RequestURI {
			t.Errorf("URL says %q, RequestURI %q", r.URL.RequestURI(), r.RequestURI)
		}
	})).ServeHTTP(new(middlewaretest.Writer), r)
	if seen == nil {
		t.Fatal("not forwarded")
	}
	return seen
}

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["only-status"]
	step, err := New("only-status@file", *definition.ReplacePath)
	if err != nil {
		t.Fatal(err)
	}
	r := serve(t, step, middlewaretest.Request(t, "GET /a/b?full=1"))
	if r.RequestURI != "/status?full=1" || r.Header.Get("X-Replaced-Path") != "/a/b" {
		t.Errorf("forwards %q, %q", r.RequestURI, r.Header)
	}
}

func TestReplacePath(t *testing.T) {
	tests := []struct{ path, line, uri, before string }{
		{"/new", "GET /old", "/new", "/old"},
		{"new", "GET /", "/new", "/"},
		{"/new/", "GET /a%2fb%20c?d", "/new/?d", "/a%2Fb%20c"},
		{"/a b?c#d", "GET /x?y", "/a%20b%3Fc%23d?y", "/x"},
		{"/a%2fb", "GET /x", "/a%2Fb", "/x"},
		{"/new", "OPTIONS *", "*", ""},
	}
	for _, test := range tests {
		step, err := New("p@file", dynamic.ReplacePath{Path: test.path})
		if err != nil {
			t.Fatal(err)
		}
		r := serve(t, step, middlewaretest.Request(t, test.line, "X_Replaced_Path: /evil"))
		if r.RequestURI != test.uri || r.Header.Get("X-Replaced-Path") != test.before {
			t.Errorf("%q for %s gives %q and %q, want %q and %q", test.path, test.line, r.RequestURI,
				r.Header.Get("X-Replaced-Path"), test.uri, test.before)
		}
	}
}

// TestValuesFromBefore covers those of a trusted peer and of a replacement before this one: the entrypoint has
// removed all others.
func TestValuesFromBefore(t *testing.T) {
	step, err := New("p@file", dynamic.ReplacePath{Path: "/new"})
	if err != nil {
		t.Fatal(err)
	}
	r := middlewaretest.Request(t, "GET /old", "X-Replaced-Path: /proxy", "X_Replaced_Path: /evil",
		"X-REPLACED_path: /evil", "Accept: a")
	r.Header["x_replaced_path"] = []string{"/evil"}
	want := http.Header{"Accept": {"a"}, "X-Replaced-Path": {"/proxy", "/old", "/new"}}
	if diff := cmp.Diff(want, serve(t, step, serve(t, step, r)).Header); diff != "" {
		t.Error(diff)
	}
}

func TestBadDefinitions(t *testing.T) {
	for path, reason := range map[string]string{
		"": "is empty", "/../x": "dot segment", "/a//b": "empty or dot segment",
		"/%zz": "percent-encoding",
	} {
		_, err := New("p@file", dynamic.ReplacePath{Path: path})
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "replacePath.path") {
			t.Errorf("%q: error %v, want %q", path, err, reason)
		}
	}
}

// FuzzReplacePath asserts that what arrives is canonical and read as it was written, that the query stays, and that
// nothing changes where the answer is 400.
func FuzzReplacePath(f *testing.F) {
	f.Add("/api", "/api../admin", "q")
	f.Add("/a%2fb", "/a%2Fb/%0d%0a//c", "a=%2F;b")
	f.Add("/%2e%2e/", "/%2e/é", "")
	f.Fuzz(func(t *testing.T, option, path, query string) {
		step, err := New("p@file", dynamic.ReplacePath{Path: option})
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

func BenchmarkReplacePath(b *testing.B) {
	step, err := New("p@file", dynamic.ReplacePath{Path: "/status"})
	if err != nil {
		b.Fatal(err)
	}
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, line := range map[string]string{"path": "GET /a/b", "idle": "OPTIONS *"} {
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, line)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(nil, r)
				delete(r.Header, "X-Replaced-Path")
			}
		})
	}
}
