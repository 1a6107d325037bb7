package addprefix

import (
	"net/http"
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

// forwarded returns the request target that the next handler sees, or the status when it sees none.
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
