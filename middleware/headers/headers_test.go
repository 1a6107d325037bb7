package headers

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func build(t testing.TB, config dynamic.Headers) *Headers {
	t.Helper()
	step, err := New("h@file", config)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

func TestReadme(t *testing.T) {
	step := build(t, *middlewaretest.Examples(t, "README.md")["tidy"].Headers)
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if diff := cmp.Diff(http.Header{"X-Team": {"shop"}, "Accept": {"a"}}, r.Header); diff != "" ||
			r.Host != "internal.example" {
			t.Errorf("host %q, headers %s", r.Host, diff)
		}
		w.Header().Set("Server", "secret/1.0")
		w.WriteHeader(http.StatusTeapot)
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /", "Cookie: a=b", "Accept: a"))
	if diff := cmp.Diff(http.Header{"X-Served-By": {"edge"}}, w.Header()); diff != "" || w.Status != http.StatusTeapot {
		t.Errorf("status %d, headers %s", w.Status, diff)
	}
}

func TestReadmeOfCORSAndSecurity(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	shop := build(t, *examples["shared-with-the-shop"].Headers)
	answer, asked := ask(t, shop, middlewaretest.Request(t, "OPTIONS /", preflight("https://shop.example")[1:]...), nil)
	want := http.Header{
		allowOrigin: {"https://shop.example"}, allowMethods: {"GET,PUT"}, allowHeaders: {"*"},
		maxAge: {"600"}, "Content-Length": {"0"},
	}
	if diff := cmp.Diff(want, answer.Header); diff != "" || asked {
		t.Errorf("service got the request: %v, headers %s", asked, diff)
	}
	strict := build(t, *examples["strict"].Headers)
	r := middlewaretest.Request(t, "GET /")
	r.TLS = new(tls.ConnectionState)
	answer, _ = ask(t, strict, r, nil)
	want = http.Header{
		"Strict-Transport-Security": {"max-age=31536000; includeSubDomains"}, "X-Frame-Options": {"DENY"},
		"X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"same-origin"},
	}
	if diff := cmp.Diff(want, answer.Header); diff != "" {
		t.Error(diff)
	}
	if answer, asked := ask(t, strict, middlewaretest.Request(t, "GET /", "Host: other.example"), nil); asked ||
		answer.StatusCode != http.StatusInternalServerError {
		t.Errorf("status %d", answer.StatusCode)
	}
}

func TestRequestHeaders(t *testing.T) {
	tests := []struct {
		name     string
		edits    map[string]string
		in, want http.Header
	}{
		{"set", map[string]string{"x-a": "1"}, http.Header{}, http.Header{"X-A": {"1"}}},
		{"replace all values", map[string]string{"X-A": "1"}, http.Header{"X-A": {"2", "3"}}, http.Header{"X-A": {"1"}}},
		{"replace aliases", map[string]string{"X-User-Id": "1"}, http.Header{
			"X_User_Id": {"2"}, "x-user_id": {"3"},
			"X-User-Ids": {"4"},
		}, http.Header{"X-User-Id": {"1"}, "X-User-Ids": {"4"}}},
		{
			"remove",
			map[string]string{"X-A": ""},
			http.Header{"X-A": {"2"}, "x_a": {"3"}, "X-B": {"4"}},
			http.Header{"X-B": {"4"}},
		},
		{"remove what is absent", map[string]string{"X-A": ""}, http.Header{}, http.Header{}},
		{
			"keep the client out of X-Forwarded-For",
			map[string]string{"x-forwarded-for": ""},
			http.Header{"X-Forwarded-For": {"1"}},
			http.Header{"X-Forwarded-For": nil},
		},
		{
			"value on several lines",
			map[string]string{"X-A": "a 'b';\n  c\n"},
			http.Header{},
			http.Header{"X-A": {"a 'b'; c"}},
		},
		{"name with an underscore", map[string]string{"X_A": "1"}, http.Header{"X-A": {"2"}}, http.Header{"X_a": {"1"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := &http.Request{Header: test.in, Host: "h"}
			build(t, dynamic.Headers{CustomRequestHeaders: test.edits}).Wrap(http.HandlerFunc(func(_ http.ResponseWriter,
				r *http.Request,
			) {
				if diff := cmp.Diff(test.want, r.Header); diff != "" {
					t.Error(diff)
				}
			})).ServeHTTP(nil, r)
			if r.Host != "h" {
				t.Errorf("host is %q", r.Host)
			}
		})
	}
}

func TestRequestsShareNothing(t *testing.T) {
	step := build(t, dynamic.Headers{CustomRequestHeaders: map[string]string{"X-A": "1", "X-B": "2"}})
	for range 2 {
		step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if got := r.Header["X-A"]; got[0] != "1" || r.Header.Get("X-B") != "2" {
				t.Errorf("headers are %q", r.Header)
			}
			r.Header["X-A"][0] = "changed in place"
			r.Header.Add("X-A", "appended")
			if got := r.Header.Get("X-B"); got != "2" {
				t.Errorf("appending to X-A changed X-B to %q", got)
			}
		})).ServeHTTP(nil, middlewaretest.Request(t, "GET /"))
	}
}

func TestBadDefinitions(t *testing.T) {
	tests := []struct {
		edits  map[string]string
		reason string
	}{
		{nil, "headers sets nothing"},
		{map[string]string{"X-A": "1", "x-a": "2"}, `"X-A" and "x-a" are the same header`},
		{map[string]string{"X A": "1"}, `"X..." is not a header name`},
		{map[string]string{"": "1"}, `"" is not a header name`},
		{map[string]string{"X-É": "1"}, "is not a header name"},
		{map[string]string{"X-A:": ""}, "is not a header name"},
		{map[string]string{"X-A": "1\r\nX-B: 2"}, "the value of X-A has a control character"},
		{map[string]string{"X-A": "1\x002"}, "the value of X-A has a control character"},
		{map[string]string{"content-length": "1"}, "content-length frames the message"},
		{map[string]string{"Transfer-Encoding": "chunked"}, "frames the message"},
	}
	for _, test := range tests {
		for option, config := range map[string]dynamic.Headers{
			"customRequestHeaders":  {CustomRequestHeaders: test.edits},
			"customResponseHeaders": {CustomResponseHeaders: test.edits},
		} {
			_, err := New("h@file", config)
			if err == nil || !strings.Contains(err.Error(), test.reason) || test.edits != nil && !strings.Contains(err.Error(),
				option) {
				t.Errorf("%s %q: error %v, want %q", option, test.edits, err, test.reason)
			}
		}
	}
	for host, reason := range map[string]string{
		"": "can't be removed", "a b": `Host "a b" is not a host`,
		"u@h": "is not a host",
	} {
		_, err := New("h@file", dynamic.Headers{CustomRequestHeaders: map[string]string{"host": host}})
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("Host %q: error %v, want %q", host, err, reason)
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	r := middlewaretest.Request(b, "GET /", "Accept: a", "Accept-Encoding: gzip", "Accept-Language: en", "User-Agent: b",
		"Cookie: a=b")
	far := middlewaretest.Request(b, "GET /", "Accept: a", "Accept-Encoding: gzip", "Origin: https://a.example",
		"User-Agent: b", "Cookie: a=b")
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	w := new(middlewaretest.Writer)
	list := []string{"https://b.example", "https://a.example"}
	for _, test := range []struct {
		name    string
		config  dynamic.Headers
		request *http.Request
	}{
		// What has nothing to do for the request.
		{"idle/hosts", dynamic.Headers{AllowedHosts: []string{"example.com"}}, r},
		{"idle/cors", dynamic.Headers{AccessControlAllowOriginList: list}, r},
		{"idle/sts", dynamic.Headers{STSSeconds: new(int64(1))}, r},
		{"idle/inert", dynamic.Headers{IsDevelopment: true}, r},

		{"host", dynamic.Headers{CustomRequestHeaders: map[string]string{"Host": "internal.example"}}, r},
		{"remove", dynamic.Headers{CustomRequestHeaders: map[string]string{"X-Secret": ""}}, r},
		{"request", dynamic.Headers{CustomRequestHeaders: map[string]string{"X-Team": "shop"}}, r},
		{"response", dynamic.Headers{CustomResponseHeaders: map[string]string{"X-Served-By": "edge"}}, r},
		{"cors", dynamic.Headers{AccessControlAllowOriginList: list}, far},
		{"regex", dynamic.Headers{AccessControlAllowOriginListRegex: []string{`https://[a-z]\.example`}}, far},
		{"security", dynamic.Headers{
			STSSeconds: new(int64(1)), ForceSTSHeader: true, FrameDeny: true,
			ContentTypeNosniff: true, ReferrerPolicy: "same-origin",
		}, r},
	} {
		handler := build(b, test.config).Wrap(next)
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, test.request)
			}
		})
	}
}

// TestNothingToDoAllocatesNothing holds the benchmarks' figure where it must not move.
func TestNothingToDoAllocatesNothing(t *testing.T) {
	next := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for name, config := range map[string]dynamic.Headers{
		"allowed host": {AllowedHosts: []string{"example.com"}},
		"no origin": {
			AccessControlAllowOriginList:  []string{"https://a.example"},
			AccessControlAllowCredentials: true,
		},
		"connection in clear":         {STSSeconds: new(int64(1))},
		"nothing at all":              {IsDevelopment: true},
		"removes what is not there":   {CustomRequestHeaders: map[string]string{"X-Secret": ""}},
		"answers preflights, no such": {AccessControlAllowMethods: []string{"GET"}},
	} {
		handler, r := build(t, config).Wrap(next), middlewaretest.Request(t, "GET /", "Accept: a")
		if n := testing.AllocsPerRun(100, func() { handler.ServeHTTP(nil, r) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
