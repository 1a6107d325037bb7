package variables_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/variables"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestValues has every variable that a request has a value for.
func TestValues(t *testing.T) {
	r := middlewaretest.Request(t, "GET /a%2fb/../c%20d?x=1&y", "Host: Shop.Example:8080", "X-Forwarded-Proto: https",
		"X-Request-Id: 7f", "Cookie: s=1", "Authorization: Basic YW5uOng=", "X-Two: 1", "X-Two: 2")
	r.RemoteAddr = "192.0.2.1:1234"
	ctx := context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8443})
	r = r.WithContext(telemetry.WithRecord(ctx, &telemetry.Record{Client: "198.51.100.1"}))
	for text, want := range map[string]string{
		"$scheme://$host":               "https://shop.example",
		"$http_host $server_port":       "Shop.Example:8080 8443",
		"$request_uri":                  "/c%20d?x=1&y",
		"$escaped_request_uri":          "%2Fc%2520d%3Fx%3D1%26y",
		"$uri$is_args$args":             "/c d?x=1&y",
		"$request_method $remote_addr":  "GET 198.51.100.1",
		"$remote_user $req_id":          "ann 7f",
		"$cookie_s $arg_x $http_x_two!": "1 1 1, 2!",
	} {
		template, err := variables.Parse("option", text)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(template.Append(nil, variables.Request{Request: r})); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"$1", "$namespace", "$ssl_client_cert", "$nope", "a\nb"} {
		if _, err := variables.Parse("kind.option", text); err == nil || !strings.HasPrefix(err.Error(), "kind.option: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
