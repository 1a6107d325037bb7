package variable_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/variable"
)

func live(t *testing.T, target string, headers ...string) *http.Request {
	t.Helper()
	ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv6loopback, Port: 8443})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, target, http.NoBody)
	r.RemoteAddr = "[2001:db8::1]:1234"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func value(t *testing.T, text string, values variable.Values) string {
	t.Helper()
	template, err := variable.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(template.Append(nil, values))
}

func TestLive(t *testing.T) {
	r := live(t, "/a%20b//c?q=1&N=x%20y", "Authorization", "Basic YW5uOng=", "X-Two", "one", "X-Two", "two",
		"Cookie", "a=1; B=2", "X-Request-Id", "7f")
	r.Host = "A.Example:8443"
	for text, want := range map[string]string{
		"$scheme://$host$request_uri":                  "http://a.example/a%20b//c?q=1&N=x%20y",
		"$http_host $http_x_two $http_host_":           "A.Example:8443 one, two ",
		"$uri $args $is_args$arg_n":                    "/a b/c q=1&N=x%20y ?x%20y",
		"$cookie_b $request_method":                    "2 POST",
		"$remote_addr $server_port":                    "2001:db8::1 8443",
		"$req_id ${req_id}":                            "7f 7f",
		"$http_none$cookie_none$arg_none$cookie_a end": "1 end",
		"$remote_user $escaped_request_uri":            "ann %2Fa%2520b%2F%2Fc%3Fq%3D1%26N%3Dx%2520y",
	} {
		if got := value(t, text, &variable.Live{Request: r}); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	r.TLS = new(tls.ConnectionState)
	if got := value(t, "$scheme $remote_addr", &variable.Live{Request: r, Client: "192.0.2.1"}); got != "https 192.0.2.1" {
		t.Errorf("%q", got)
	}
	for forwarded, want := range map[string]string{"ws": "http", "HTTP, https": "http", "x": "https"} {
		r.Header["X-Forwarded-Proto"] = []string{forwarded}
		if got := value(t, "$scheme", &variable.Live{Request: r}); got != want {
			t.Errorf("%q with X-Forwarded-Proto: %s", got, forwarded)
		}
	}
	for forwarded, want := range map[string]string{"": r.Host, " , x": r.Host, "a.test:8080 , b.test": "a.test:8080"} {
		r.Header["X-Forwarded-Host"] = []string{forwarded}
		if got := value(t, "$best_http_host", &variable.Live{Request: r}); got != want {
			t.Errorf("%q with X-Forwarded-Host: %s", got, forwarded)
		}
	}
	r.URL.RawQuery = "q=2"
	if got := value(t, "$request_uri", &variable.Live{Request: r}); got != "/a%20b//c?q=2" {
		t.Errorf("%q after the query has changed", got)
	}
	for host, want := range map[string]string{
		"X.test.:80": "x.test",
		"x.test":     "x.test", "X.test:80": "x.test", "[2001:DB8::1]:80": "[2001:db8::1]",
		"[2001:db8::1]": "[2001:db8::1]", "": "",
	} {
		r.Host = host
		if got := value(t, "$host", &variable.Live{Request: r}); got != want {
			t.Errorf("host %q: %q, want %q", host, got, want)
		}
	}
}

// TestRequestID draws an ID once for a request that comes without one.
func TestRequestID(t *testing.T) {
	r := live(t, "/", "X-Request-Id", "")
	one, other := value(t, "$req_id $req_id", &variable.Live{Request: r}), value(t, "$req_id", &variable.Live{Request: r})
	id, again, _ := strings.Cut(one, " ")
	if id != again || id == other || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(id) {
		t.Errorf("%q and %q", one, other)
	}
}

// TestSnapshot keeps the values of a request that is changed in place.
func TestSnapshot(t *testing.T) {
	r := live(t, "/a?b=c", "X-One", "1")
	r.Host = "before.test"
	kept := variable.Snapshot(r, "192.0.2.1")
	r.Host, r.URL.Path, r.URL.RawQuery = "after.test", "/x", ""
	r.Header.Set("X-One", "2")
	const want = "before.test /a b=c 1 192.0.2.1"
	if got := value(t, "$host $uri $args $http_x_one $remote_addr", kept); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCheckLive(t *testing.T) {
	for text, want := range map[string]string{
		"$host $http_a": "", "a$namespace": "$namespace", "$ssl_client_s_dn": "$ssl_client_s_dn", "a$1": "$1",
	} {
		template, err := variable.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		err = variable.CheckLive(template, false)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
	template, err := variable.Parse("$1")
	if err != nil || variable.CheckLive(template, true) != nil {
		t.Error("a group is refused where there is a pattern")
	}
}
