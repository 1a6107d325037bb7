package forward_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/forwarded"
)

// seen is an endpoint that keeps its requests.
func seen(into chan<- *http.Request) http.Handler {
	return http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		into <- r
	})
}

func TestTargetIsForwardedExactly(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{options: forward.Options{PassHostHeader: true}}, seen(requests))
	for _, target := range []string{
		"/", "/a/b", "/a%2Fb", "/a%2fb", "/%C3%A9", "/a//b", "//a", "//a%2Fb/", "/a;b=c", "/a'(b)!*", "/[x]", "/a%25%3F%23",
		"/~a",
		"/?", "/?a=b&a=%20&;=;&&", "/?%zz", "/a?b?c", "/a?x=http://h/p",
	} {
		_, reader := g.raw(t, "GET "+target+" HTTP/1.1\r\nHost: example.com\r\n\r\n")
		if _, err := http.ReadResponse(reader, nil); err != nil {
			t.Fatal(target, err)
		}
		equal(t, "target", (<-requests).RequestURI, target)
	}
	g.raw(t, "OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n")
	equal(t, "target", (<-requests).RequestURI, "*")
}

// TestTargetNeverSplitsTheRequestLine shows what HTTP/2 may carry and HTTP/1.1 may not.
func TestTargetNeverSplitsTheRequestLine(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.RawQuery = "a= HTTP/1.1"
			next.ServeHTTP(w, r)
		})
	}}, seen(requests))
	response, _ := g.get(t, "/")
	equal(t, "status", response.StatusCode, http.StatusBadRequest)

	g = newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL.Path, r.URL.RawPath = "/a HTTP/1.1", "/a HTTP/1.1"
			next.ServeHTTP(w, r)
		})
	}}, seen(requests))
	g.get(t, "/")
	equal(t, "target", (<-requests).RequestURI, "/a%20HTTP/1.1")
}

func TestPreservePath(t *testing.T) {
	for _, test := range []struct{ base, target, want string }{
		{"", "/a?b", "/a?b"},
		{"/", "/a", "/a"},
		{"/base", "/", "/base/"},
		{"/base/", "/a%2Fb?c=d", "/base/a%2Fb?c=d"},
		{"/ba%2Fse", "/a", "/ba%2Fse/a"},
	} {
		requests := make(chan *http.Request, 1)
		g := newRig(t, setup{server: dynamic.Server{URL: test.base, PreservePath: true}}, seen(requests))
		g.get(t, test.target)
		equal(t, "target", (<-requests).RequestURI, test.want)
	}
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{server: dynamic.Server{URL: "/base"}}, seen(requests))
	g.get(t, "/a")
	equal(t, "target without preservePath", (<-requests).RequestURI, "/a")
}

// TestPreservePathIsNotLeft sends a path as it arrives with sanitizePath off.
func TestPreservePathIsNotLeft(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{server: dynamic.Server{URL: "/base", PreservePath: true}}, seen(requests))
	for target, want := range map[string]string{
		"/../admin": "400 ", "/a/..": "400 ", "/%2e%2e/admin": "400 ", "/..;/admin": "400 ", "/a//b": "200 /base/a//b",
		"/a..b": "200 /base/a..b",
	} {
		_, reader := g.raw(t, "GET "+target+" HTTP/1.1\r\nHost: a\r\n\r\n")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if response.StatusCode == http.StatusOK {
			got = (<-requests).RequestURI
		}
		equal(t, target, fmt.Sprint(response.StatusCode, " ", got), want)
	}
}

func TestHost(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		for _, pass := range []bool{true, false} {
			requests := make(chan *http.Request, 1)
			s := s
			s.options.PassHostHeader = pass
			g := newRig(t, s, seen(requests))
			r := request(t, http.MethodGet, g.url, nil)
			r.Host = "shop.example"
			g.do(t, r)
			want := "shop.example"
			if member := memberOf(g.pool); !pass {
				want = member.Address()
			}
			equal(t, "host", (<-requests).Host, want)
		}
	})
}

func TestHeadersAreForwarded(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		requests := make(chan *http.Request, 1)
		g := newRig(t, s, seen(requests))
		r := request(t, http.MethodGet, g.url, nil)
		r.Header = http.Header{
			"Accept-Language": {"en", "de"}, "X-Empty": {""}, "Cookie": {"a=b; c=d"}, "User-Agent": {""}, "Te": {"trailers"},
			"X-Forwarded-For": {"192.0.2.7", "192.0.2.8"}, "Proxy-Authorization": {"secret"},
		}
		g.do(t, r)
		equal(t, "headers", (<-requests).Header, http.Header{
			"Accept-Language": {"en", "de"}, "X-Empty": {""}, "Cookie": {"a=b; c=d"}, "Te": {"trailers"},
			"X-Forwarded-For": {"192.0.2.7, 192.0.2.8, 127.0.0.1"},
		})
	})
}

func TestRequestOfTheClientStaysAsItIs(t *testing.T) {
	requests, kept := make(chan *http.Request, 1), make(chan *http.Request, 1)
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r)
			kept <- r
		})
	}}, seen(requests))
	g.raw(t, "GET /a HTTP/1.1\r\nHost: example.com\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Forwarded-For: 192.0.2.7\r\n\r\n")
	if got := (<-requests).Header; got["X-Hop"] != nil {
		t.Errorf("X-Hop was forwarded: %v", got)
	}
	r := <-kept
	equal(t, "headers", r.Header, http.Header{"Connection": {"X-Hop"}, "X-Hop": {"1"}, "X-Forwarded-For": {"192.0.2.7"}})
	equal(t, "target", r.RequestURI+" "+r.URL.String()+" "+r.Host, "/a /a example.com")
}

func TestForwardedForIsKept(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(forwarded.KeepForwardedFor(r.Context())))
		})
	}}, seen(requests))
	r := request(t, http.MethodGet, g.url, nil)
	r.Header.Set(forwarded.XForwardedFor, "192.0.2.7")
	g.do(t, r)
	equal(t, "X-Forwarded-For", (<-requests).Header[forwarded.XForwardedFor], []string{"192.0.2.7"})
	g.get(t, "/")
	equal(t, "X-Forwarded-For", (<-requests).Header[forwarded.XForwardedFor], []string(nil))
}

// TestForwardedForThatAMiddlewareRemoved is about the middleware headers, which leaves a nil value.
func TestForwardedForThatAMiddlewareRemoved(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header[forwarded.XForwardedFor] = nil
			next.ServeHTTP(w, r)
		})
	}}, seen(requests))
	g.get(t, "/")
	equal(t, "X-Forwarded-For", (<-requests).Header[forwarded.XForwardedFor], []string(nil))
}

// TestConnectionTakesNoManagedHeader lists every managed header and its alias in Connection.
func TestConnectionTakesNoManagedHeader(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{}, seen(requests))
	for _, name := range forwarded.Managed() {
		for _, listed := range []string{name, strings.ToLower(name), strings.ReplaceAll(name, "-", "_")} {
			r := request(t, http.MethodGet, g.url, nil)
			r.Header.Set(name, "192.0.2.7")
			r.Header.Set("X-Other", "gone")
			r.Header["Connection"] = []string{listed + ", x-other"}
			g.do(t, r)
			got := <-requests
			if !strings.HasPrefix(got.Header.Get(name), "192.0.2.7") {
				t.Errorf("Connection: %s removed %s", listed, name)
			}
			if got.Header["X-Other"] != nil || got.Header["Connection"] != nil {
				t.Errorf("Connection: %s: forwarded %v", listed, got.Header)
			}
		}
	}
}

func TestHopByHopHeadersStayOnTheirHop(t *testing.T) {
	requests := make(chan *http.Request, 1)
	endpoint := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Keep-Alive": "timeout=5", "Proxy-Authenticate": "Basic", "Proxy-Connection": "close", "Upgrade": "h2c",
			"Connection": "X-Hop, Upgrade", "X-Hop": "1", "X-End": "1",
		} {
			w.Header().Set(name, value)
		}
		requests <- r
	})
	for _, front := range []string{"h1", "h2"} {
		g := newRig(t, setup{front: front}, endpoint)
		r := request(t, http.MethodGet, g.url, nil)
		for name, value := range map[string]string{
			"Keep-Alive": "timeout=5", "Proxy-Authorization": "Basic x", "Proxy-Connection": "close", "Te": "gzip, trailers",
			"X-End": "1",
		} {
			if front == "h1" || name == "Proxy-Authorization" || name == "X-End" {
				r.Header.Set(name, value)
			}
		}
		response, _ := g.do(t, r)
		got := (<-requests).Header
		for _, name := range []string{"Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "Connection", "Upgrade"} {
			if got[name] != nil {
				t.Errorf("%s: the endpoint got %s: %v", front, name, got[name])
			}
		}
		equal(t, "the endpoint's X-End", got.Get("X-End"), "1")
		for _, name := range []string{
			"Keep-Alive", "Proxy-Authenticate", "Proxy-Connection", "Connection", "Upgrade",
			"X-Hop",
		} {
			if response.Header[name] != nil {
				t.Errorf("%s: the client got %s: %v", front, name, response.Header[name])
			}
		}
		equal(t, "the client's X-End", response.Header.Get("X-End"), "1")
	}
}

func TestMethodsAndEmptyBodies(t *testing.T) {
	matrix(t, func(t *testing.T, s setup) {
		requests := make(chan *http.Request, 1)
		g := newRig(t, s, seen(requests))
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "REPORT"} {
			g.do(t, request(t, method, g.url, nil))
			got := <-requests
			equal(t, "method", got.Method, method)
			equal(t, method+": length", got.ContentLength, int64(0))
			g.do(t, request(t, method, g.url, strings.NewReader("body")))
			got = <-requests
			equal(t, method+": length", got.ContentLength, int64(4))
		}
	})
}

func TestURLOfTheClientIsNotShared(t *testing.T) {
	requests := make(chan *http.Request, 1)
	g := newRig(t, setup{around: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.URL = &url.URL{Path: "/p", User: url.UserPassword("u", "secret"), Fragment: "f"}
			next.ServeHTTP(w, r)
			equal(t, "URL", r.URL.String(), "//u:secret@/p#f")
		})
	}}, seen(requests))
	g.get(t, "/")
	got := <-requests
	if got.Header["Authorization"] != nil || got.RequestURI != "/p" {
		t.Errorf("user information reached the endpoint: %s %v", got.RequestURI, got.Header)
	}
}
