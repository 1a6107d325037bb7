package protocol

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// edge is a Sluice with entrypoints that trust differently, and one router for everything.
const edge = `
entryPoints:
  wary: {address: "127.0.0.1:0"}
  trusting: {address: "127.0.0.1:0", forwardedHeaders: {trustedIPs: ["127.0.0.0/8"]}}
  elsewhere: {address: "127.0.0.1:0", forwardedHeaders: {trustedIPs: ["192.0.2.0/24"]}}
  insecure: {address: "127.0.0.1:0", forwardedHeaders: {insecure: true, notAppendXForwardedFor: true}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

const catchAll = `
http:
  routers: {all: {rule: "PathPrefix(` + "`/`" + `)", service: one}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`

func startEdge(t *testing.T, backend string) *harness.Sluice {
	t.Helper()
	return harness.Start(t, harness.Setup{
		Static: edge, Dynamic: map[string]string{"all.yaml": catchAll}, Vars: map[string]string{"BACKEND": backend},
	})
}

// TestForwardedHeaders sends headers that only a trusted peer may set.
func TestForwardedHeaders(t *testing.T) {
	t.Parallel()
	s := startEdge(t, harness.StartBackend(t, "one", nil).H1)
	claims := http.Header{
		"X-Forwarded-For":        {"203.0.113.7", "198.51.100.2"},
		"X-Forwarded-Host":       {"claimed.test"},
		"X-Forwarded-Proto":      {"https"},
		"X-Forwarded-Port":       {"8443"},
		"X-Forwarded-Prefix":     {"/claimed"},
		"X-Real-Ip":              {"203.0.113.7"},
		"Forwarded":              {"for=203.0.113.7;host=claimed.test"},
		"X-Forwarded-Server":     {"claimed"},
		"X-Forwarded-Method":     {"DELETE"},
		"X-Forwarded-Uri":        {"/claimed"},
		"X_Forwarded_For":        {"203.0.113.9"},
		"X-Forwarded_Proto":      {"gopher"},
		"X-Forwarded-Tls-Client": {"ordinary"},
	}
	own := http.Header{
		"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"any.test"}, "X-Forwarded-Proto": {"http"},
		"X-Forwarded-Port": {"80"}, "X-Real-Ip": {"127.0.0.1"},
	}
	believed := http.Header{
		"X-Forwarded-For": {"203.0.113.7, 198.51.100.2, 127.0.0.1"}, "X-Forwarded-Host": {"claimed.test"},
		"X-Forwarded-Proto": {"https"}, "X-Forwarded-Port": {"8443"}, "X-Real-Ip": {"203.0.113.7"},
		"Forwarded":          {"for=203.0.113.7;host=claimed.test"},
		"X-Forwarded-Prefix": {"/claimed"}, "X-Forwarded-Method": {"DELETE"}, "X-Forwarded-Uri": {"/claimed"},
	}
	kept := believed.Clone()
	kept.Set("X-Forwarded-For", "203.0.113.7, 198.51.100.2")
	for entrypoint, want := range map[string]http.Header{
		"wary": own, "elsewhere": own, "trusting": believed,
		"insecure": kept,
	} {
		want.Set("X-Forwarded-Server", serverName())
		want.Set("X-Forwarded-Tls-Client", "ordinary")
		for _, protocol := range []harness.Protocol{harness.H1, harness.H2C} {
			client := harness.NewClient(t, protocol, s.Addr(entrypoint), "any.test", nil)
			request := client.Request(http.MethodGet, "/", nil)
			request.Header = claims.Clone()
			request.Header.Set("User-Agent", "")
			got := client.Send(request).Echo(t).Header
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s by %s (-want +got):\n%s", entrypoint, protocol, diff)
			}
		}
	}
}

// TestConnectionHeaderTakesNothing names headers in Connection that a client must not remove.
func TestConnectionHeaderTakesNothing(t *testing.T) {
	t.Parallel()
	s := startEdge(t, harness.StartBackend(t, "one", nil).H1)
	got, err := harness.Dial(t, s.Addr("wary")).RoundTrip("GET / HTTP/1.1\r\nHost: any.test\r\n" +
		"Connection: X-Forwarded-For, X-Real-Ip, X-Forwarded-Host, Host, X-Own\r\nX-Own: 1\r\n" +
		"Te: trailers, deflate\r\nProxy-Authorization: Basic YTpi\r\nKeep-Alive: timeout=1\r\nUpgrade: " +
		"h2c\r\nHTTP2-Settings: AAA\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"X-Forwarded-For": {"127.0.0.1"}, "X-Forwarded-Host": {"any.test"}, "X-Forwarded-Proto": {"http"},
		"X-Forwarded-Port": {"80"}, "X-Real-Ip": {"127.0.0.1"}, "X-Forwarded-Server": {serverName()}, "Te": {"trailers"},
	}
	echo := got.Echo(t)
	if diff := cmp.Diff(want, echo.Header); diff != "" || echo.Host != "any.test" {
		t.Errorf("Host %q (-want +got):\n%s", echo.Host, diff)
	}
}
