package addprefix

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["into-shop"]
	step, err := New("into-shop@file", *definition.AddPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if got := forwarded(t, step, "GET /cart?id=1"); got != "/shop/cart?id=1" {
		t.Errorf("forwards %q", got)
	}
}

// forwarded returns the request target that the next handler gets, or the status if it is not called.
func forwarded(t *testing.T, step *AddPrefix, line string) string {
	t.Helper()
	got := ""
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = r.RequestURI
		if r.URL.RequestURI() != got {
			t.Errorf("URL says %q, RequestURI %q", r.URL.RequestURI(), got)
		}
	})
	w := new(middlewaretest.Writer)
	step.Wrap(next).ServeHTTP(w, middlewaretest.Request(t, line))
	if got == "" {
		got = http.StatusText(w.Status)
	}
	return got
}

func TestAddPrefix(t *testing.T) {
	tests := []struct{ prefix, line, want string }{
		{"/a", "GET /b", "/a/b"},
		{"/a", "GET /", "/a/"},
		{"/a/", "GET /b", "/a/b"},
		{"a", "GET /b", "/a/b"},
		{"/", "GET /b", "/b"},
		{"/a b", "GET /c%2fd?e=%2f&f", "/a%20b/c%2Fd?e=%2f&f"},
		{"/a%2fb", "GET /c", "/a%2Fb/c"},
		{"/a", "OPTIONS *", "*"},
		{"/a", "GET /%2e%2e/b", "/a/b"},
		{"/a?b", "GET /c", "/a%3Fb/c"},
	}
	for _, test := range tests {
		step, err := New("p@file", dynamic.AddPrefix{Prefix: test.prefix})
		if err != nil {
			t.Fatal(err)
		}
		if got := forwarded(t, step, test.line); got != test.want {
			t.Errorf("%q before %s gives %q, want %q", test.prefix, test.line, got, test.want)
		}
	}
}

func TestPrefixCannotBeLeft(t *testing.T) {
	step, err := New("p@file", dynamic.AddPrefix{Prefix: "/a"})
	if err != nil {
		t.Fatal(err)
	}
	r := middlewaretest.Request(t, "GET /")
	r.URL.Path = "/../b" // as an entrypoint that does not sanitize paths lets it through
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("forwarded") })).ServeHTTP(w, r)
	if w.Status != http.StatusBadRequest {
		t.Errorf("status %d", w.Status)
	}
}

func TestBadDefinitions(t *testing.T) {
	for prefix, reason := range map[string]string{
		"":       "addPrefix.prefix is empty",
		"/a/../": "dot segment",
		"//a":    "empty or dot segment",
		"/a%":    "percent-encoding",
	} {
		_, err := New("p@file", dynamic.AddPrefix{Prefix: prefix})
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "addPrefix.prefix") {
			t.Errorf("%q: error %v, want %q", prefix, err, reason)
		}
	}
}

// FuzzAddPrefix asserts that what arrives is canonical and read as it was written, that the query stays, and that
// nothing changes where the answer is 400.
func FuzzAddPrefix(f *testing.F) {
	f.Add("/api", "/api../admin", "q")
	f.Add("/a%2fb", "/a%2Fb/%0d%0a//c", "a=%2F;b")
	f.Add("/%2e%2e/", "/%2e/é", "")
	f.Fuzz(func(t *testing.T, option, path, query string) {
		step, err := New("p@file", dynamic.AddPrefix{Prefix: option})
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
		if literal, err := canonical.Literal(option); passed && (err != nil || now != strings.TrimSuffix(literal, "/")+
			target.Escaped) {
			t.Fatalf("%q on %q: path %q", option, target.Escaped, now)
		}
	})
}

func BenchmarkAddPrefix(b *testing.B) {
	step, err := New("p@file", dynamic.AddPrefix{Prefix: "/shop"})
	if err != nil {
		b.Fatal(err)
	}
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, line := range map[string]string{"path": "GET /cart", "idle": "OPTIONS *"} {
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, line)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(nil, r)
				if name == "path" {
					canonical.Target{Escaped: "/cart"}.Set(r.URL)
				}
			}
		})
	}
}
