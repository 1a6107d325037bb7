package proxysetheader_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/middleware/proxysetheader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t *testing.T, headers ...dynamic.HeaderValue) *proxysetheader.ProxySetHeader {
	t.Helper()
	step, err := proxysetheader.New("set@file", dynamic.ProxySetHeader{Headers: headers})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// pass returns the request as the service gets it; nil when it does not.
func pass(t *testing.T, step *proxysetheader.ProxySetHeader, line string, headers ...string) (*http.Request, int) {
	t.Helper()
	var got *http.Request
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r })).ServeHTTP(w,
		middlewaretest.Request(t, line, headers...))
	return got, w.Status
}

func TestReadme(t *testing.T) {
	config := *middlewaretest.Examples(t, "README.md")["upstream"].ProxySetHeader
	r, _ := pass(t, build(t, config.Headers...), "GET /cart?a=b", "Host: shop.example.com", "X-Debug: 1", "X_Debug: 2",
		"X-Request-ID: 7f", "x-original-uri: /forged", "Accept: */*")
	want := http.Header{"X-Original-Uri": {"/cart?a=b"}, "X-Request-Id": {"7f"}, "Accept": {"*/*"}}
	if diff := cmp.Diff(want, r.Header); diff != "" || r.Host != "shop.internal" {
		t.Errorf("host %q, header (-want +got):\n%s", r.Host, diff)
	}
}

// TestValuesAreThoseOfTheRequest sets headers that other values read.
func TestValuesAreThoseOfTheRequest(t *testing.T) {
	step := build(t, dynamic.HeaderValue{Name: "host", Value: "up.test"},
		dynamic.HeaderValue{Name: "X-A", Value: "$http_x_b"},
		dynamic.HeaderValue{Name: "X-B", Value: "$http_x_a"}, dynamic.HeaderValue{Name: "X-Host", Value: "$host|$http_host"},
		dynamic.HeaderValue{Name: "X-Gone", Value: "$arg_none"}, dynamic.HeaderValue{Name: "X-Control", Value: "$uri"})
	r, _ := pass(t, step, "GET /a%20b", "Host: Up.example:80", "X-A: 1", "X-B: 2", "X-Gone: 3")
	want := http.Header{
		"X-A": {"2"}, "X-B": {"1"}, "X-Host": {"up.example|Up.example:80"}, "X-Control": {"/a b"},
	}
	if diff := cmp.Diff(want, r.Header); diff != "" || r.Host != "up.test" {
		t.Errorf("host %q, header (-want +got):\n%s", r.Host, diff)
	}
}

// TestClient has $remote_addr of a request from a trusted proxy, and of another peer.
func TestClient(t *testing.T) {
	for trusted, want := range map[string]string{"192.0.2.0/24": "198.51.100.7", "10.0.0.0/8": "192.0.2.1"} {
		step, err := proxysetheader.New("set@file", dynamic.ProxySetHeader{
			Headers:    []dynamic.HeaderValue{{Name: "X-Forwarded-For", Value: "$remote_addr"}},
			IPStrategy: &dynamic.IPStrategy{TrustedIPs: []string{trusted}},
		})
		if err != nil {
			t.Fatal(err)
		}
		r, _ := pass(t, step, "GET /", "X-Forwarded-For: 203.0.113.1, 198.51.100.7")
		if got := r.Header["X-Forwarded-For"]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %s", trusted, got, want)
		}
	}
	_, err := proxysetheader.New("set@file", dynamic.ProxySetHeader{
		Headers: []dynamic.HeaderValue{{Name: "A", Value: "b"}}, IPStrategy: &dynamic.IPStrategy{TrustedIPs: []string{"x"}},
	})
	if err == nil || !strings.HasPrefix(err.Error(), "proxySetHeader.ipStrategy.trustedIPs") {
		t.Error(err)
	}
}

func TestHostThatIsNone(t *testing.T) {
	step := build(t, dynamic.HeaderValue{Name: "Host", Value: "$http_x_host"})
	for value, want := range map[string]int{"a.example:8080": 0, "a b": 400, "": 400, "a/b": 400} {
		r, status := pass(t, step, "GET /", "X-Host: "+value)
		if status != want || want == 0 && r.Host != value || want != 0 && r != nil {
			t.Errorf("%q: status %d, request %v", value, status, r)
		}
	}
}

// TestServices has the headers as services get them: X-Forwarded-For as it is set.
func TestServices(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		for value, want := range map[string]string{"$remote_addr": "127.0.0.1", "fixed": "fixed", "$arg_none": ""} {
			step := build(t, dynamic.HeaderValue{Name: "X-Forwarded-For", Value: value},
				dynamic.HeaderValue{Name: "X-Port", Value: "$server_port"})
			endpoint := func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, strings.Join(r.Header["X-Forwarded-For"], "|")+" "+r.Header.Get("X-Port"))
			}
			g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: endpoint})
			_, port, _ := strings.Cut(g.Address, ":")
			_, body, err := g.Do(client, g.Request(http.MethodGet, "/", nil))
			if err != nil || body != want+" "+port {
				t.Errorf("%s: %q, %v", value, body, err)
			}
		}
	})
}

func TestNewRefuses(t *testing.T) {
	one := func(name, value string) []dynamic.HeaderValue {
		return []dynamic.HeaderValue{{Name: name, Value: value}}
	}
	for want, headers := range map[string][]dynamic.HeaderValue{
		"proxySetHeader.headers is empty":                                                  nil,
		`proxySetHeader.headers[0]: "a b" is not a header name`:                            one("a b", "c"),
		"proxySetHeader.headers[1]: a is listed twice":                                     append(one("A", "1"), one("a", "2")...),
		"proxySetHeader.headers[0]: Connection concerns one connection and can't be set":   one("Connection", "close"),
		"proxySetHeader.headers[0]: content_length concerns one connection":                one("content_length", "1"),
		"proxySetHeader.headers[0]: the value of A: the variable $none is unknown":         one("A", "$none"),
		"proxySetHeader.headers[0]: the value of A: byte 1 is a control character":         one("A", "b\r\nC: d"),
		"proxySetHeader.headers[0]: the value of A: there is no pattern that $1":           one("A", "$1"),
		"proxySetHeader.headers[0]: the value of A: the variable $ssl_client_cert has no ": one("A", "$ssl_client_cert"),
		"proxySetHeader.headers[0]: the value of Host is not a host":                       one("Host", "a b"),
		"proxySetHeader.headers[0]: the value of Host is not a host ":                      one("Host", ""),
	} {
		_, err := proxysetheader.New("x", dynamic.ProxySetHeader{Headers: headers})
		if err == nil || !strings.HasPrefix(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func BenchmarkSet(b *testing.B) {
	step, err := proxysetheader.New("x", dynamic.ProxySetHeader{Headers: []dynamic.HeaderValue{
		{Name: "Host", Value: "up.test"},
		{Name: "X-Original-URI", Value: "$request_uri"},
		{Name: "X-Scheme", Value: "$scheme"},
	}})
	if err != nil {
		b.Fatal(err)
	}
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r, w := middlewaretest.Request(b, "GET /cart?a=b"), new(middlewaretest.Writer)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(w, r)
	}
}
