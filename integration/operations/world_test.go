package operations

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const staticFile = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  database: {address: "127.0.0.1:0"}
  dns: {address: "127.0.0.1:0/udp", udp: {timeout: 2s}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
overload: {descriptors: {limit: 0}}
api: {insecure: true}
metrics: {prometheus: {addRoutersLabels: true}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

const dynamicFile = `
http:
  routers:
    shop: {rule: "Host(` + "`shop.test`" + `)", service: shop, entryPoints: [web, websecure]}
    flaky: {rule: "Host(` + "`flaky.test`" + `)", service: flaky, entryPoints: [web]}
    limited: {rule: "Host(` + "`limited.test`" + `)", service: shop, entryPoints: [web], middlewares: [few]}
    gone: {rule: "Host(` + "`gone.test`" + `)", service: gone, entryPoints: [web]}
    refused: {rule: "Host(` + "`refused.test`" + `)", service: shop, middlewares: [missing]}
  middlewares:
    few: {rateLimit: {average: 1, burst: 1, period: 1h}}
  services:
    shop:
      loadBalancer:
        servers: [{url: "http://${A}"}, {url: "http://${B}"}]
        healthCheck: {path: /, interval: 100ms}
    flaky:
      loadBalancer:
        servers: [{url: "http://127.0.0.1:1"}, {url: "http://${A}"}]
    gone:
      loadBalancer:
        servers: [{url: "http://127.0.0.1:1"}]
        healthCheck: {path: /, interval: 100ms}
tcp:
  routers:
    database: {rule: "HostSNI(` + "`*`" + `)", service: database, entryPoints: [database]}
  services:
    database: {loadBalancer: {servers: [{address: "127.0.0.1:1"}, {address: "${A}"}]}}
udp:
  routers:
    dns: {service: dns, entryPoints: [dns]}
  services:
    dns: {loadBalancer: {servers: [{address: "${ECHO}"}]}}
tls:
  certificates:
    - {certFile: "${CERT}", keyFile: "${KEY}"}
`

// changedFile is written before each scrape, so that there are changes to count.
const changedFile = `
http:
  routers:
    changing: {rule: "Host(` + "`changing-${N}.test`" + `)", service: shop@file}
`

// world is a Sluice with traffic of every kind, scraped while it goes on.
type world struct {
	prometheus

	sluice  *harness.Sluice
	scrapes []scrape
}

// TestASluiceWithTraffic evaluates the queries of dashboards and rules.
func TestASluiceWithTraffic(t *testing.T) {
	w := newWorld(t)
	t.Run("our board", w.panels)
	t.Run("our rules", w.rulesAsk)
	t.Run("our alerts", w.alerts)
	t.Run("boards for Traefik", w.traefikBoards)
	t.Run("series of Traefik", w.traefikSeries)
}

// newWorld starts Sluice, and scrapes it a few times during requests and changes of its configuration.
func newWorld(t *testing.T) *world {
	t.Helper()
	authority := harness.NewAuthority(t)
	issued := authority.Issue("shop.test")
	w := &world{prometheus: newPrometheus(t)}
	w.sluice = harness.Start(t, harness.Setup{
		Static: staticFile, Dynamic: map[string]string{"dynamic.yaml": dynamicFile},
		Vars: map[string]string{
			"A": harness.StartBackend(t, "a", nil).H1, "B": harness.StartBackend(t, "b", nil).H1, "CERT": issued.CertFile,
			"KEY": issued.KeyFile, "ECHO": harness.StartPacketEcho(t).Address,
		},
	})
	clients := map[string]*harness.Client{}
	for _, host := range []string{"shop.test", "gone.test", "flaky.test", "limited.test"} {
		clients[host] = harness.NewClient(t, harness.H1, w.sluice.Addr("web"), host, nil)
	}
	secure := harness.NewClient(t, harness.H2, w.sluice.Addr("websecure"), "shop.test",
		&tls.Config{RootCAs: authority.Pool, MinVersion: tls.VersionTLS12})
	harness.Until(t, "the refused router is counted", func() bool {
		return strings.Contains(w.metrics(t), "\nsluice_config_quarantined_objects 1\n")
	})
	const scrapes = 5
	for i := range scrapes {
		w.change(t, i)
		for range 5 * (i + 1) {
			for _, path := range []string{"/bytes?size=1000", "/status?code=500", "/status?code=404"} {
				clients["shop.test"].Get(path)
			}
			clients["shop.test"].Post("/", strings.Repeat("x", 100))
			for _, host := range []string{"gone.test", "flaky.test", "limited.test"} {
				clients[host].Get("/")
			}
			secure.Get("/")
			w.exchange(t, "tcp", "database", "GET / HTTP/1.0\r\n\r\n")
			w.exchange(t, "udp", "dns", "query")
		}
		if i == 0 { // Sessions of UDP are counted when they end.
			harness.Until(t, "a session ends", func() bool {
				return strings.Contains(w.metrics(t), "\nsluice_udp_sessions_total{")
			})
		}
		w.scrape(t, time.Duration(scrapes-1-i)*30*time.Second)
	}
	return w
}

// dial connects to an entrypoint.
func (w *world) dial(t *testing.T, network, entrypoint string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), network, w.sluice.Addr(entrypoint))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// exchange sends a text, over UDP as one datagram, and waits for an answer.
func (w *world) exchange(t *testing.T, network, entrypoint, text string) {
	t.Helper()
	conn := w.dial(t, network, entrypoint)
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 512)); err != nil {
		t.Error(err)
	}
}

// change changes the configuration, and waits until that is applied.
func (w *world) change(t *testing.T, n int) {
	t.Helper()
	w.sluice.Write("changing.yaml", strings.ReplaceAll(changedFile, "${N}", strconv.Itoa(n)))
	host := "changing-" + strconv.Itoa(n) + ".test"
	client := harness.NewClient(t, harness.H1, w.sluice.Addr("web"), host, nil)
	harness.Until(t, host+" is routed", func() bool { return client.Get("/").StatusCode == http.StatusOK })
}

// metrics reads the page of metrics.
func (w *world) metrics(t *testing.T) string {
	t.Helper()
	page := w.sluice.Management().Get("/metrics")
	if page.StatusCode != http.StatusOK {
		t.Fatalf("/metrics: status %d", page.StatusCode)
	}
	return page.Text
}

// scrape reads the metrics as if that were some time before now.
func (w *world) scrape(t *testing.T, ago time.Duration) {
	t.Helper()
	w.scrapes = append(w.scrapes, scrape{
		Seconds: now - ago.Seconds(), Text: w.metrics(t) + "up 1\n", Labels: map[string]string{
			"job":      "sluice",
			"instance": "edge-1",
		},
	})
}

// ask evaluates expressions about the scrapes.
func (w *world) ask(t *testing.T, expressions ...string) []result {
	t.Helper()
	return w.prometheus.ask(t, w.scrapes, expressions...)
}
