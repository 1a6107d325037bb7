package ingressnginx

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/http1/http1test"
)

// TestRewriteServes has what endpoints get, and what clients get of their answers.
func TestRewriteServes(t *testing.T) {
	f := &farm{t: t}
	f.add("main", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://inner.test/a?b=c")
		w.Header().Set("Refresh", "3; url=http://inner.test/r")
		w.Header().Add("Set-Cookie", "one=1; Domain=inner.test; Path=/inner/x")
		w.Header().Add("Set-Cookie", "two=2; Path=/other")
		w.Header().Set("Server", "secret")
		if r.URL.Path == "/moved" {
			w.WriteHeader(http.StatusFound)
		}
	})
	served := f.serve(
		placed{"rewrite", "a.test", "/api(/|$)(.*)", "main", map[string]string{
			"rewrite-target": "/$2", "x-forwarded-prefix": "/api", "upstream-vhost": "inner.test",
		}},
		placed{"edits", "b.test", "/", "main", map[string]string{
			"proxy-redirect-from": "http://inner.test/", "proxy-redirect-to": "https://b.test/out/",
			"proxy-cookie-domain": "inner.test outer.test", "proxy-cookie-path": "/inner/ /",
		}},
		placed{"plain", "c.test", "/", "main", map[string]string{"x-forwarded-prefix": "/unused"}},
	)
	for target, want := range map[string]string{
		"a.test/api/v1/x?q=1": "/v1/x?q=1", "a.test/API/x": "/x", "a.test/api": "/", "a.test/api?q": "/?q",
	} {
		_, got := served.send(t, http.MethodGet, target, "")
		if got.URI != want || got.Host != "inner.test" || got.Header.Get("X-Forwarded-Prefix") != "/api" ||
			len(got.Header.Get("X-Request-Id")) != 32 || got.Header.Get("X-Scheme") != "http" {
			t.Errorf("%s: %+v", target, got)
		}
	}
	response, got := served.send(t, http.MethodGet, "b.test/moved", "")
	header := response.Header
	if response.StatusCode != http.StatusFound || header.Get("Location") != "https://b.test/out/a?b=c" ||
		header.Get("Refresh") != "3; url=https://b.test/out/r" || header.Get("Server") != "" || got.Host != "b.test" {
		t.Errorf("%d %v for %+v", response.StatusCode, header, got)
	}
	const cookies = "one=1; Domain=outer.test; Path=/x|two=2; Path=/other"
	if given := strings.Join(header.Values("Set-Cookie"), "|"); given != cookies {
		t.Errorf("cookies %q", given)
	}
	response, got = served.send(t, http.MethodGet, "c.test/moved", "", "Proxy", "evil", "X-Request-Id", "7f")
	if response.Header.Get("Location") != "http://inner.test/a?b=c" || got.Header.Get("Proxy") != "" ||
		got.Header.Get("X-Request-Id") != "7f" || got.Header.Get("X-Forwarded-Prefix") != "" {
		t.Errorf("%v for %+v", response.Header, got)
	}
}

// TestMirrorServes sends copies of requests as they came, with the body or without.
func TestMirrorServes(t *testing.T) {
	f := &farm{t: t}
	f.add("main", nil)
	copies := make(chan received, 10)
	target := f.add("mirror", func(_ http.ResponseWriter, r *http.Request) {
		copies <- received{Method: r.Method, URI: r.RequestURI, Host: r.Host, Header: r.Header}
	})
	served := f.serve(
		placed{"a", "a.test", "/x(.*)", "main", map[string]string{
			"mirror-target": target + "$request_uri", "mirror-host": "copy.test", "rewrite-target": "/new$1",
		}},
		placed{"b", "b.test", "/", "main", map[string]string{
			"mirror-target": target + "/fixed", "mirror-request-body": "off",
		}},
		placed{"c", "c.test", "/", "main", map[string]string{"mirror-target": "http://$host/x"}},
	)
	for _, one := range []struct{ target, uri, copied, host string }{
		{"a.test/x/y?q=1", "/new/y?q=1", "/x/y?q=1", "copy.test"},
		{"b.test/x?q=1", "/x?q=1", "/fixed?q=1", strings.TrimPrefix(target, "http://")},
	} {
		if _, got := served.send(t, http.MethodPost, one.target, "abc"); got.URI != one.uri || got.Body != "abc" {
			t.Errorf("%s: %+v", one.target, got)
		}
		got := <-copies
		host, _, _ := strings.Cut(got.Host, ":")
		want, _, _ := strings.Cut(one.host, ":")
		if got.Method != http.MethodPost || got.URI != one.copied || host != want {
			t.Errorf("%s: the copy %+v", one.target, got)
		}
	}
	if got := served.get(t, "c.test/"); got != "main0" {
		t.Errorf("with a mirror that is not supported: %q", got)
	}
}

// TestErrorPagesServe has the default backend answer in place of errors of endpoints and of the proxy itself.
func TestErrorPagesServe(t *testing.T) {
	f := &farm{t: t}
	f.add("main", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lost" {
			w.Header().Set("X-Own", "yes")
			w.WriteHeader(http.StatusNotFound)
		}
	})
	f.add("page", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	f.urls["none"] = nil
	pages := func(statuses string, more ...string) map[string]string {
		annotations := map[string]string{"custom-http-errors": statuses, "default-backend": "page"}
		for i := 0; i+1 < len(more); i += 2 {
			annotations[more[i]] = more[i+1]
		}
		return annotations
	}
	served := f.serve(
		placed{"all", "a.test", "/", "main", pages("404,413", "proxy-body-size", "8")},
		placed{"own", "b.test", "/", "main", pages(
			"404,413", "proxy-body-size", "8", "disable-proxy-intercept-errors", "true",
		)},
		placed{"list", "c.test", "/", "main", pages("403", "allowlist-source-range", "10.0.0.0/8")},
		placed{"none", "d.test", "/", "none", pages("503", "default-backend", "")},
		placed{"denied", "e.test", "/", "main", pages("503", "auth-url", "nonsense")},
		placed{"fall", "f.test", "/", "main", map[string]string{"custom-http-errors": "404", "default-backend": "none"}},
	)
	for _, one := range []struct {
		target, body string
		status       int
		endpoint     string
	}{
		{"a.test/lost?q=1", "abc", http.StatusTeapot, "page0"},
		{"a.test/found", "abc", http.StatusOK, "main0"},
		{"a.test/large", "larger than 8", http.StatusTeapot, "page0"},
		{"b.test/lost", "abc", http.StatusNotFound, "main0"},
		{"b.test/large", "larger than 8", http.StatusTeapot, "page0"},
		{"c.test/", "abc", http.StatusTeapot, "page0"},
		{"d.test/", "abc", http.StatusNotFound, ""},
		{"e.test/", "abc", http.StatusServiceUnavailable, ""},
		{"f.test/lost", "abc", http.StatusNotFound, ""},
	} {
		response, got := served.send(t, http.MethodPost, one.target, one.body, "Accept", "text/x")
		if response.StatusCode != one.status || got.Endpoint != one.endpoint {
			t.Errorf("%s: %d, %+v", one.target, response.StatusCode, got)
			continue
		}
		if got.Endpoint != "page0" {
			continue
		}
		_, uri, _ := strings.Cut(one.target, "/")
		_, query, asks := strings.Cut(uri, "?")
		want := "/"
		if asks {
			want += "?" + query
		}
		if got.Method != http.MethodPost || got.URI != want || got.Body != one.body ||
			got.Header.Get("X-Original-Uri") != "/"+uri || got.Header.Get("X-Format") != "text/x" ||
			got.Header.Get("X-Service-Name") != "main" || response.Header.Get("X-Own") != "" {
			t.Errorf("%s: the page got %+v", one.target, got)
		}
	}
}

// TestNextUpstreamServes sends requests to another endpoint after failures.
func TestNextUpstreamServes(t *testing.T) {
	f := &farm{t: t}
	f.add("failing", nil)
	f.urls["failing"] = append(f.urls["failing"], "http://"+http1test.Reserve(t))
	f.add("busy", nil)
	f.add("busy", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	served := f.serve(
		placed{"a", "a.test", "/", "failing", nil},
		placed{"b", "b.test", "/", "failing", map[string]string{"proxy-next-upstream": "off"}},
		placed{"c", "c.test", "/", "busy", nil},
		placed{"d", "d.test", "/", "busy", map[string]string{"proxy-next-upstream": "http_503"}},
		placed{"e", "e.test", "/", "busy", map[string]string{"proxy-next-upstream": "http_503 non_idempotent"}},
	)
	for _, one := range []struct {
		method, host string
		fails        bool
	}{
		{http.MethodGet, "a.test/", false},
		{http.MethodGet, "b.test/", true},
		{http.MethodGet, "c.test/", true},
		{http.MethodGet, "d.test/", false},
		{http.MethodPost, "d.test/", true},
		{http.MethodPost, "e.test/", false},
	} {
		failed := false
		for range 8 {
			response, _ := served.send(t, one.method, one.host, "")
			failed = failed || response.StatusCode != http.StatusOK
		}
		if failed != one.fails {
			t.Errorf("%s %s: failed is %t", one.method, one.host, failed)
		}
	}
}
