package telemetry

import (
	"crypto/tls"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const staticFile = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

const dynamicFile = `
http:
  routers:
    shop: {rule: "Host(` + "`shop.test`" + `)", service: shop, entryPoints: [web, websecure]}
    counted: {rule: "Host(` + "`counted.test`" + `)", service: counted, entryPoints: [web, websecure]}
    flaky: {rule: "Host(` + "`flaky.test`" + `)", service: flaky, entryPoints: [web, websecure]}
    quiet:
      {rule: "Host(` + "`quiet.test`" +
	`)", service: shop, entryPoints: [web, websecure], observability: {metrics: false, accessLogs: false, tracing: false}}
    detailed:
      {rule: "Host(` + "`detailed.test`" +
	`)", service: shop, entryPoints: [web, websecure], middlewares: [mark], observability: {traceVerbosity: detailed}}
    empty: {rule: "Host(` + "`empty.test`" + `)", service: empty, entryPoints: [web, websecure]}
    refused: {rule: "Host(` + "`refused.test`" + `)", service: refused, entryPoints: [web, websecure]}
    late: {rule: "Host(` + "`late.test`" + `)", service: late, entryPoints: [web, websecure]}
    limited: {rule: "Host(` + "`limited.test`" + `)", service: shop, entryPoints: [web, websecure], middlewares: [few]}
    guarded: {rule: "Host(` + "`guarded.test`" +
	`)", service: shop, entryPoints: [web, websecure], middlewares: [users]}
    closed: {rule: "Host(` + "`closed.test`" + `)", service: shop, entryPoints: [web, websecure], middlewares: [nobody]}
    small: {rule: "Host(` + "`small.test`" + `)", service: shop, entryPoints: [web, websecure], middlewares: [small]}
    broken: {rule: "Host(` + "`broken.test`" +
	`)", service: shop, entryPoints: [web, websecure], middlewares: [missing]}
  middlewares:
    mark: {headers: {customResponseHeaders: {X-Mark: "yes"}}}
    few: {rateLimit: {average: 1, burst: 1, period: 1h}}
    users: {basicAuth: {users: ["ada:{SHA}MJgvYgf2tRctgBqviyzN0HpBdyY="]}}
    nobody: {ipAllowList: {sourceRange: ["192.0.2.1"]}}
    small: {buffering: {maxRequestBodyBytes: 10}}
  services:
    shop: {loadBalancer: {servers: [{url: "http://${SHOP}"}]}}
    counted: {loadBalancer: {servers: [{url: "http://${SHOP}"}]}}
    flaky: {loadBalancer: {servers: [{url: "http://${REFUSED}"}, {url: "http://${SHOP}"}],
      passiveHealthCheck: {maxFailedAttempts: 100000}}}
    empty: {loadBalancer: {servers: []}}
    refused: {loadBalancer: {servers: [{url: "http://${REFUSED}"}]}}
    late: {loadBalancer: {servers: [{url: "http://${SHOP}"}], serversTransport: impatient}}
  serversTransports:
    impatient: {forwardingTimeouts: {responseHeaderTimeout: 50ms}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
`

// world is a Sluice with one backend behind it.
type world struct {
	sluice    *harness.Sluice
	backend   *harness.Backend
	authority *harness.Authority
	issued    harness.Issued
	refused   string
}

// start starts Sluice with more options than those that all have.
func start(t *testing.T, options string, vars map[string]string) *world {
	t.Helper()
	return startWith(t, harness.Setup{Static: staticFile + options, Vars: vars})
}

func startWith(t *testing.T, setup harness.Setup) *world {
	t.Helper()
	authority := harness.NewAuthority(t)
	w := &world{
		backend: harness.StartBackend(t, "shop", nil), authority: authority, issued: authority.Issue("wildcard", "*.test"),
		refused: harness.RefusedAddress(t),
	}
	vars := map[string]string{
		"SHOP": w.backend.H1, "REFUSED": w.refused, "CERT": w.issued.CertFile,
		"KEY": w.issued.KeyFile,
	}
	for name, value := range setup.Vars {
		vars[name] = value
	}
	setup.Vars, setup.Dynamic = vars, map[string]string{"all.yaml": dynamicFile}
	w.sluice = harness.Start(t, setup)
	return w
}

// entrypoint returns the name of the one for a protocol.
func entrypoint(protocol harness.Protocol) string {
	if protocol.Secure() {
		return "websecure"
	}
	return "web"
}

// client returns a client for a host.
func (w *world) client(t *testing.T, protocol harness.Protocol, host string) *harness.Client {
	t.Helper()
	settings := &tls.Config{RootCAs: w.authority.Pool, MinVersion: tls.VersionTLS12}
	return harness.NewClient(t, protocol, w.sluice.Addr(entrypoint(protocol)), host, settings)
}

// with sets headers of a request, written as "Name: value".
func with(request *http.Request, lines ...string) *http.Request {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	return request
}
