package canonical

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestSetPath(t *testing.T) {
	tests := []struct {
		name, before, path string
		uri                string // "" when refused
		urlPath, routing   string
		reason             string
	}{
		{name: "plain", before: "/a?q=1", path: "/b", uri: "/b?q=1", urlPath: "/b", routing: "/b"},
		{name: "slash added", before: "/a", path: "b", uri: "/b", urlPath: "/b", routing: "/b"},
		{name: "empty", before: "/a?", path: "", uri: "/?", urlPath: "/", routing: "/"},
		{name: "encoded slash stays", before: "/a", path: "/b%2fc", uri: "/b%2Fc", urlPath: "/b/c", routing: "/b%2Fc"},
		{name: "space", before: "/a", path: "/b%20c", uri: "/b%20c", urlPath: "/b c", routing: "/b c"},
		{name: "sub-delims", before: "/a", path: "/b(c)", uri: "/b(c)", urlPath: "/b(c)", routing: "/b(c)"},
		{name: "stale raw path", before: "/x%2Fy", path: "/b", uri: "/b", urlPath: "/b", routing: "/b"},
		{name: "dot segment", before: "/api../admin", path: "../admin", reason: "dot segment"},
		{name: "encoded dot segment", before: "/a", path: "/b/%2e%2e/c", reason: "dot segment"},
		{name: "dot segment with parameter", before: "/a", path: "/..;/c", reason: "dot segment"},
		{name: "new empty segment", before: "/a", path: "/b//c", reason: "empty segment"},
		{name: "leading empty segment", before: "/a//b", path: "//b", reason: "empty segment"},
		{name: "new segment of parameters", before: "/api;x/admin", path: ";x/admin", reason: "parameters alone"},
		{
			name: "old segment of parameters", before: "/api/;x/a", path: "/;x/a", uri: "/;x/a", urlPath: "/;x/a",
			routing: "/;x/a",
		},
		{name: "old empty segment", before: "/a//b", path: "/c/a//b", uri: "/c/a//b", urlPath: "/c/a//b", routing: "/c/a//b"},
		{name: "invalid encoding", before: "/a", path: "/b%2", reason: "percent-encoding"},
		{name: "line break", before: "/a", path: "/b\r\nc", reason: "control"},
		{name: "query", before: "/a", path: "/b?c", uri: "/b%3Fc", urlPath: "/b?c", routing: "/b%3Fc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := read(t, "GET "+test.before+" HTTP/1.1\r\nHost: h")
			err := SetPath(r, test.path)
			checkReason(t, err, test.reason)
			if test.reason != "" {
				if r.RequestURI != test.before {
					t.Errorf("a refused edit changed the request to %q", r.RequestURI)
				}
				return
			}
			if r.RequestURI != test.uri || r.URL.RequestURI() != test.uri {
				t.Errorf("RequestURI %q, URL %q, want %q", r.RequestURI, r.URL.RequestURI(), test.uri)
			}
			if r.URL.Path != test.urlPath || RoutingPath(r) != test.routing {
				t.Errorf("Path %q, routed by %q, want %q, %q", r.URL.Path, RoutingPath(r), test.urlPath, test.routing)
			}
		})
	}
}

func TestWholeServerHasNoPath(t *testing.T) {
	r := read(t, "OPTIONS * HTTP/1.1\r\nHost: h")
	if _, ok := EscapedPath(r); ok {
		t.Error("EscapedPath is ok for *")
	}
	checkReason(t, SetPath(r, "/a"), "whole server")
	if r.RequestURI != "*" {
		t.Errorf("RequestURI is %q", r.RequestURI)
	}
}

func TestRoutingPathFollowsForeignEdits(t *testing.T) {
	r := read(t, "GET /a%2Fb HTTP/1.1\r\nHost: h")
	r.URL.Path = "/c d/é" // another library's middleware, which leaves RawPath behind
	if got := RoutingPath(r); got != "/c d/é" {
		t.Errorf("RoutingPath = %q", got)
	}
}

func TestLiteral(t *testing.T) {
	tests := []struct{ text, want, reason string }{
		{text: "/a", want: "/a"},
		{text: "a/", want: "/a/"},
		{text: "", want: "/"},
		{text: "/a b/é", want: "/a%20b/%C3%A9"},
		{text: "/a%20b%2fc", want: "/a%20b%2Fc"},
		{text: "/a?b#c", want: "/a%3Fb%23c"},
		{text: "/100%", reason: "percent-encoding"},
		{text: "/a/../b", reason: "dot segment"},
		{text: "/a/%2e", reason: "dot segment"},
		{text: "//a", reason: "empty"},
		{text: "/a/;x", reason: "parameters alone"},
	}
	for _, test := range tests {
		got, err := Literal(test.text)
		checkReason(t, err, test.reason)
		if got != test.want {
			t.Errorf("Literal(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}

// TestRoutingLiteral proves that a configured path is that of the requests for it, however both are encoded.
func TestRoutingLiteral(t *testing.T) {
	for _, row := range [][2]string{
		{"/a/b", "/a/b"},
		{"/my%20products", "/my products"},
		{"/my products", "/my products"},
		{"/caf%C3%A9", "/café"},
		{"/caf%c3%a9", "/café"},
		{"/%7Euser", "/~user"},
		{"/a%3ab", "/a%3Ab"},
		{"/a%2fb%25", "/a%2Fb%25"},
	} {
		got, err := RoutingLiteral(row[0])
		if got != row[1] || err != nil {
			t.Errorf("RoutingLiteral(%q) = %q, %v, want %q", row[0], got, err, row[1])
		}
		target, err := DefaultPolicy().Apply(strings.ReplaceAll(row[0], " ", "%20"))
		if target.Routing != row[1] || err != nil {
			t.Errorf("a request for %q is routed as %q, %v", row[0], target.Routing, err)
		}
	}
	_, err := RoutingLiteral("/100%")
	checkReason(t, err, "percent-encoding")
}

// FuzzSetPath asserts that an edit leaves a request whose every view agrees, and that no prefix can be left again.
func FuzzSetPath(f *testing.F) {
	f.Add("/api../admin", "/api")
	f.Add("/api/%2e%2e%2fadmin", "/api/")
	f.Add("/a//b/é", "/a")
	f.Fuzz(func(t *testing.T, path, prefix string) {
		target, err := DefaultPolicy().Apply(path)
		if err != nil || target.Escaped == "*" || prefix == "" {
			return
		}
		u := new(url.URL)
		target.Set(u)
		r := &http.Request{Method: http.MethodGet, URL: u, RequestURI: target.Escaped}
		edited := target.Escaped
		if cut, ok := strings.CutPrefix(edited, prefix); ok {
			edited = cut
		} else if literal, err := Literal(prefix); err == nil {
			edited = literal + edited
		}
		if SetPath(r, edited) != nil {
			return
		}
		again, err := DefaultPolicy().Apply(r.RequestURI)
		if err != nil || again.Escaped != r.RequestURI || again.Routing != RoutingPath(r) ||
			r.URL.EscapedPath() != again.Escaped {
			t.Fatalf("%q edited to %q: RequestURI %q, URL %q, routed by %q, read again as %q (%v)",
				path, edited, r.RequestURI, r.URL.EscapedPath(), RoutingPath(r), again, err)
		}
	})
}

func BenchmarkSetPath(b *testing.B) {
	r := read(b, "GET /api/v1/users HTTP/1.1\r\nHost: h")
	b.ReportAllocs()
	for b.Loop() {
		if err := SetPath(r, "/v1/users"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRoutingPath(b *testing.B) {
	r := read(b, "GET /api/v1/users HTTP/1.1\r\nHost: h")
	b.ReportAllocs()
	for b.Loop() {
		_ = RoutingPath(r)
	}
}

func TestCutRouting(t *testing.T) {
	tests := []struct {
		escaped      string
		n            int
		prefix, rest string // both empty when it is not ok
	}{
		{"/a/b", 2, "/a", "/b"},
		{"/a/b", 4, "/a/b", ""},
		{"/a/b", 0, "", "/a/b"},
		{"/a/b", 5, "", ""},
		{"/a%20b/c", 4, "/a%20b", "/c"},
		{"/a%2Fb/c", 6, "/a%2Fb", "/c"},
		{"/a%2Fb/c", 4, "", ""},
		{"/a%2Fb/c", 5, "/a%2F", "b/c"},
		{"/%C3%A9/c", 3, "/%C3%A9", "/c"},
		{"/%C3%A9/c", 2, "/%C3", "%A9/c"},
		{"/%", 2, "/%", ""},
	}
	for _, test := range tests {
		prefix, rest, ok := CutRouting(test.escaped, test.n)
		if prefix != test.prefix || rest != test.rest || ok != (prefix+rest != "") {
			t.Errorf("CutRouting(%q, %d) = %q, %q, %v", test.escaped, test.n, prefix, rest, ok)
		}
	}
}

// FuzzCutRouting asserts that both parts of a path route as the parts of its routing path.
func FuzzCutRouting(f *testing.F) {
	f.Add("/a%2Fb%20c/%C3%A9", 5)
	f.Fuzz(func(t *testing.T, path string, n int) {
		target, err := DefaultPolicy().Apply(path)
		if err != nil || n < 0 || n > len(target.Routing) {
			return
		}
		prefix, rest, ok := CutRouting(target.Escaped, n)
		if !ok {
			if at := strings.LastIndexByte(target.Routing[:n], '%'); at < n-2 {
				t.Fatalf("%q is not cut after %q", target.Escaped, target.Routing[:n])
			}
			return
		}
		if prefix+rest != target.Escaped || route(prefix) != target.Routing[:n] || route(rest) != target.Routing[n:] {
			t.Fatalf("%q after %q: %q and %q", target.Escaped, target.Routing[:n], prefix, rest)
		}
	})
}
