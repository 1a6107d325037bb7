package balance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
metrics: {prometheus: {entryPoint: traefik}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

// site maps names to services. Each has the host NAME.test.
type site map[string]string

// text is the site as a dynamic file.
func (s site) text() string {
	var routers, services strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&routers, "    %s: {rule: \"Host(`%s.test`)\", service: %s}\n", name, name, name)
		fmt.Fprintf(&services, "    %s: %s\n", name, s[name])
	}
	return "http:\n  routers:\n" + routers.String() + "  services:\n" + services.String()
}

// pool is a service that balances over servers, with further options.
func pool(options string, servers ...string) string {
	if options != "" {
		options = ", " + options
	}
	return "{loadBalancer: {servers: [" + strings.Join(servers, ", ") + "]" + options + "}}"
}

// proxy is a running Sluice.
type proxy struct {
	*harness.Sluice

	t   *testing.T
	web string
}

// startProxy starts Sluice with a site.
func startProxy(t *testing.T, s site) *proxy {
	t.Helper()
	sluice := harness.Start(t, harness.Setup{Static: static, Dynamic: map[string]string{"site.yaml": s.text()}})
	if ready := sluice.Readiness(); ready.Quarantined != 0 || len(ready.Verdicts) != 0 {
		t.Fatalf("not as declared: %+v", ready.Verdicts)
	}
	return &proxy{sluice, t, sluice.Addr("web")}
}

// change puts another site in place of the first, and waits until it serves.
func (p *proxy) change(s site) {
	p.t.Helper()
	p.Apply(func() { p.Write("site.yaml", s.text()) })
}

// client returns a client of a service.
func (p *proxy) client(service string) *harness.Client {
	return harness.NewClient(p.t, harness.H1, p.web, service+".test", nil)
}

// counts reads the metrics of a service: what is between sluice_service_ and _total in their names.
func (p *proxy) counts(service string) map[string]int {
	p.t.Helper()
	text := harness.NewClient(p.t, harness.H1, p.Addr("traefik"), "internal.test", nil).Get("/metrics").Text
	counts := map[string]int{}
	for line := range strings.Lines(text) {
		name, rest, ours := strings.Cut(strings.TrimPrefix(line, "sluice_service_"),
			`_total{protocol="http",service="`+service+`@file"} `)
		if !ours {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
		if err != nil {
			p.t.Fatalf("metrics: %q: %v", line, err)
		}
		counts[name] = int(value)
	}
	return counts
}

// awaitCount waits until a count of a service has reached a number.
func (p *proxy) awaitCount(service, what string, number int) {
	p.t.Helper()
	until(p.t, fmt.Sprintf("%s of %s is %d", what, service, number), func() bool {
		return p.counts(service)[what] >= number
	})
}

// answeredBy is the endpoint that an answer is from, and fails the test when it is no success.
func answeredBy(t *testing.T, r harness.Response) string {
	t.Helper()
	if r.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", r.StatusCode, r.Text)
	}
	return r.Header.Get("X-Endpoint")
}
