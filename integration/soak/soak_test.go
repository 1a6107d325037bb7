package soak

import (
	"context"
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	// shortest is how long the test runs by default, and judged how long it runs at least for growth to be judged.
	shortest = 20 * time.Second
	judged   = 10 * time.Minute
	// reloads is the time between two configurations, of which each has other routers, weights, headers and certificates.
	reloads = 2 * time.Second
)

const static = `
entryPoints:
  web: {address: "127.0.0.1:0", http2: {extendedConnect: true}}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}, http2: {extendedConnect: true}}
  quic: {address: "127.0.0.1:0", http: {tls: {}}, http3: {extendedConnect: true}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
metrics: {prometheus: {}}
providers: {file: {directory: "${DYNAMIC}"}}
`

// upstreams are the ways to speak to the two backends.
func upstreams() []string { return []string{"h1", "h2", "h2c"} }

// world is a Sluice with two backends.
type world struct {
	sluice    *harness.Sluice
	authority *harness.Authority
	pairs     []harness.Issued
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
	return "http:\n  routers:\n" + routers.String() + "  services:\n" + services.String() + fmt.Sprintf(`
  middlewares:
    stamp: {headers: {customResponseHeaders: {X-Version: "%d"}}}
    limit: {inFlightReq: {amount: 1000}}
  serversTransports:
    trusting: {rootCAs: ["${CA}"]}
tls:
  certificates: [{certFile: "%s", keyFile: "%s"}]
`, n/3, pair.CertFile, pair.KeyFile)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{authority: harness.NewAuthority(t)}
	vars := map[string]string{"CA": w.authority.File}
	for _, name := range []string{"A", "B"} {
		backend := harness.StartBackend(t, name, w.authority)
		vars[name+"_H1"], vars[name+"_H2"], vars[name+"_H2C"] = backend.H1, backend.H2, backend.H2C
	}
	for _, name := range []string{"first", "second"} {
		w.pairs = append(w.pairs, w.authority.Issue(name, "*.test"))
	}
	w.sluice = harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": w.dynamic(0)}, Vars: vars,
	})
	return w
}

func (w *world) settings() *tls.Config { return &tls.Config{RootCAs: w.authority.Pool} }

// address returns that of the entrypoint for a protocol.
func (w *world) address(protocol harness.Protocol) string {
	switch {
	case protocol == harness.H3:
		return w.sluice.Addr("quic")
	case protocol.Secure():
		return w.sluice.Addr("websecure")
	}
	return w.sluice.Addr("web")
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
			w.sluice.Write("all.yaml", w.dynamic(n))
		}
	}
}

// duration returns how long the test runs.
func duration(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("TEST_SOAK")
	if text == "" {
		return shortest
	}
	long, err := time.ParseDuration(text)
	if err != nil || long < time.Second {
		t.Fatalf("TEST_SOAK=%q is no duration of a second or more", text)
	}
	return long
}

// TestSoak runs all loads while the configuration changes.
func TestSoak(t *testing.T) {
	long := duration(t)
	w := newWorld(t)
	before := w.sample(t)
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	reloaded, sampled := make(chan int, 1), make(chan []sample, 1)
	go func() { reloaded <- w.reload(ctx) }()
	go func() { sampled <- w.follow(ctx, t, long) }()
	counts := w.load(ctx, t)
	changes, samples := harness.Await(t, reloaded, "the last configuration"), harness.Await(t, sampled, "the last sample")
	report(t, long, changes, samples, counts)
	if long >= judged {
		judge(t, samples)
	}
	// All clients are gone: what is left of their connections is a leak.
	harness.Until(t, "connections and their goroutines are gone", func() bool {
		after := w.sample(t)
		return after.files <= before.files+idleFiles && after.goroutines <= before.goroutines+idleGoroutines
	})
}
