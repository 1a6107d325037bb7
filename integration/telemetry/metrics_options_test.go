package telemetry

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestOptionsOfMetrics sends the same requests to Sluices that show different things.
func TestOptionsOfMetrics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, options string
		// shown and hidden are metrics with labels, separated by spaces.
		shown, hidden []string
	}{
		{
			"by default", "metrics: {prometheus: {}}",
			[]string{"traefik_entrypoint_requests_total entrypoint=web", "traefik_service_requests_total service=shop@file"},
			[]string{
				"traefik_router_requests_total", "traefik_router_request_duration_seconds",
				"traefik_entrypoint_requests_total entrypoint=traefik code=200",
				"traefik_service_requests_total service=ping@internal",
			},
		},
		{
			"routers", "metrics: {prometheus: {addRoutersLabels: true}}",
			[]string{"traefik_router_requests_total router=shop@file service=shop@file code=200"},
			[]string{"traefik_router_requests_total router=quiet@file"},
		},
		{
			"neither entrypoints nor services",
			"metrics: {prometheus: {addEntryPointsLabels: false, addServicesLabels: false, addRoutersLabels: true}}",
			[]string{"traefik_router_requests_total router=shop@file", "traefik_config_reloads_total"},
			[]string{
				"traefik_entrypoint_requests_total", "traefik_entrypoint_requests_bytes_total",
				"traefik_service_requests_total", "traefik_service_request_duration_seconds",
			},
		},
		{
			"internals", "metrics: {addInternals: true, prometheus: {addRoutersLabels: true}}",
			[]string{
				"traefik_entrypoint_requests_total entrypoint=traefik code=200",
				"traefik_router_requests_total service=ping@internal", "traefik_service_requests_total service=shop@file",
			},
			nil,
		},
		{
			"header labels",
			"metrics: {prometheus: {addRoutersLabels: true, headerLabels: {tenant: x-tenant, who: Authorization}}}",
			[]string{
				"traefik_entrypoint_requests_total tenant=blue who=redacted",
				"traefik_router_requests_total router=shop@file tenant=blue",
				"traefik_service_requests_total service=shop@file tenant=blue",
				"traefik_entrypoint_requests_total tenant= who=",
			},
			[]string{"traefik_entrypoint_request_duration_seconds tenant=blue"},
		},
		{
			"buckets", "metrics: {prometheus: {buckets: [0.001, 60]}}",
			[]string{"traefik_entrypoint_request_duration_seconds entrypoint=web"},
			nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := start(t, test.options+"\n", nil)
			shop, quiet := w.client(t, harness.H1, "shop.test"), w.client(t, harness.H1, "quiet.test")
			shop.Send(with(shop.Request(http.MethodGet, "/", nil), "X-Tenant: blue", "Authorization: Bearer s3cret"))
			shop.Get("/")
			quiet.Get("/")
			w.sluice.Management().Get("/ping")
			var found page
			for _, one := range test.shown {
				harness.Until(t, one, func() bool {
					found = w.scrape(t)
					fields := strings.Fields(one)
					return found.value(fields[0], fields[1:]...) > 0
				})
			}
			for _, one := range test.hidden {
				fields := strings.Fields(one)
				if n := len(found.metrics(fields[0], fields[1:]...)); n > 0 {
					t.Errorf("%s: %d series", one, n)
				}
			}
			if strings.Contains(found.text, "s3cret") {
				t.Error("the metrics show a secret")
			}
			shown := strings.Contains(found.text,
				`traefik_entrypoint_request_duration_seconds_bucket{code="200",entrypoint="web",method="GET",protocol="http",le="0.001"}`)
			if shown != (test.name == "buckets") {
				t.Errorf("a bucket for 1 ms: %v", shown)
			}
		})
	}
}

// TestHeaderLabelsAreBounded has a client send a value of its own with each request.
func TestHeaderLabelsAreBounded(t *testing.T) {
	t.Parallel()
	w := start(t, "metrics: {prometheus: {headerLabels: {tenant: X-Tenant}}}\n", nil)
	client := w.client(t, harness.H1, "shop.test")
	const requests = 300
	for i := range requests {
		client.Send(with(client.Request(http.MethodGet, "/", nil), fmt.Sprintf("X-Tenant: tenant-%d", i)))
	}
	var found page
	harness.Until(t, "all are counted", func() bool {
		found = w.scrape(t)
		return found.value("traefik_service_requests_total", "service=shop@file") == requests
	})
	if n := len(found.metrics("traefik_service_requests_total", "service=shop@file")); n < 100 || n > 128 ||
		found.value("traefik_service_requests_total", "tenant=other") != float64(requests-n+1) {
		t.Errorf("the tenants of %d requests make %d series, other counts %v", requests, n,
			found.value("traefik_service_requests_total", "tenant=other"))
	}
}

// TestSeriesOfRemovedRoutersAreKept removes a router and its service, which return later. A test of the metrics package
// covers how long their series are kept.
func TestSeriesOfRemovedRoutersAreKept(t *testing.T) {
	t.Parallel()
	w := start(t, "metrics: {prometheus: {addRoutersLabels: true}}\n", nil)
	const passing = `
http:
  routers: {passing: {rule: "Host(` + "`passing.test`" + `)", service: passing, entryPoints: [web]}}
  services: {passing: {loadBalancer: {servers: [{url: "http://${SHOP}"}]}}}
`
	w.sluice.Apply(func() { w.sluice.Write("passing.yaml", passing) })
	shop, gone := w.client(t, harness.H1, "shop.test"), w.client(t, harness.H1, "passing.test")
	const requests = 7
	for range requests {
		shop.Get("/")
		if status := gone.Get("/").StatusCode; status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	counts := func() [3]float64 {
		found := w.scrape(t)
		return [3]float64{
			found.value("traefik_router_requests_total", "router=passing@file"), found.value("traefik_service_requests_total",
				"service=passing@file"),
			found.value("traefik_router_requests_total", "router=shop@file"),
		}
	}
	harness.Until(t, "all are counted", func() bool { return counts() == [3]float64{requests, requests, requests} })
	w.sluice.Apply(func() { w.sluice.Write("passing.yaml", "http: {}\n") })
	if status := gone.Get("/").StatusCode; status != http.StatusNotFound {
		t.Fatalf("status %d of what is gone", status)
	}
	for range 3 {
		if got := counts(); got != [3]float64{requests, requests, requests} {
			t.Errorf("a scrape after the removal shows %v", got)
		}
	}
	w.sluice.Apply(func() { w.sluice.Write("passing.yaml", passing) })
	gone.Get("/")
	harness.Until(t, "it continues its counts", func() bool {
		return counts() == [3]float64{requests + 1, requests + 1, requests}
	})
}
