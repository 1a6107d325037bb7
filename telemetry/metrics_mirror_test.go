package telemetry

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestMirrorsAreCounted(t *testing.T) {
	metrics := NewMetrics(MetricsOptions{EntryPoints: true})
	metrics.CountMirrors(map[string]func() uint64{
		"sent": func() uint64 { return 7 }, "dropped": func() uint64 { return 2 },
	})
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics",
		http.NoBody))
	for _, want := range []string{
		`sluice_mirror_requests_total{result="sent"} 7`, `sluice_mirror_requests_total{result="dropped"} 2`,
	} {
		if !strings.Contains(recorder.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
