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

// TestRefusedConnections counts connections by reason, and shows no reason that has not occurred.
func TestRefusedConnections(t *testing.T) {
	all := metrics.New(metrics.Options{})
	all.Entrypoint("plain").Opened()
	web := all.Entrypoint("web")
	for _, reason := range []string{
		"max_connections", "connection_rate_per_client", "connection_rate_per_client", "descriptors",
		"handshake_rate_per_client", "a new one",
	} {
		web.Refused(reason)
	}
	recorder := httptest.NewRecorder()
	all.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	var got []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "sluice_connections_refused") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	want := []string{
		`sluice_connections_refused_total{entrypoint="web",reason="connection_rate_per_client"} 2`,
		`sluice_connections_refused_total{entrypoint="web",reason="descriptors"} 1`,
		`sluice_connections_refused_total{entrypoint="web",reason="handshake_rate_per_client"} 1`,
		`sluice_connections_refused_total{entrypoint="web",reason="max_connections"} 1`,
		`sluice_connections_refused_total{entrypoint="web",reason="other"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
