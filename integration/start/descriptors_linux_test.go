package start

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const checked = `
http:
  routers: {all: {rule: "PathPrefix(` + "`/`" + `)", service: one}}
  services:
    one:
      loadBalancer:
        servers: [{url: "http://${BACKEND}"}]
        healthCheck: {path: /health, interval: 100ms, timeout: 10s}
`

// TestDescriptorsInReserve opens more connections than the process may have descriptors. Those in reserve stay free for
// what Sluice serves about itself and for health checks, and clients are served again when the flood is over.
func TestDescriptorsInReserve(t *testing.T) {
	t.Parallel()
	backend := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": checked}, Descriptors: 256,
		Vars: map[string]string{"WEB": "", "INTERNAL": "", "BACKEND": backend.H1},
		Args: []string{"--metrics.prometheus=true", "--api.insecure=true", "--log.level=DEBUG"},
	})
	s.WaitLog("file descriptors in reserve", "64")
	flood := make([]net.Conn, 400)
	for i := range flood {
		flood[i] = harness.Dial(t, s.Addr("web"))
	}
	s.WaitLog("connections refused", "descriptors")
	management := s.Management()
	for _, path := range []string{"/ping", "/ready", "/api/overview", "/metrics"} {
		if got := management.Get(path); got.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, got.StatusCode)
		}
	}
	before := backend.Seen()
	eventually(t, "another health check", func() bool { return backend.Seen() > before })
	page := management.Get("/metrics").Text
	for _, series := range []string{
		`sluice_connections_refused_total{entrypoint="web",reason="descriptors"} `,
		`traefik_service_server_up{service="one@file",url="http://` + backend.H1 + `"} 1`,
	} {
		if !strings.Contains(page, series) {
			t.Errorf("the metrics lack %s", series)
		}
	}
	for _, conn := range flood {
		_ = conn.Close()
	}
	eventually(t, "a response", func() bool {
		raw := harness.Dial(t, s.Addr("web"))
		defer func() { _ = raw.Close() }()
		_ = raw.SetDeadline(time.Now().Add(time.Minute))
		got, err := raw.RoundTrip(get)
		return err == nil && got.StatusCode == http.StatusOK
	})
}
