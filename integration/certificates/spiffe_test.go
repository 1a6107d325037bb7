package certificates_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/spiffe/spiffetest"
	"github.com/sluiceproxy/sluice/integration/harness"
)

const spiffeStatic = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
providers: {file: {directory: "${DYNAMIC}"}}
api: {insecure: true}
ping: {}
metrics: {prometheus: {}}
${SPIFFE}
`

const spiffeDynamic = `
http:
  routers:
    shop: {rule: PathPrefix(` + "`/shop`" + `), entryPoints: [web], service: shop}
    cart: {rule: PathPrefix(` + "`/cart`" + `), entryPoints: [web], service: cart}
    plain: {rule: PathPrefix(` + "`/plain`" + `), entryPoints: [web], service: plain}
    both: {rule: PathPrefix(` + "`/both`" + `), entryPoints: [web], service: both}
  services:
    shop:
      loadBalancer:
        servers: [{url: "${BACKEND}"}]
        serversTransport: shop
        healthCheck: {path: /health, interval: 100ms, unhealthyInterval: 100ms}
    cart: {loadBalancer: {servers: [{url: "${BACKEND}"}], serversTransport: cart}}
    plain: {loadBalancer: {servers: [{url: "${PLAIN}"}], serversTransport: shop}}
    both: {loadBalancer: {servers: [{url: "${BACKEND}"}], serversTransport: both}}
  serversTransports:
    shop: {maxIdleConnsPerHost: -1, disableHTTP2: true, spiffe: {ids: ["spiffe://own.test/shop"]}}
    cart: {spiffe: {ids: ["spiffe://own.test/cart"]}}
    both: {insecureSkipVerify: true, spiffe: {}}
`

// identified starts a server that demands an SVID of the authority, and answers with the client's identity.
func identified(t *testing.T, own *spiffetest.Authority, presented spiffetest.SVID) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprint(w, r.TLS.PeerCertificates[0].URIs[0])
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Refused handshakes are part of the test.
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{presented.TLS}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: own.Pool(),
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// spiffeFixture returns a setup with two backends, of which one has an ordinary certificate.
func spiffeFixture(t *testing.T, own *spiffetest.Authority, section string) harness.Setup {
	t.Helper()
	return harness.Setup{
		Static: spiffeStatic, Dynamic: map[string]string{"shop.yaml": spiffeDynamic}, Vars: map[string]string{
			"BACKEND": identified(t, own, own.Issue("/shop", time.Now().Add(time.Hour))),
			"PLAIN":   identified(t, own, own.Ordinary()), "SPIFFE": section,
		},
	}
}

func TestSPIFFEIdentities(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	api := spiffetest.NewAPI(t, filepath.Join(t.TempDir(), "api.sock"))
	deliver := func(path string) {
		svid := own.Issue(path, time.Now().Add(time.Hour))
		api.Deliver(spiffetest.Delivery(t, svid, []*spiffetest.Authority{own}))
	}
	s := harness.Start(t, spiffeFixture(t, own, fmt.Sprintf("spiffe: {workloadAPIAddr: %q}", api.Address())))
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "shop.test", nil)
	management := s.Management()
	await := func(what string, client *harness.Client, path string, holds func(harness.Response) bool) {
		t.Helper()
		var last harness.Response
		harness.Eventually(t, time.Minute, func() bool {
			last = client.Get(path)
			return holds(last)
		}, func() string { return fmt.Sprintf("%s: %d %s\n%s", what, last.StatusCode, last.Text, s.Log) })
	}
	verdict := func(present bool) func(harness.Response) bool {
		return func(r harness.Response) bool {
			return strings.Contains(r.Text, "has delivered no X.509-SVID yet") == present
		}
	}

	await("verdict", management, "/api/verdicts", verdict(true))
	if status := client.Get("/shop").StatusCode; status != http.StatusServiceUnavailable {
		t.Errorf("status %d without an SVID", status)
	}
	if text := management.Get("/api/http/services/shop@file").Text; strings.Contains(text, `"DOWN"`) {
		t.Errorf("an endpoint that was not checked counts as down: %s", text)
	}
	api.Start()
	deliver("/proxy")
	await("first SVID", client, "/shop", func(r harness.Response) bool { return r.Text == "spiffe://own.test/proxy" })
	await("health check", management, "/api/http/services/shop@file", func(r harness.Response) bool {
		return strings.Contains(r.Text, `"UP"`)
	})
	await("no verdict", management, "/api/verdicts", verdict(false))
	deliver("/renamed")
	await("rotation", client, "/shop", func(r harness.Response) bool { return r.Text == "spiffe://own.test/renamed" })
	await("metric", management, "/metrics", func(r harness.Response) bool {
		return strings.Contains(r.Text, `sluice_spiffe_svid_not_after{id="spiffe://own.test/renamed"}`)
	})
	for path, want := range map[string]int{
		"/shop": http.StatusOK, "/cart": http.StatusBadGateway, "/plain": http.StatusBadGateway,
		"/both": http.StatusServiceUnavailable,
	} {
		if got := client.Get(path); got.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, got.StatusCode, want)
		}
	}
	if body := management.Get("/api/verdicts").Text; !strings.Contains(body, "spiffe excludes insecureSkipVerify") {
		t.Errorf("verdicts %s", body)
	}
}

// Without the option, transports with spiffe are quarantined.
func TestSPIFFEWithoutWorkloadAPI(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	s := harness.Start(t, spiffeFixture(t, own, ""))
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "shop.test", nil)
	if status := client.Get("/shop").StatusCode; status != http.StatusServiceUnavailable {
		t.Errorf("status %d", status)
	}
	management, body := s.Management(), ""
	harness.Eventually(t, time.Minute, func() bool {
		body = management.Get("/api/verdicts").Text
		return strings.Contains(body, "spiffe.workloadAPIAddr")
	}, func() string { return body })
}

// The static section makes every service use the identity.
func TestSPIFFEByDefault(t *testing.T) {
	own := spiffetest.NewAuthority(t, "own.test")
	api := spiffetest.NewAPI(t, filepath.Join(t.TempDir(), "api.sock"))
	setup := spiffeFixture(t, own, fmt.Sprintf(
		"spiffe: {workloadAPIAddr: %q}\nserversTransport: {spiffe: {trustDomain: own.test}}", api.Address()))
	setup.Dynamic["shop.yaml"] = strings.ReplaceAll(spiffeDynamic, ", serversTransport: cart", "")
	s := harness.Start(t, setup)
	client, management := harness.NewClient(t, harness.H1, s.Addr("web"), "shop.test", nil), s.Management()
	verdicts := func() string { return management.Get("/api/verdicts").Text }
	harness.Eventually(t, time.Minute, func() bool {
		text := verdicts()
		return strings.Contains(text, `"default@internal"`) && strings.Contains(text, "has delivered no X.509-SVID yet")
	}, verdicts)
	svid := own.Issue("/proxy", time.Now().Add(time.Hour))
	api.Deliver(spiffetest.Delivery(t, svid, []*spiffetest.Authority{own}))
	api.Start()
	answer := func() string { return client.Get("/cart").Text }
	harness.Eventually(t, time.Minute, func() bool { return answer() == "spiffe://own.test/proxy" }, answer)
	harness.Eventually(t, time.Minute, func() bool { return !strings.Contains(verdicts(), "X.509-SVID") }, verdicts)
}
