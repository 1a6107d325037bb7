package operations

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const staticFile = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true}
metrics: {prometheus: {addRoutersLabels: true}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

const dynamicFile = `
http:
  routers:
    shop: {rule: "Host(` + "`shop.test`" + `)", service: shop, entryPoints: [web, websecure], middlewares: [few]}
    gone: {rule: "Host(` + "`gone.test`" + `)", service: gone, entryPoints: [web]}
    refused: {rule: "Host(` + "`refused.test`" + `)", service: shop, middlewares: [missing]}
  middlewares:
    few: {rateLimit: {average: 1, burst: 400, period: 1h}}
  services:
    shop:
      loadBalancer:
        servers: [{url: "http://${A}"}, {url: "http://${B}"}]
        healthCheck: {path: /, interval: 100ms}
    gone:
      loadBalancer:
        servers: [{url: "http://127.0.0.1:1"}]
        healthCheck: {path: /, interval: 100ms}
tls:
  certificates:
    - {certFile: "${CERT}", keyFile: "${KEY}"}
`

// world is a Sluice with traffic of every kind, scraped before and after.
type world struct {
	sluice  *harness.Sluice
	scrapes []scrape
	last    string
}

// newWorld starts Sluice, and scrapes it a few times while it is asked.
func newWorld(t *testing.T) *world {
	t.Helper()
	authority := harness.NewAuthority(t)
	issued := authority.Issue("shop.test")
	s := harness.Start(t, harness.Setup{
		Static: staticFile, Dynamic: map[string]string{"dynamic.yaml": dynamicFile},
		Vars: map[string]string{
			"A": harness.StartBackend(t, "a", nil).H1, "B": harness.StartBackend(t, "b", nil).H1, "CERT": issued.CertFile, "KEY": issued.KeyFile,
		},
	})
	w := &world{sluice: s}
	shop := harness.NewClient(t, harness.H1, s.Addr("web"), "shop.test", nil)
	secure := harness.NewClient(t, harness.H2, s.Addr("websecure"), "shop.test", &tls.Config{RootCAs: authority.Pool, MinVersion: tls.VersionTLS12})
	gone := harness.NewClient(t, harness.H1, s.Addr("web"), "gone.test", nil)
	const scrapes = 5
	for i := range scrapes {
		for range 5 * (i + 1) {
			shop.Get("/bytes?size=1000")
			shop.Post("/", strings.Repeat("x", 100))
			shop.Get("/status?code=500")
			shop.Get("/status?code=404")
			secure.Get("/")
			gone.Get("/")
		}
		w.scrape(t, time.Duration(scrapes-1-i)*30*time.Second)
	}
	return w
}

// scrape reads the metrics as if that were some time before now.
func (w *world) scrape(t *testing.T, ago time.Duration) {
	t.Helper()
	client := harness.NewClient(t, harness.H1, w.sluice.Addr("traefik"), "localhost", nil)
	client.Transport.DisableKeepAlives = true
	page := client.Get("/metrics")
	if page.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: status %d", page.StatusCode)
	}
	w.last = page.Text
	w.scrapes = append(w.scrapes, scrape{
		Seconds: now - ago.Seconds(), Text: page.Text + "up 1\n", Labels: map[string]string{"job": "sluice", "instance": "edge-1"},
	})
}

// has reports whether the last scrape has a series of this name.
func (w *world) has(metric string) bool {
	return strings.Contains("\n"+w.last, "\n"+metric+"{") || strings.Contains("\n"+w.last, "\n"+metric+" ")
}
