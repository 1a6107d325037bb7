package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// TestQUICConnections counts open and failed connections of HTTP/3, and shows nothing of entrypoints without any.
func TestQUICConnections(t *testing.T) {
	all := metrics.New(metrics.Options{})
	all.Entrypoint("plain").Opened()
	web := all.Entrypoint("web")
	web.Opened()
	web.QUIC().Opened()
	web.QUIC().Opened()
	web.QUIC().Closed()
	for _, cause := range []string{"refused", "resets", "resets", "a new one"} {
		web.QUIC().Failed(cause)
	}
	web.QUIC().Dropped()
	web.QUIC().Dropped()
	recorder := httptest.NewRecorder()
	all.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	var got []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "traefik_open_connections") || strings.HasPrefix(line, "sluice_http3") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	want := []string{
		`sluice_http3_connection_errors_total{cause="other",entrypoint="web"} 1`,
		`sluice_http3_connection_errors_total{cause="refused",entrypoint="web"} 1`,
		`sluice_http3_connection_errors_total{cause="resets",entrypoint="web"} 2`,
		`sluice_http3_handover_dropped_packets_total{entrypoint="web"} 2`,
		`traefik_open_connections{entrypoint="plain",protocol="TCP"} 1`,
		`traefik_open_connections{entrypoint="web",protocol="QUIC"} 1`,
		`traefik_open_connections{entrypoint="web",protocol="TCP"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
