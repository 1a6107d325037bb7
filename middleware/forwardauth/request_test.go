package forwardauth

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// written writes down a request as a server got it.
func written(r *http.Request) string {
	var b strings.Builder
	body, err := io.ReadAll(r.Body)
	fmt.Fprintf(&b, "    %s %s to %s\n", r.Method, r.RequestURI, r.Host)
	lines(&b, r.Header)
	if len(body) > 0 || err != nil {
		fmt.Fprintf(&b, "    body %q %v\n", body, err)
	}
	return b.String()
}

// browsed is a request as an entrypoint hands it on that a trusted proxy has sent, whose peer a middleware has set
// about.
func browsed(t testing.TB, line string, headers ...string) *http.Request {
	t.Helper()
	if !slices.ContainsFunc(headers, func(header string) bool { return strings.HasPrefix(header, "Host:") }) {
		headers = append(headers, "Host: example.com")
	}
	r := middlewaretest.Request(t, line, append([]string{
		"Accept: text/html", "Cookie: session=1; theme=dark", "User-Agent: Browser/1", "X-Custom: a", "X-Custom: b",
		"X-Forwarded-For: 198.51.100.7, 203.0.113.9", "X-Forwarded-Prefix: /app", "X-Forwarded-Method: DELETE",
		"X-Forwarded-Uri: /outer",
		"X-Forwarded-Proto: https", "X-Forwarded-Host: outer.example", "X-Real-Ip: 198.51.100.7", "X-Replaced-Path: /old",
	}, headers...)...)
	forwarding := forwarded.Policy{Insecure: true, Server: "edge"}
	address, _ := forwarded.ClientAddr(r.RemoteAddr)
	forwarding.Apply(r, address)
	return r
}

// TestQuestions shows the authentication request under every option that changes it.
func TestQuestions(t *testing.T) {
	get := func(headers ...string) func(testing.TB) *http.Request {
		return func(t testing.TB) *http.Request { return browsed(t, "GET /a%2Fb?q=1&r", headers...) }
	}
	encrypted := func(t testing.TB) *http.Request {
		r := browsed(t, "GET /", "Host: example.com:8443")
		r.TLS = new(tls.ConnectionState)
		return r
	}
	simple := func(t testing.TB) *http.Request { return middlewaretest.Request(t, "GET /") }
	post := func(t testing.TB) *http.Request {
		return with(t, "a=1", "POST /form", "Content-Type: text/plain", "Expect: 100-continue")
	}
	socket := get("Connection: Upgrade", "Upgrade: websocket", "Sec-Websocket-Key: k", "Te: trailers",
		"Proxy-Authorization: Basic eA==")
	handshake := func(t testing.TB) *http.Request {
		r := middlewaretest.Request(t, "GET /", "Connection: Upgrade", "Upgrade: websocket")
		new(forwarded.Policy).Apply(r, netip.MustParseAddr("192.0.2.1"))
		return r
	}
	var b strings.Builder
	for _, test := range []struct {
		name    string
		config  dynamic.ForwardAuth
		request func(testing.TB) *http.Request
	}{
		{"nothing is set", dynamic.ForwardAuth{}, get()},
		{"trustForwardHeader false", dynamic.ForwardAuth{TrustForwardHeader: pointer(false)}, get()},
		{"trustForwardHeader true", dynamic.ForwardAuth{TrustForwardHeader: pointer(true)}, get()},
		{"nothing is set, encrypted, with a port", dynamic.ForwardAuth{}, encrypted},
		{
			"trustForwardHeader false, encrypted, with a port",
			dynamic.ForwardAuth{TrustForwardHeader: pointer(false)},
			encrypted,
		},
		{"nothing is set, a client that says nothing", dynamic.ForwardAuth{}, simple},
		{
			"trustForwardHeader false, a client that says nothing",
			dynamic.ForwardAuth{TrustForwardHeader: pointer(false)},
			simple,
		},
		{
			"trustForwardHeader true, a client that says nothing",
			dynamic.ForwardAuth{TrustForwardHeader: pointer(true)},
			simple,
		},
		{"authRequestHeaders", dynamic.ForwardAuth{AuthRequestHeaders: []string{"cookie", " x-custom", "Missing"}}, get()},
		{"authRequestHeaders, trustForwardHeader false", dynamic.ForwardAuth{AuthRequestHeaders: []string{
			"Cookie",
			"X-Real-Ip",
		}, TrustForwardHeader: pointer(false)}, get()},
		{"authRequestHeaders, trustForwardHeader true", dynamic.ForwardAuth{
			AuthRequestHeaders: []string{"Cookie"},
			TrustForwardHeader: pointer(true),
		}, get()},
		{
			"a WebSocket through a proxy, trustForwardHeader true",
			dynamic.ForwardAuth{TrustForwardHeader: pointer(true)},
			socket,
		},
		{"a WebSocket, trustForwardHeader true", dynamic.ForwardAuth{TrustForwardHeader: pointer(true)}, handshake},
		{"a WebSocket, trustForwardHeader false", dynamic.ForwardAuth{TrustForwardHeader: pointer(false)}, socket},
		{"a body that is not shown", dynamic.ForwardAuth{}, post},
		{"preserveRequestMethod", dynamic.ForwardAuth{PreserveRequestMethod: true}, post},
		{"forwardBody", dynamic.ForwardAuth{ForwardBody: true}, post},
		{"forwardBody, preserveRequestMethod", dynamic.ForwardAuth{ForwardBody: true, PreserveRequestMethod: true}, post},
		{"forwardBody, there is none", dynamic.ForwardAuth{ForwardBody: true}, simple},
		{"credentials in the address", dynamic.ForwardAuth{Address: "http://sluice:s3cret@auth.test/#part"}, simple},
		{
			"credentials in the address, and the client's",
			dynamic.ForwardAuth{Address: "http://sluice:s3cret@auth.test"},
			get("Authorization: Bearer t"),
		},
	} {
		asked := make(chan string, 1)
		step := named(t, test.config, func(_ http.ResponseWriter, r *http.Request) { asked <- written(r) })
		if o := send(t, step, test.request(t), nil); o.service == nil {
			t.Fatalf("%s: answered %d: %s", test.name, o.Code, o.record.Reason)
		}
		fmt.Fprintf(&b, "%s\n%s\n", test.name, <-asked)
	}
	golden(t, "questions.golden", b.String())
}

// TestQuestionsHoldNoAliases has what a server behind a CGI-like interface would take for the headers that are made.
func TestQuestionsHoldNoAliases(t *testing.T) {
	for _, trusted := range []*bool{nil, pointer(false), pointer(true)} {
		got := make(chan http.Header, 1)
		step := named(t, dynamic.ForwardAuth{TrustForwardHeader: trusted}, func(_ http.ResponseWriter, r *http.Request) {
			got <- r.Header
		})
		r := middlewaretest.Request(t, "GET /")
		for _, name := range forwarded.Managed() {
			if alias := strings.ReplaceAll(name, "-", "_"); alias != name {
				r.Header[alias] = []string{"forged"}
			}
			r.Header[strings.ToLower(name)] = []string{"forged"}
		}
		send(t, step, r, nil)
		for name, values := range <-got {
			if name != forwarded.XReplacedPath && strings.Contains(strings.Join(values, " "), "forged") &&
				!strings.EqualFold(name, "x_replaced_path") {
				t.Errorf("%s: %s", name, values)
			}
		}
	}
}

// TestAuthRequestLeavesTheRequestAlone has a service that gets what the client has sent, without a header of the
// authentication request.
func TestAuthRequestLeavesTheRequestAlone(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{TrustForwardHeader: pointer(false), AuthRequestHeaders: []string{"Cookie"}},
		func(http.ResponseWriter, *http.Request) {})
	r := browsed(t, "GET /a?b", "Connection: Upgrade", "Upgrade: websocket")
	want := r.Header.Clone()
	o := send(t, step, r, nil)
	if diff := cmp.Diff(want, o.service.Header); diff != "" || o.service.Method != http.MethodGet ||
		o.service.RequestURI != "/a?b" {
		t.Errorf("%s %s: %s", o.service.Method, o.service.RequestURI, diff)
	}
}

// TestAuthRequestEndsWithTheHandler has servers that answer before they have read the authentication request. The
// memory of a request is used again once its handler has returned.
func TestAuthRequestEndsWithTheHandler(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{ForwardBody: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusForbidden)
	})
	for range 20 {
		r := with(t, strings.Repeat("x", 1<<20), "POST /")
		for i := range 100 {
			r.Header[fmt.Sprintf("X-Long-%d", i)] = []string{strings.Repeat("x", 5000)}
		}
		if o := send(t, step, r, nil); o.service != nil {
			t.Fatal("passes")
		}
		for _, values := range r.Header {
			values[0] = "another's"
		}
		clear(r.Header)
	}
}

// TestAddressOfTheClient looks at peers of all kinds.
func TestAddressOfTheClient(t *testing.T) {
	for peer, want := range map[string]string{
		"192.0.2.1:1234": "192.0.2.1", "[2001:db8::1]:1": "2001:db8::1", "[::ffff:192.0.2.1]:1": "192.0.2.1",
		"[fe80::1%eth0]:1": "fe80::1", "@": "", "": "",
	} {
		for _, trusted := range []*bool{nil, pointer(false), pointer(true)} {
			step := build(t, dynamic.ForwardAuth{Address: "http://auth.test", TrustForwardHeader: trusted})
			r := middlewaretest.Request(t, "GET /", "X-Forwarded-For: 203.0.113.1")
			r.RemoteAddr = peer
			expected := want
			if trusted != nil && *trusted {
				expected = strings.TrimSuffix("203.0.113.1, "+want, ", ")
			}
			if got := strings.Join(step.settings.headers(r)[forwarded.XForwardedFor], "|"); got != expected {
				t.Errorf("%q: %q, %q is wanted", peer, got, expected)
			}
		}
	}
}
