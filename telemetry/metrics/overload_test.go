package metrics_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

func TestOverloadIsShown(t *testing.T) {
	all := metrics.New(metrics.Options{})
	collector := metrics.NewOverload(func() metrics.Overload {
		return metrics.Overload{
			Pressures: map[string]float64{"memory": 0.87, "cpu": 0},
			Active:    map[string]bool{"shedLow": true, "shedHigh": false},
			Begun:     map[string]uint64{"shedLow": 3, "shedHigh": 0},
			Shed:      map[string]uint64{"low": 812, "high": 0},
			Reset:     7,
		}
	})
	if problems, err := testutil.CollectAndLint(collector); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
	all.Register(collector)
	recorder := httptest.NewRecorder()
	all.Handler().ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	var got []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "sluice_overload") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	slices.Sort(got)
	want := []string{
		`sluice_overload_active{action="shedHigh"} 0`,
		`sluice_overload_active{action="shedLow"} 1`,
		`sluice_overload_pressure{monitor="cpu"} 0`,
		`sluice_overload_pressure{monitor="memory"} 0.87`,
		`sluice_overload_reset_total 7`,
		`sluice_overload_shed_total{class="high"} 0`,
		`sluice_overload_shed_total{class="low"} 812`,
		`sluice_overload_transitions_total{action="shedHigh"} 0`,
		`sluice_overload_transitions_total{action="shedLow"} 3`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestOpenConnectionsOfAllEntrypoints adds up those of TCP and of HTTP/3.
func TestOpenConnectionsOfAllEntrypoints(t *testing.T) {
	all := metrics.New(metrics.Options{})
	if open := all.OpenConnections(); open != 0 {
		t.Errorf("%d connections are open", open)
	}
	web := all.Entrypoint("web")
	web.Opened()
	web.Opened()
	web.Closed()
	web.QUIC().Opened()
	all.Entrypoint("internal").Opened()
	if open := all.OpenConnections(); open != 3 {
		t.Errorf("%d connections are open, want 3", open)
	}
}
