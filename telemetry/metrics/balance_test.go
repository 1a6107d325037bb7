package metrics

import (
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestBalanceIsCountedByService demands a metric for each count of a service that is not 0, under a name of good form,
// as it is at the moment of the scrape.
func TestBalanceIsCountedByService(t *testing.T) {
	metrics := New(Options{EntryPoints: true})
	counts := map[string]uint64{"retries": 0, "unheard_of": 7}
	metrics.Register(Balance(slices.Values([]BalanceCounts{{Protocol: "http", Service: "shop@file", Counts: counts}})))
	if page := scrape(t, metrics); strings.Contains(page, "sluice_service_") {
		t.Errorf("counts of 0, or of nothing that is known, are shown:\n%s", page)
	}
	for what := range balanceMetrics() {
		counts[what] = 3
	}
	page := scrape(t, metrics)
	for what := range balanceMetrics() {
		if line := "sluice_service_" + what + `_total{protocol="http",service="shop@file"} 3` + "\n"; !strings.Contains(page, line) {
			t.Errorf("the page lacks %s", line)
		}
	}
	problems, err := testutil.GatherAndLint(metrics.page)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}
