package urlrewrite_test

import (
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/urlrewrite"
)

// pass returns the target and the host that the next handler sees, or the status of an answer.
func pass(t *testing.T, config dynamic.URLRewrite, line string) string {
	t.Helper()
	step, err := urlrewrite.New("rewrite@file", config)
	if err != nil {
		t.Fatal(err)
	}
	seen := ""
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = r.Host + " " + r.URL.RequestURI()
	})).ServeHTTP(w, middlewaretest.Request(t, line, "Host: example.com"))
	if w.Status != 0 {
		return http.StatusText(w.Status)
	}
	return seen
}

func TestReadme(t *testing.T) {
	config := *middlewaretest.Examples(t, "README.md")["inner"].URLRewrite
	for line, want := range map[string]string{
		"GET /foo/bar?a":   "shop.internal /xyz/bar?a",
		"GET /foo":         "shop.internal /xyz",
		"GET /foobar?a=/b": "shop.internal /foobar?a=/b",
	} {
		if got := pass(t, config, line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestFullPathKeepsTheQuery(t *testing.T) {
	full := "/one"
	config := dynamic.URLRewrite{Path: &dynamic.PathModifier{FullPath: &full}}
	if got := pass(t, config, "GET /a/b?c=d&e"); got != "example.com /one?c=d&e" {
		t.Errorf("%q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, config := range []dynamic.URLRewrite{
		{}, {Hostname: "a:80"}, {Hostname: "a b"}, {Path: &dynamic.PathModifier{}},
	} {
		if _, err := urlrewrite.New("x", config); err == nil {
			t.Errorf("%+v is accepted", config)
		}
	}
}
