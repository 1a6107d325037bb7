package telemetry

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestRetriedRequestsAreCountedOnce has a service with an endpoint that refuses connections: a request has one line and
// counts once for its service, with the status of its answer, however many attempts it took; retries count apart.
func TestRetriedRequestsAreCountedOnce(t *testing.T) {
	t.Parallel()
	w := start(t, accessFile+"metrics: {prometheus: {}}\n", nil)
	client := w.client(t, harness.H1, "flaky.test")
	const requests = 8
	retries := 0.0
	for i := range requests {
		id := fmt.Sprintf("flaky-%d", i)
		done, err := ask(client, client.Request(http.MethodGet, "/", nil), id)
		if err != nil || done.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v", done.StatusCode, err)
		}
		retries += w.line(t, id)["RetryAttempts"].(float64)
	}
	if retries == 0 {
		t.Error("no request was retried")
	}
	of := "service=flaky@file"
	counts := []struct {
		metric string
		labels []string
		want   float64
	}{
		{"traefik_service_requests_total", []string{of}, requests},
		{"traefik_service_requests_total", []string{of, "code=200"}, requests},
		{"traefik_service_retries_total", []string{of}, retries},
		{"sluice_service_retries_total", []string{of}, retries},
	}
	var found page
	// A request is counted after its client has got the response, one series after the other.
	harness.Until(t, "all requests are counted", func() bool {
		found = w.scrape(t)
		for _, count := range counts {
			if found.value(count.metric, count.labels...) < count.want {
				return false
			}
		}
		return true
	})
	for _, count := range counts {
		if got := found.value(count.metric, count.labels...); got != count.want {
			t.Errorf("%s %v is %v, want %v", count.metric, count.labels, got, count.want)
		}
	}
}
