package soak

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/traffic"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, goleak.IgnoreTopFunction(acmetest.Leak))) }

const (
	// shortest is how long the test runs by default, and judged how long it runs at least for growth to be judged.
	shortest = 20 * time.Second
	judged   = 10 * time.Minute
	// reloads is the time between two configurations, of which each has other routers, weights, headers and certificates.
	reloads = 2 * time.Second
	// drain is how long the connections of a process that was replaced may go on.
	drain = 30 * time.Second
)

const static = `
entryPoints:
  web: {address: "127.0.0.1:${HTTP}", http2: {extendedConnect: true}}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}, http2: {extendedConnect: true}}
  quic: {address: "127.0.0.1:0", http: {tls: {}}, http3: {extendedConnect: true}}
  mail: {address: "127.0.0.1:0"}
  dns: {address: "127.0.0.1:0/udp"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true, debug: true}
metrics: {prometheus: {}}
providers: {file: {directory: "${DYNAMIC}"}}
handover: {socket: "${SOCKET}", drain: ${DRAIN}}
certificatesResolvers:
  le:
    acme:
      email: operator@example.com
      caServer: ${ACME}/dir
      caCertificates: ["${ACME_CA}"]
      storage: ${STORAGE}
      keyType: EC256
      httpChallenge: {entryPoint: web}
`

// upstreams are the ways to speak to the two backends.
func upstreams() []string { return []string{"h1", "h2", "h2c"} }

// world is a Sluice with two backends.
type world struct {
	setup     harness.Setup
	authority *harness.Authority
	pairs     []harness.Issued
	// issuer issues the certificate of issuedHost.
	issuer *acmetest.Authority

	// pace is the time from one exchange of a client to the next one.
	pace time.Duration
	// latencies are those of exchanges with small messages.
	latencies traffic.Histogram

	mutex sync.Mutex
	// sluice is the process that serves.
	sluice *harness.Sluice
}

// current returns the process that serves.
func (w *world) current() *harness.Sluice {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.sluice
}

// dynamic returns the nth configuration. The responses of a host do not depend on n, except for one header.
func (w *world) dynamic(n int) string {
	var routers, services strings.Builder
	for i := range 20 + n%20 {
		fmt.Fprintf(&routers, "    other%d: {rule: 'Host(`other%d.test`) && PathPrefix(`/%d`)', service: h1}\n", i, i, n)
	}
	for _, upstream := range upstreams() {
		fmt.Fprintf(&routers, "    %s: {rule: Host(`%s.test`), service: %s, middlewares: [stamp, limit]}\n",
			upstream, upstream, upstream)
		name, scheme, transport := strings.ToUpper(upstream), "http", ""
		switch upstream {
		case "h2":
			scheme, transport = "https", ", serversTransport: trusting"
		case "h2c":
			scheme = "h2c"
		}
		fmt.Fprintf(&services, "    %s: {loadBalancer: {servers: [", upstream)
		fmt.Fprintf(&services, "{url: '%s://${A_%s}', weight: %d}, {url: '%s://${B_%s}', weight: 2}]%s}}\n",
			scheme, name, 1+n%4, scheme, name, transport)
	}
	pair := w.pairs[n%len(w.pairs)]
	routers.WriteString("    issued: {rule: Host(`" + issuedHost + "`), service: h1, tls: {certResolver: le}}\n")
	return "http:\n  routers:\n" + routers.String() + "  services:\n" + services.String() + fmt.Sprintf(`
  middlewares:
    stamp: {headers: {customResponseHeaders: {X-Version: "%d"}}}
    limit: {inFlightReq: {amount: 1000}}
  serversTransports:
    trusting: {rootCAs: ["${CA}"]}
tls:
  certificates: [{certFile: "%s", keyFile: "%s"}]
tcp:
  routers: {mail: {rule: HostSNI(`+"`*`"+`), entryPoints: [mail], service: echo}}
  services: {echo: {loadBalancer: {servers: [{address: "${ECHO_TCP}"}]}}}
udp:
  routers: {dns: {entryPoints: [dns], service: echo}}
  services: {echo: {loadBalancer: {servers: [{address: "${ECHO_UDP}"}]}}}
`, n/3, pair.CertFile, pair.KeyFile)
}

const (
	// issuedHost is the host whose certificate is an ACME server's.
	issuedHost = "issued.example.com"
	// issuedSeconds is the lifetime of the certificate: a long run has many renewals.
	issuedSeconds = 600
)

func newWorld(t *testing.T) *world {
	t.Helper()
	folder, err := os.MkdirTemp("", "soak") //nolint:usetesting // That of a test may have too long a path.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	port := netip.MustParseAddrPort(harness.FreeAddress(t)).Port()
	w := &world{authority: harness.NewAuthority(t)}
	w.issuer = acmetest.New(t, acmetest.Options{
		HTTPPort: int(port), Profiles: map[string]ca.Profile{"default": {ValidityPeriod: issuedSeconds}},
	})
	root := filepath.Join(folder, "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: w.issuer.Certificate().Raw}
	if err := os.WriteFile(root, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := map[string]string{
		"DRAIN": drain.String(),
		"CA":    w.authority.File, "HTTP": strconv.Itoa(int(port)), "SOCKET": filepath.Join(folder, "sluice.sock"),
		"STORAGE": filepath.Join(folder, "acme.json"), "ACME": w.issuer.URL, "ACME_CA": root,
		"ECHO_TCP": harness.StartEcho(t), "ECHO_UDP": harness.StartPacketEcho(t).Address,
	}
	for _, name := range []string{"A", "B"} {
		backend := harness.StartBackend(t, name, w.authority)
		vars[name+"_H1"], vars[name+"_H2"], vars[name+"_H2C"] = backend.H1, backend.H2, backend.H2C
	}
	for _, name := range []string{"first", "second"} {
		w.pairs = append(w.pairs, w.authority.Issue(name, "*.test"))
	}
	w.setup = harness.Setup{Static: static, Dynamic: map[string]string{"all.yaml": w.dynamic(0)}, Vars: vars}
	w.sluice = harness.Start(t, w.setup)
	return w
}

func (w *world) settings() *tls.Config { return &tls.Config{RootCAs: w.authority.Pool} }

// address returns that of the entrypoint for a protocol.
func (w *world) address(protocol harness.Protocol) string {
	switch {
	case protocol == harness.H3:
		return w.current().Addr("quic")
	case protocol.Secure():
		return w.current().Addr("websecure")
	}
	return w.current().Addr("web")
}

// reload writes another configuration every two seconds until ctx ends, and returns how many.
func (w *world) reload(ctx context.Context) int {
	ticker := time.NewTicker(reloads)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return n - 1
		case <-ticker.C:
			w.mutex.Lock() // A process that starts reads the first configuration.
			w.sluice.Write("all.yaml", w.dynamic(n))
			w.mutex.Unlock()
		}
	}
}

// upgrade has another process take over from time to time until ctx ends, and returns how many have.
func (w *world) upgrade(ctx context.Context, t *testing.T, every time.Duration) int {
	t.Helper()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return n
		case <-ticker.C:
		}
		w.mutex.Lock()
		next := harness.Start(t, w.setup)
		next.WaitLog("serving in the place of the predecessor")
		w.sluice = next
		w.mutex.Unlock()
	}
}

// duration returns that of a variable of the environment, or else another one.
func duration(t *testing.T, variable string, otherwise time.Duration) time.Duration {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	long, err := time.ParseDuration(text)
	if err != nil || long < time.Millisecond {
		t.Fatalf("%s=%q is no duration of a millisecond or more", variable, text)
	}
	return long
}

// TestSoak runs all loads while the configuration changes.
func TestSoak(t *testing.T) {
	long := duration(t, "TEST_SOAK", shortest)
	w := newWorld(t)
	w.pace = duration(t, "TEST_SOAK_PACE", pace)
	before := w.sample(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	reloaded, upgraded, sampled := make(chan int, 1), make(chan int, 1), make(chan []sample, 1)
	go func() { reloaded <- w.reload(ctx) }()
	go func() { upgraded <- w.upgrade(ctx, t, duration(t, "TEST_SOAK_UPGRADE", min(long/4, 20*time.Minute))) }()
	go func() { sampled <- w.follow(ctx, t, long) }()
	hostile := w.besiege(ctx)
	counts := w.load(ctx, t)
	result := outcome{
		long: long, changes: harness.Await(t, reloaded, "the last configuration"),
		upgrades: harness.Await(t, upgraded, "the last process"), hostile: hostile(), orders: len(w.issuer.Orders()),
		samples: harness.Await(t, sampled, "the last sample"), counts: counts,
	}
	result.report(t)
	if long >= judged {
		judge(t, result.samples)
	}
	// All clients are gone: what is left of their connections is a leak.
	var after sample
	harness.Eventually(t, time.Minute, func() bool {
		after = w.sample(t)
		return after.files <= before.files+idleFiles &&
			after.goroutines <= before.goroutines+idleGoroutines+idleWorkers
	}, func() string {
		return fmt.Sprintf("%d descriptors and %d goroutines are left, of %d and %d before:\n%s", after.files,
			after.goroutines, before.files, before.goroutines,
			w.current().Management().Get("/debug/pprof/goroutine?debug=1").Text)
	})
}
