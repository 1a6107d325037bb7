package nginx_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/integration/nginx"
	"github.com/sluiceproxy/sluice/middleware/proxycookie"
	"github.com/sluiceproxy/sluice/middleware/proxyredirect"
)

// headings and headed are how many sets of directives are made, and responses for each of them.
const headings, headed = 300, 20

// heading is what changes headers of responses.
type heading struct {
	redirect     []dynamic.ProxyRewrite
	domain, path []dynamic.ProxyRewrite
	relative     bool
	responses    []http.Header
}

// TestResponseHeaders compares what the middlewares proxyRedirect and proxyCookie make of the headers of responses with
// what the directives of these names make of them.
func TestResponseHeaders(t *testing.T) {
	g := newGenerator(seedOf(t))
	p := nginx.Start(t, nginx.Options{})
	serveHeaders(t, p)
	var all []*heading
	for len(all) < headings {
		one := g.heading()
		if _, err := one.handler(nil); err == nil {
			all = append(all, one)
		}
	}
	changed := 0
	for round := range slices.Chunk(all, 100) {
		if err := p.Reload(headingsOf(p, round)); err != nil {
			t.Fatal(err)
		}
		client := p.Client("web")
		for i, one := range round {
			for _, response := range one.responses {
				changed += one.compare(t, client, "S"+strconv.Itoa(i), response)
			}
		}
		client.CloseIdleConnections()
	}
	t.Logf("%d of %d responses are changed", changed, headings*headed)
	if changed < headings*headed/4 {
		t.Error("these are too few")
	}
}

// compared are the headers that the test is about.
var compared = []string{"Location", "Refresh", "Set-Cookie"}

// serveHeaders answers at a socket with the headers that requests have behind a prefix.
func serveHeaders(t *testing.T, p *nginx.Process) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", p.Socket("echo"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range compared {
			if values := r.Header["Want-"+name]; len(values) > 0 {
				w.Header()[name] = values
			}
		}
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// compare reports whether a response is changed, as 1 or 0.
func (h *heading) compare(t *testing.T, client *http.Client, host string, response http.Header) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/path?q=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range response {
		r.Header["Want-"+name] = values
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	handler, err := h.handler(response)
	if err != nil {
		t.Fatal(err)
	}
	own := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/path?q=1", http.NoBody)
	own.Host = host
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, own)
	got, want := http.Header{}, http.Header{}
	for _, name := range compared {
		if values := answer.Header[name]; len(values) > 0 {
			want[name] = values
		}
		if values := w.Header()[name]; len(values) > 0 {
			got[name] = values
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v makes of %v (-nginx +middleware):\n%s", *h, response, diff)
	}
	if cmp.Equal(response, got) {
		return 0
	}
	return 1
}

// handler returns the middlewares around a handler that answers with the headers.
func (h *heading) handler(header http.Header) (http.Handler, error) {
	var handler http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
	})
	redirect, err := proxyredirect.New("r", dynamic.ProxyRedirect{Rewrites: h.redirect, Relative: h.relative})
	if err != nil {
		return nil, err
	}
	cookie, err := proxycookie.New("c", dynamic.ProxyCookie{Domain: h.domain, Path: h.path})
	if err != nil {
		return nil, err
	}
	return redirect.Wrap(cookie.Wrap(handler)), nil
}

// headingsOf writes one server for each set of directives.
func headingsOf(p *nginx.Process, all []*heading) string {
	var text strings.Builder
	text.WriteString("keepalive_requests 1000000; proxy_http_version 1.1; proxy_set_header Connection \"\";\n")
	fmt.Fprintf(&text, "upstream echo { server unix:%s; keepalive 32; }\n", p.Socket("echo"))
	for i, one := range all {
		absolute := map[bool]string{true: "off", false: "on"}[one.relative]
		fmt.Fprintf(&text, "server { listen unix:%s; server_name s%d; absolute_redirect %s;\n"+
			"  location / { proxy_pass http://echo;\n", p.Socket("web"), i, absolute)
		for directive, rewrites := range map[string][]dynamic.ProxyRewrite{
			"proxy_redirect": one.redirect, "proxy_cookie_domain": one.domain, "proxy_cookie_path": one.path,
		} {
			for _, rewrite := range rewrites {
				fmt.Fprintf(&text, "    %s %s %s;\n", directive, nginx.Quote(rewrite.From), nginx.Quote(rewrite.To))
			}
		}
		text.WriteString("  } }\n")
	}
	return text.String()
}

// heading makes directives and responses.
func (g generator) heading() *heading {
	one := &heading{relative: g.chance(3)}
	for range 1 + g.IntN(3) {
		one.redirect = append(one.redirect, g.rewrite(
			g.one("http://a/", "http://a", "/", "/a", "http://$host/", "~^http://([a-z]+)/(.*)$", "~*/A(?<rest>.*)", "~b",
				"~*^HTTP:"),
			"/", "http://b/", "$scheme://$host/", "https://x", "/b"))
		one.domain = append(one.domain, g.rewrite(
			g.one("a.test", ".a.test", "A.TEST", "$host", "~^\\.?([a-z]+)\\.TEST$", "~b", "b"),
			"c.test", ".c.test", "$host", "d"))
		one.path = append(one.path, g.rewrite(
			g.one("/", "/a", "/a/", "$uri", "~^/([a-z])(.*)$", "~*/A(?<rest>.*)", "~b"), "/", "/b", "/$host/", "/c/"))
	}
	for range headed {
		response := http.Header{}
		if !g.chance(4) {
			response["Location"] = []string{g.url()}
		}
		if g.chance(2) {
			response["Refresh"] = []string{g.one("5; url=", "0;URL=", "1; Url =", "3", "2;url=url=") + g.url()}
		}
		for range g.IntN(3) {
			response["Set-Cookie"] = append(response["Set-Cookie"], strings.Trim(g.cookie(), " "))
		}
		one.responses = append(one.responses, response)
	}
	return one
}

// rewrite makes a rewrite whose groups exist.
func (g generator) rewrite(from string, to ...string) dynamic.ProxyRewrite {
	made := dynamic.ProxyRewrite{From: from, To: g.one(to...)}
	switch {
	case strings.Contains(from, "<rest>"):
		made.To += g.one("", "$rest", "${rest}x", "$1")
	case strings.Contains(from, "("):
		made.To += g.one("", "$1", "x$1/y")
	}
	return made
}

func (g generator) url() string {
	return g.one("http://a/", "http://a", "HTTP://a/", "/", "", "http://s1/", "https://a/b", "/a/", "http://b/", "x") +
		g.one("", "", "a", "b/c", "A/x?y=z", "/", "%20;")
}

func (g generator) cookie() string {
	text := g.one("n=v", "n = v", "n=", "n", "n=v=w", "Path=/a", "")
	for range g.IntN(4) {
		text += g.one(";", "; ", " ;  ") + g.one("Path", "path", "PATH", "Domain", "domain", "Secure", "Expires", "", "x") +
			g.one("=", "=", " = ", "") + g.one("/", "/a", "/a/b", "/path", "a.test", ".a.test", "A.Test", "s1", "b", "")
	}
	return text
}
