package authrequest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/middleware/authrequest"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server that decides and returns its URL.
func serve(t testing.TB, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func build(t testing.TB, config dynamic.AuthRequest) *authrequest.AuthRequest {
	t.Helper()
	step, err := authrequest.New("auth@file", config, authrequest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(step.Close)
	return step
}

// answers is a server whose answer is in the header X-Answer of a request: a status.
func answers(w http.ResponseWriter, r *http.Request) {
	var status int
	_, _ = fmt.Sscan(r.Header.Get("X-Answer"), &status)
	w.Header()["Www-Authenticate"] = []string{`Basic realm="a"`, "Bearer"}
	w.Header()["Set-Cookie"] = []string{"a=1", "b=2; Path=/"}
	w.Header().Set("X-User", "ann")
	w.Header().Set("Location", "https://elsewhere.test/")
	w.WriteHeader(status)
	if status >= http.StatusOK && status != http.StatusNoContent && status != http.StatusNotModified {
		_, _ = io.WriteString(w, "the server's body")
	}
}

// served is what a client gets, and what the record and the service show.
type served struct {
	Status  int
	Header  map[string][]string
	Body    string
	Reason  string
	User    []string
	Counted string
}

// send sends a request through the middleware. The service answers with a status and a cookie.
func send(t testing.TB, step *authrequest.AuthRequest, serviceStatus int, r *http.Request) served {
	t.Helper()
	var got served
	record := new(telemetry.Record)
	w := httptest.NewRecorder()
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.User = r.Header["X-User"]
		if !telemetry.RecordFrom(r.Context()).Authenticated {
			t.Error("the record does not know that the request was admitted")
		}
		w.Header().Add("Set-Cookie", "service=1")
		w.WriteHeader(serviceStatus)
	})).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	got.Status, got.Header, got.Reason = w.Code, map[string][]string{}, record.Reason
	got.Body = strings.TrimSpace(w.Body.String())
	for _, name := range []string{"Set-Cookie", "Www-Authenticate", "Location"} {
		if values := w.Header()[name]; len(values) > 0 {
			got.Header[name] = values
		}
	}
	counts := step.Counts()
	got.Counted = fmt.Sprint(counts["passed"], counts["refused"], counts["failed"], counts["remembered"])
	return got
}

// TestAnswers has every kind of answer, with and without the options that concern it.
func TestAnswers(t *testing.T) {
	address := serve(t, answers)
	challenges := []string{`Basic realm="a"`, "Bearer"}
	own, both := []string{"service=1"}, []string{"service=1", "a=1", "b=2; Path=/"}
	cookies := []string{"a=1", "b=2; Path=/"}
	said := func(status int) string {
		return fmt.Sprintf("middleware auth@file: the server answered with %d", status)
	}
	const signIn = "https://id.test/start?a=b&rd=http://example.com%2Fx%2Fa%3Fb%3Dc%2520d"
	for name, test := range map[string]struct {
		answer, service int
		signIn, always  bool
		want            served
	}{
		"200":                     {200, 200, false, false, served{200, map[string][]string{"Set-Cookie": both}, "", "", []string{"ann"}, "1 0 0 0"}},
		"204":                     {204, 308, false, false, served{308, map[string][]string{"Set-Cookie": both}, "", "", []string{"ann"}, "1 0 0 0"}},
		"299, service fails":      {299, 500, false, false, served{500, map[string][]string{"Set-Cookie": own}, "", "", []string{"ann"}, "1 0 0 0"}},
		"always, service fails":   {200, 500, false, true, served{500, map[string][]string{"Set-Cookie": both}, "", "", []string{"ann"}, "1 0 0 0"}},
		"401":                     {401, 0, false, false, served{401, map[string][]string{"Www-Authenticate": challenges}, "Unauthorized", said(401), nil, "0 1 0 0"}},
		"401, always":             {401, 0, false, true, served{401, map[string][]string{"Www-Authenticate": challenges, "Set-Cookie": cookies}, "Unauthorized", said(401), nil, "0 1 0 0"}},
		"401, sign in":            {401, 0, true, false, served{302, map[string][]string{"Location": {signIn}, "Set-Cookie": cookies, "Www-Authenticate": challenges}, "", said(401), nil, "0 1 0 0"}},
		"403":                     {403, 0, true, false, served{403, map[string][]string{}, "Forbidden", said(403), nil, "0 1 0 0"}},
		"403, always":             {403, 0, false, true, served{403, map[string][]string{"Set-Cookie": cookies}, "Forbidden", said(403), nil, "0 1 0 0"}},
		"302":                     {302, 0, true, false, served{500, map[string][]string{}, "Internal Server Error", said(302), nil, "0 0 1 0"}},
		"304":                     {304, 0, false, false, served{500, map[string][]string{}, "Internal Server Error", said(304), nil, "0 0 1 0"}},
		"400":                     {400, 0, false, false, served{500, map[string][]string{}, "Internal Server Error", said(400), nil, "0 0 1 0"}},
		"404":                     {404, 0, false, false, served{500, map[string][]string{}, "Internal Server Error", said(404), nil, "0 0 1 0"}},
		"503, cookies are always": {503, 0, false, true, served{500, map[string][]string{"Set-Cookie": cookies}, "Internal Server Error", said(503), nil, "0 0 1 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := dynamic.AuthRequest{URL: address, ResponseHeaders: []string{"x-user"}, AlwaysSetCookie: test.always}
			if test.signIn {
				config.SigninURL = "https://id.test/start?a=b"
			}
			r := middlewaretest.Request(t, "GET /x/a?b=c%20d", fmt.Sprint("X-Answer: ", test.answer), "X-User: forged",
				"X_user: forged")
			got := send(t, build(t, config), test.service, r)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSignIn has the URLs that ingress-nginx makes.
func TestSignIn(t *testing.T) {
	address := serve(t, answers)
	for name, test := range map[string]struct{ url, parameter, want string }{
		"no query":          {"https://id.test/start", "", "https://id.test/start?rd=http://example.com%2Fx"},
		"a query":           {"https://id.test/?a=1", "", "https://id.test/?a=1&rd=http://example.com%2Fx"},
		"the parameter":     {"https://id.test/?rd=fixed", "", "https://id.test/?rd=fixed"},
		"an empty one":      {"https://id.test/?rd=", "", "https://id.test/?rd=&rd=http://example.com%2Fx"},
		"another parameter": {"https://id.test/?rd=1", "to", "https://id.test/?rd=1&to=http://example.com%2Fx"},
		"variables":         {"https://$host/oauth2/start?rd=$escaped_request_uri", "", "https://example.com/oauth2/start?rd=%2Fx"},
		"a path":            {"/start", "", "http://example.com/start?rd=http://example.com%2Fx"},
	} {
		t.Run(name, func(t *testing.T) {
			step := build(t, dynamic.AuthRequest{URL: address, SigninURL: test.url, SigninRedirectParam: test.parameter})
			got := send(t, step, 0, middlewaretest.Request(t, "GET /x", "X-Answer: 401"))
			if got.Status != http.StatusFound || fmt.Sprint(got.Header["Location"]) != "["+test.want+"]" {
				t.Errorf("%d %s, want %s", got.Status, got.Header["Location"], test.want)
			}
		})
	}
}

// TestRequest compares the request to the server.
func TestRequest(t *testing.T) {
	arrived := make(chan *http.Request, 1)
	address := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Header.Set("Body", string(body))
		arrived <- r
	})
	host := strings.TrimPrefix(address, "http://")
	usual := func(change func(http.Header)) http.Header {
		h := http.Header{
			"X-Original-Url": {"http://Example.com:81/a%20b?c=d"}, "X-Original-Method": {"POST"},
			"X-Sent-From": {"nginx-ingress-controller"}, "X-Real-Ip": {"192.0.2.1"}, "X-Forwarded-For": {"192.0.2.1"},
			"X-Auth-Request-Redirect": {"/a%20b?c=d"}, "X-Request-Id": {"7f"}, "Cookie": {"session=s1"},
			"If-None-Match": {`"x"`},
			"Authorization": {"Basic YW5uOnNlY3JldA=="}, "Body": {""}, "Accept-Encoding": {"br"}, "User-Agent": {"curl"},
		}
		if change != nil {
			change(h)
		}
		return h
	}
	for name, test := range map[string]struct {
		config       dynamic.AuthRequest
		method, path string
		host         string
		header       http.Header
	}{
		"usual": {dynamic.AuthRequest{URL: address}, "GET", "/", host, usual(nil)},
		"client behind proxies": {
			dynamic.AuthRequest{
				URL: address, IPStrategy: &dynamic.IPStrategy{TrustedIPs: []string{"192.0.2.0/24", "10.0.0.0/8"}},
			},
			"GET", "/", host, usual(func(h http.Header) {
				h["X-Real-Ip"], h["X-Forwarded-For"] = []string{"198.51.100.7"}, []string{"198.51.100.7"}
			}),
		},
		"untrusted peer": {
			dynamic.AuthRequest{URL: address, IPStrategy: &dynamic.IPStrategy{TrustedIPs: []string{"10.0.0.0/8"}}},
			"GET", "/", host, usual(nil),
		},
		"method": {
			dynamic.AuthRequest{URL: address + "/check", Method: "PUT"},
			"PUT", "/check", host,
			usual(func(h http.Header) {
				h["X-Original-Uri"], h["X-Scheme"] = []string{"/a%20b?c=d"}, []string{"http"}
				h["Content-Length"] = []string{"0"}
			}),
		},
		"variables": {
			dynamic.AuthRequest{URL: address + "/check/$host?u=$remote_user&uri=$uri&c=$arg_c#x"},
			"GET",
			"/check/example.com?u=ann&uri=/a%20b&c=d", host, usual(nil),
		},
		"headers": {
			dynamic.AuthRequest{URL: address + "?x", Headers: []dynamic.HeaderValue{
				{Name: "x-real-ip", Value: "me"},
				{Name: "Cookie"},
				{Name: "Host", Value: "auth.test"},
				{Name: "X-Own", Value: "$host"},
				{Name: "X-Own", Value: "${http_cookie}"},
			}},
			"GET", "/?x", "auth.test",
			usual(func(h http.Header) {
				h["X-Real-Ip"], h["X-Own"] = []string{"me"}, []string{"session=s1"}
				delete(h, "Cookie")
			}),
		},
		"kept": {
			dynamic.AuthRequest{URL: address, CacheKey: "$host"},
			"GET", "/", host,
			usual(func(h http.Header) { delete(h, "If-None-Match") }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := middlewaretest.Request(t, "POST /a%20b?c=d", "Host: Example.com:81", "Cookie: session=s1", "Content-Length: 3",
				"Authorization: Basic YW5uOnNlY3JldA==", "X-Forwarded-Proto: http", "X-Request-Id: 7f", "Connection: X-Hop",
				"X-Hop: 1", "Te: trailers", "X_Original_Url: forged", "X-Original-Url: forged", "X-Sent-From: forged",
				"X-Forwarded-For: 10.0.0.9, 198.51.100.7, 10.0.0.1", "If-None-Match: \"x\"", "Expect: 100-continue", "Accept-Encoding: br", "User-Agent: curl")
			r.Body = io.NopCloser(strings.NewReader("abc"))
			before := r.Header.Clone()
			if got := send(t, build(t, test.config), 204, r); got.Status != http.StatusNoContent {
				t.Fatalf("%+v", got)
			}
			q := <-arrived
			if q.Method != test.method || q.RequestURI != test.path || q.Host != test.host {
				t.Errorf("%s %s %s", q.Method, q.RequestURI, q.Host)
			}
			if diff := cmp.Diff(test.header, q.Header); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, r.Header); diff != "" {
				t.Errorf("the request itself has changed: %s", diff)
			}
		})
	}
}

// TestFailures refuses requests about which no usable answer comes.
func TestFailures(t *testing.T) {
	for name, test := range map[string]struct{ url, reason string }{
		"refuses connections": {"http://" + http1test.Reserve(t), "connection refused"},
		"breaks off": {serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "abc")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}), "asking the server: "},
		"no URL": {serve(t, answers) + "/$http_x_path", "no valid URL"},
	} {
		t.Run(name, func(t *testing.T) {
			got := send(t, build(t, dynamic.AuthRequest{URL: test.url}), 0, middlewaretest.Request(t, "GET /", "X-Path: %zz"))
			if got.Status != 500 || !strings.Contains(got.Reason, test.reason) || got.Counted != "0 0 1 0" {
				t.Errorf("%+v", got)
			}
		})
	}
	long := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 10<<20)) })
	got := send(t, build(t, dynamic.AuthRequest{URL: long}), 200, middlewaretest.Request(t, "GET /"))
	if got.Status != 200 {
		t.Errorf("a long body: %+v", got)
	}
}

func TestRefusesDefinitions(t *testing.T) {
	const url = "http://auth.test"
	for want, config := range map[string]dynamic.AuthRequest{
		"authRequest.url is empty":                                      {},
		"authRequest.url does not begin with http":                      {URL: "auth.test/x"},
		"authRequest.url names no host":                                 {URL: "http:///x"},
		"authRequest.url has credentials":                               {URL: "http://ann:secret@auth.test/"},
		"authRequest.url has a variable before its path":                {URL: "http://$host/x"},
		"authRequest.url: the variable $nope is unknown":                {URL: url + "/$nope"},
		"authRequest.url: the variable $service_name has no value here": {URL: url + "/$service_name"},
		"authRequest.url is not a URL":                                  {URL: "http://auth.test:port/"},
		"authRequest.url has a port":                                    {URL: "http://auth.test:70000/"},
		`authRequest.method "A B" is not a method`:                      {URL: url, Method: "A B"},
		`authRequest.method "CONNECT" is not a method`:                  {URL: url, Method: "CONNECT"},
		`authRequest.headers: "a b" is no name`:                         {URL: url, Headers: []dynamic.HeaderValue{{Name: "a b"}}},
		"authRequest.headers: Content-Length frames":                    {URL: url, Headers: []dynamic.HeaderValue{{Name: "content-length"}}},
		"authRequest.headers: X-A: byte 0 is a control":                 {URL: url, Headers: []dynamic.HeaderValue{{Name: "x-a", Value: "\n"}}},
		"authRequest.responseHeaders: Connection frames":                {URL: url, ResponseHeaders: []string{"connection"}},
		"authRequest.signinURL is not a URL":                            {URL: url, SigninURL: "https://id.test/a b"},
		"authRequest.signinURL: the variable":                           {URL: url, SigninURL: "https://id.test/$x"},
		`authRequest.signinRedirectParam "a=b" is not`:                  {URL: url, SigninURL: "https://id.test", SigninRedirectParam: "a=b"},
		"authRequest.cacheKey: the variable $x is":                      {URL: url, CacheKey: "$x"},
		`authRequest.cacheDuration "200 5q": "5q" is no`:                {URL: url, CacheDuration: []string{"200 5q"}},
		`authRequest.cacheDuration "abc 5m": "abc"`:                     {URL: url, CacheDuration: []string{"abc 5m"}},
		`authRequest.cacheDuration: " " is empty`:                       {URL: url, CacheDuration: []string{" "}},
		`authRequest.cacheDuration "600 5m": "600" is no status code,`:  {URL: url, CacheDuration: []string{"600 5m"}},
		"authRequest.ipStrategy.trustedIPs":                             {URL: url, IPStrategy: &dynamic.IPStrategy{TrustedIPs: []string{"x"}}},
		"authRequest.tls":                                               {URL: "https://auth.test", TLS: &dynamic.ClientTLS{CA: "-----BEGIN X-----"}},
	} {
		step, err := authrequest.New("m@file", config, authrequest.Options{})
		if step != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestDescribesItself(t *testing.T) {
	step := build(t, dynamic.AuthRequest{
		URL: "http://bücher.test/x", TLS: &dynamic.ClientTLS{InsecureSkipVerify: true}, CacheDuration: []string{"any 1s"},
		ResponseHeaders: []string{"x-user"},
	})
	want := guard.Access{Guards: guard.Always, Server: "http://xn--bcher-kva.test"}
	if diff := cmp.Diff(want, step.Guards()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"authRequest.tls has no effect, since authRequest.url begins with http://",
		"authRequest.cacheDuration has no effect without authRequest.cacheKey",
	}, step.Warnings()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"X-User"}, step.Replaces()); diff != "" {
		t.Error(diff)
	}
}

func TestReadme(t *testing.T) {
	for _, definition := range middlewaretest.Examples(t, "README.md") {
		build(t, *definition.AuthRequest)
	}
}
