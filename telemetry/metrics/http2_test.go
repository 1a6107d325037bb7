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

// TestHTTP2Failures counts connections by cause, and shows no cause that has not occurred.
func TestHTTP2Failures(t *testing.T) {
	all := metrics.New(metrics.Options{})
	all.Entrypoint("plain").Opened()
	web := all.Entrypoint("web")
	for _, cause := range []string{"ping", "resets", "resets", "write_timeout", "a new one"} {
		web.HTTP2Failed(cause)
	}
	recorder := httptest.NewRecorder()
	all.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	var got []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "sluice_http2") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	want := []string{
		`sluice_http2_connection_errors_total{cause="other",entrypoint="web"} 1`,
		`sluice_http2_connection_errors_total{cause="ping",entrypoint="web"} 1`,
		`sluice_http2_connection_errors_total{cause="resets",entrypoint="web"} 2`,
		`sluice_http2_connection_errors_total{cause="write_timeout",entrypoint="web"} 1`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}
