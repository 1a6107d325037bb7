package redirectscheme

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestReadme(t *testing.T) {
	definitions := middlewaretest.Examples(t, "README.md")
	for name, want := range map[string]string{
		"encrypted":      "301 https://example.com/a?b",
		"encrypted-8443": "302 https://example.com:8443/a?b",
	} {
		step, err := New(name+"@file", *definitions[name].RedirectScheme)
		if err != nil {
			t.Fatal(err)
		}
		if got := serve(step, middlewaretest.Request(t, "GET /a?b", "Host: example.com:8000")); got != want {
			t.Errorf("%s answers %q, want %q", name, got, want)
		}
	}
}

// serve returns the status and Location, or "next" when the request passes.
func serve(step *RedirectScheme, r *http.Request) string {
	passed := false
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })).ServeHTTP(w, r)
	switch {
	case passed && w.Status == 0:
		return "next"
	case passed:
		return "both"
	}
	return strings.TrimSpace(strconv.Itoa(w.Status) + " " + w.Header().Get("Location"))
}

// exchange is a request and what it is answered with.
type exchange struct {
	name      string
	config    dynamic.RedirectScheme
	line      string
	host      string
	proto     string
	port      string
	encrypted bool
	want      string
}

func TestTrustedProxies(t *testing.T) {
	https := dynamic.RedirectScheme{Scheme: "https"}
	prove(t, []exchange{
		{name: "several proxies", config: https, host: "h", proto: "https, http", want: "next"},
		{
			name: "several proxies, in clear first", config: https, host: "h", proto: "http,https", encrypted: true,
			want: "302 https://h/",
		},
		{
			name: "port from a proxy", config: dynamic.RedirectScheme{Scheme: "https", Port: "8443"}, host: "h",
			proto: "https", port: "8443", want: "next",
		},
		{
			name: "other port from a proxy", config: dynamic.RedirectScheme{Scheme: "https", Port: "8443"}, host: "h",
			proto: "https", port: "443", want: "302 https://h:8443/",
		},
		{
			name: "port of Host before that of a proxy", config: dynamic.RedirectScheme{Scheme: "https", Port: "8443"},
			host: "h:444", proto: "https", port: "8443", want: "302 https://h:8443/",
		},
		{name: "port of a proxy begins no redirect", config: https, host: "h", proto: "https", port: "8443", want: "next"},
		{name: "port 80 of a proxy that ends TLS", config: https, host: "h", proto: "https", port: "80", want: "next"},
	})
}

func TestRedirectScheme(t *testing.T) {
	https := dynamic.RedirectScheme{Scheme: "https"}
	prove(t, []exchange{
		{name: "http to https", config: https, host: "h", proto: "http", want: "302 https://h/"},
		{name: "there already", config: https, host: "h", proto: "https", want: "next"},
		{name: "there already with the default port", config: https, host: "h:443", proto: "https", want: "next"},
		{name: "there already by websocket", config: https, host: "h", proto: "WSS", want: "next"},
		{name: "websocket in clear", config: https, host: "h", proto: "ws", want: "302 https://h/"},
		{name: "no header, encrypted", config: https, host: "h", encrypted: true, want: "next"},
		{name: "no header, clear", config: https, host: "h", want: "302 https://h/"},
		{
			name: "header wins over the connection", config: https, host: "h", proto: "http", encrypted: true,
			want: "302 https://h/",
		},
		{name: "strange header", config: https, host: "h", proto: "gopher", want: "302 https://h/"},
		{
			name: "websocket on its own port", config: dynamic.RedirectScheme{Scheme: "http", Port: "8000"}, host: "h:8000",
			proto: "ws", want: "next",
		},
		{
			name: "to another scheme", config: dynamic.RedirectScheme{Scheme: "wss", Port: "9000"}, host: "h", proto: "https",
			want: "302 wss://h:9000/",
		},
		{
			name: "mixed case and trailing dot", config: https, host: "H.Example.", proto: "http",
			want: "302 https://h.example/",
		},
		{name: "empty port", config: https, host: "h:", proto: "https", want: "next"},
		{
			name: "encoded line break", config: https, line: "GET /%0d%0aSet-Cookie:a=b", host: "h", proto: "http",
			want: "302 https://h/%0D%0ASet-Cookie:a=b",
		},
		{
			name: "backslash", config: https, line: `GET /\\evil.example?\`, host: "h", proto: "http",
			want: "302 https://h/%5C%5Cevil.example?%5C",
		},
		{
			name: "encoded slash", config: https, line: "GET /%2fevil.example", host: "h", proto: "http",
			want: "302 https://h/%2Fevil.example",
		},
		{name: "other port", config: https, host: "h:8443", proto: "https", want: "302 https://h/"},
		{name: "port dropped", config: https, host: "h:8080", proto: "http", want: "302 https://h/"},
		{
			name: "default port given", config: dynamic.RedirectScheme{Scheme: "https", Port: "443"}, host: "h:80",
			proto: "http", want: "302 https://h/",
		},
		{
			name: "own port", config: dynamic.RedirectScheme{Scheme: "https", Port: "8443"}, host: "h:80", proto: "http",
			want: "302 https://h:8443/",
		},
		{
			name: "on own port", config: dynamic.RedirectScheme{Scheme: "https", Port: "8443"}, host: "h:8443", proto: "https",
			want: "next",
		},
		{
			name: "only the port differs", config: dynamic.RedirectScheme{Scheme: "http", Port: "8000"}, host: "h",
			proto: "http", want: "302 http://h:8000/",
		},
		{
			name: "https to http", config: dynamic.RedirectScheme{Scheme: "HTTP"}, host: "h:443", proto: "https",
			want: "302 http://h/",
		},
		{name: "http to http", config: dynamic.RedirectScheme{Scheme: "http"}, host: "h:80", proto: "http", want: "next"},
		{name: "IPv6", config: https, host: "[2001:db8::1]:80", proto: "http", want: "302 https://[2001:db8::1]/"},
		{
			name: "IPv6 with port", config: dynamic.RedirectScheme{Scheme: "https", Port: "8443"}, host: "[::1]", proto: "http",
			want: "302 https://[::1]:8443/",
		},
		{
			name: "path and query", config: https, line: "GET /a%2Fb//?c=%2f;d&e=?", host: "h", proto: "http",
			want: "302 https://h/a%2Fb/?c=%2f;d&e=?",
		},
		{
			name: "scheme-relative", config: https, line: "GET //evil.example", host: "h", proto: "http",
			want: "302 https://h/evil.example",
		},
		{name: "empty query", config: https, line: "GET /?", host: "h", proto: "http", want: "302 https://h/?"},
		{
			name: "raw bytes in the query", config: https, line: "GET /?é", host: "h", proto: "http",
			want: "302 https://h/?%C3%A9",
		},
		{name: "whole server", config: https, line: "OPTIONS *", host: "h", proto: "http", want: "307 https://h"},
		{
			name: "absolute form", config: https, line: "GET http://other.example:8000/a", host: "h", proto: "http",
			want: "302 https://other.example/a",
		},
		{name: "POST", config: https, line: "POST /a", host: "h", proto: "http", want: "307 https://h/a"},
		{name: "HEAD", config: https, line: "HEAD /a", host: "h", proto: "http", want: "307 https://h/a"},
		{
			name: "permanent", config: dynamic.RedirectScheme{Scheme: "https", Permanent: true}, line: "GET /a", host: "h",
			proto: "http", want: "301 https://h/a",
		},
		{
			name: "permanent PUT", config: dynamic.RedirectScheme{Scheme: "https", Permanent: true}, line: "PUT /a", host: "h",
			proto: "http", want: "308 https://h/a",
		},
		{name: "no host", config: https, proto: "http", want: "400"},
		{name: "bad host", config: https, host: "a@b", proto: "http", want: "400"},
		{name: "bad port", config: https, host: "h:x", proto: "http", want: "400"},
	})
}

func prove(t *testing.T, exchanges []exchange) {
	t.Helper()
	for _, test := range exchanges {
		t.Run(test.name, func(t *testing.T) {
			step, err := New("r@file", test.config)
			if err != nil {
				t.Fatal(err)
			}
			line := test.line
			if line == "" {
				line = "GET /"
			}
			r := middlewaretest.Request(t, line, "Host: h")
			if r.Host == "h" {
				r.Host = test.host
			}
			if test.proto != "" {
				r.Header.Set("X-Forwarded-Proto", test.proto)
			}
			if test.port != "" {
				r.Header.Set("X-Forwarded-Port", test.port)
			}
			if test.encrypted {
				r.TLS = new(tls.ConnectionState)
			}
			if got := serve(step, r); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestBadDefinitions(t *testing.T) {
	for config, reason := range map[dynamic.RedirectScheme]string{
		{}:                                   "redirectScheme.scheme is empty",
		{Scheme: "https://"}:                 `redirectScheme.scheme "https://"`,
		{Scheme: "1http"}:                    `redirectScheme.scheme "1http"`,
		{Scheme: "http\r\nx"}:                "redirectScheme.scheme",
		{Scheme: "https", Port: "0"}:         `redirectScheme.port "0"`,
		{Scheme: "https", Port: "70000"}:     `redirectScheme.port "70000"`,
		{Scheme: "https", Port: ":443"}:      `redirectScheme.port ":443"`,
		{Scheme: "https", Port: "443@evil."}: "redirectScheme.port",
	} {
		if _, err := New("r@file", config); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%+v: error %v, want %q", config, err, reason)
		}
	}
}

// FuzzRedirectScheme checks that a Location has the request's host, path and query, and is one line of ASCII.
func FuzzRedirectScheme(f *testing.F) {
	f.Add("h", "/a%2Fb?c", "http")
	f.Add("[::1]:80", "/\\\\evil?\\é", "ws")
	f.Add("h:8443", "//evil/../%0d%0a", "https, http")
	step, err := New("r@file", dynamic.RedirectScheme{Scheme: "https", Port: "8443"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, host, target, proto string) {
		r := &http.Request{
			Method: http.MethodGet, Host: host, Header: http.Header{"X-Forwarded-Proto": {proto}},
			RequestURI: target,
		}
		var err error
		if r.URL, err = url.ParseRequestURI(target); err != nil {
			return
		}
		if _, err := canonical.DefaultPolicy().Normalize(r); err != nil {
			return
		}
		location, ok := strings.CutPrefix(serve(step, r), "302 ")
		if !ok {
			return
		}
		if strings.ContainsFunc(location, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '\\' }) {
			t.Fatalf("%q at %q: Location %q", target, host, location)
		}
		to, err := url.Parse(location)
		wanted, _ := canonical.Host(r.Host)
		if err != nil || to.Scheme != "https" || to.Hostname() != wanted || to.Port() != "8443" || to.User != nil ||
			to.EscapedPath() != r.URL.EscapedPath() {
			t.Fatalf("%q at %q: Location %q (%v)", target, host, location, err)
		}
	})
}

func BenchmarkRedirectScheme(b *testing.B) {
	step, err := New("r@file", dynamic.RedirectScheme{Scheme: "https"})
	if err != nil {
		b.Fatal(err)
	}
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := middlewaretest.Request(b, "GET /a")
	b.Run("idle", func(b *testing.B) {
		r.Header.Set("X-Forwarded-Proto", "https")
		b.ReportAllocs()
		for b.Loop() {
			handler.ServeHTTP(nil, r)
		}
	})
	b.Run("redirect", func(b *testing.B) {
		r.Header.Set("X-Forwarded-Proto", "http")
		w := new(middlewaretest.Writer)
		b.ReportAllocs()
		for b.Loop() {
			handler.ServeHTTP(w, r)
		}
	})
}

func TestAsNGINX(t *testing.T) {
	config := dynamic.RedirectScheme{Scheme: "https", StatusCode: 308, TrimTrailingSlash: true, AnyPort: true}
	withPort := config
	withPort.Port = "443"
	prove(t, []exchange{
		{name: "any port", config: config, host: "h:8443", proto: "https", want: "next"},
		{name: "port dropped", config: config, host: "h:8080", proto: "http", want: "308 https://h"},
		{name: "one slash", config: config, line: "GET /a/b/", host: "h", proto: "http", want: "308 https://h/a/b"},
		{name: "in the query", config: config, line: "GET /a?b=/", host: "h", proto: "http", want: "308 https://h/a?b="},
		{name: "before a query", config: config, line: "GET /a/?b", host: "h", proto: "http", want: "308 https://h/a/?b"},
		{name: "post", config: config, line: "POST /a", host: "h", proto: "http", want: "308 https://h/a"},
		{name: "port written", config: withPort, line: "GET /a", host: "h", proto: "http", want: "308 https://h:443/a"},
		{name: "port written and any port", config: withPort, host: "h:8443", proto: "https", want: "next"},
	})
	if _, err := New("x@file", dynamic.RedirectScheme{Scheme: "https", StatusCode: 303}); err == nil {
		t.Error("the status 303 is accepted")
	}
}
