package telemetry

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestAScrapeIsWellFormed parses the page with Prometheus' code, and checks for all series of Traefik's dashboards.
func TestAScrapeIsWellFormed(t *testing.T) {
	t.Parallel()
	w := start(t, "metrics: {prometheus: {addRoutersLabels: true}}\n", nil)
	known := &tallies{by: map[string]tally{}}
	w.send(t, known)
	flaky := w.client(t, harness.H1, "flaky.test")
	for range 10 {
		flaky.Get("/")
	}
	idle := w.client(t, harness.H1, "shop.test")
	idle.Get("/")
	var found page
	harness.Until(t, "requests are counted", func() bool {
		found = w.scrape(t)
		return found.value("traefik_router_requests_total", "router=flaky@file") == 10
	})
	for name, own := range traefikSeries() {
		metrics := found.metrics(name)
		if len(metrics) == 0 {
			t.Errorf("there is no %s", name)
		}
		for _, metric := range metrics {
			has := labels(metric)
			for _, label := range own {
				if _, ok := has[label]; !ok {
					t.Errorf("%s has no label %s: %v", name, label, has)
				}
			}
		}
		if found.value(name) == 0 {
			t.Errorf("%s is 0 after traffic", name)
		}
	}
	problems, err := promlint.New(strings.NewReader(found.text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	t.Run("open connections", func(t *testing.T) { w.connections(t, idle) })
	t.Run("retries", func(t *testing.T) {
		if ours, theirs := found.value("sluice_service_retries_total"), found.value("traefik_service_retries_total",
			"service=flaky@file"); ours != theirs || ours < 1 || ours > 10 {
			t.Errorf("10 requests to two servers, one of which refuses, were tried again %v and %v times", ours, theirs)
		}
	})
	t.Run("servers", func(t *testing.T) {
		// They are not verified.
		for url, up := range map[string]float64{"http://" + w.backend.H1: 1, "http://" + w.refused: 1} {
			if got := found.value("traefik_service_server_up", "service=flaky@file", "url="+url); got != up {
				t.Errorf("%s: up is %v, want %v", url, got, up)
			}
		}
	})
	t.Run("certificates", func(t *testing.T) { w.certificates(t, found) })
	t.Run("native histograms", w.native)
}

// traefikSeries are the metrics of Traefik with their labels.
func traefikSeries() map[string][]string {
	all := map[string][]string{
		"traefik_config_reloads_total": nil, "traefik_config_last_reload_success": nil,
		"traefik_open_connections":    {"entrypoint", "protocol"},
		"traefik_tls_certs_not_after": {"cn", "serial", "sans"}, "traefik_service_server_up": {"service", "url"},
		"traefik_service_retries_total": {"service"},
	}
	for level, own := range map[string][]string{
		"entrypoint": {"entrypoint"}, "router": {"router", "service"},
		"service": {"service"},
	} {
		for _, name := range []string{
			"requests_total", "request_duration_seconds", "requests_bytes_total",
			"responses_bytes_total",
		} {
			all["traefik_"+level+"_"+name] = slices.Concat(own, []string{"code", "method", "protocol"})
		}
		all["traefik_"+level+"_requests_tls_total"] = slices.Concat(own, []string{"tls_version", "tls_cipher"})
	}
	return all
}

// connections opens and closes some.
func (w *world) connections(t *testing.T, idle *harness.Client) {
	open := func() float64 { return w.scrape(t).value("traefik_open_connections", "entrypoint=web", "protocol=TCP") }
	before := open()
	if before < 1 {
		t.Errorf("%v connections are open, though one is idle", before)
	}
	var raw []*harness.Raw
	for range 7 {
		connection := harness.Dial(t, w.sluice.Addr("web"))
		if _, err := connection.RoundTrip("GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		raw = append(raw, connection)
	}
	harness.Until(t, "connections are counted", func() bool { return open() == before+7 })
	for _, connection := range raw {
		_ = connection.Close()
	}
	idle.CloseIdleConnections()
	harness.Until(t, "connections that are closed are not", func() bool { return open() == before-1 })
}

// certificates compares the expiry of the certificate with the metric.
func (w *world) certificates(t *testing.T, found page) {
	own, err := x509.ParseCertificate(w.issued.Pair.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := found.value("traefik_tls_certs_not_after", "cn=wildcard", "sans=*.test,wildcard",
		"serial="+own.SerialNumber.String()); got != float64(own.NotAfter.Unix()) {
		t.Errorf("the certificate ends at %v, reported is %v: %v", own.NotAfter.Unix(), got,
			found.metrics("traefik_tls_certs_not_after"))
	}
}

// native checks native histograms as Prometheus reads them.
func (w *world) native(t *testing.T) {
	found := w.scrapeNative(t)
	for _, level := range []string{"entrypoint", "router", "service"} {
		metrics := found.metrics("traefik_" + level + "_request_duration_seconds")
		if len(metrics) == 0 {
			t.Errorf("no durations of %s", level)
		}
		for _, metric := range metrics {
			h := metric.GetHistogram()
			var bounds []string
			for _, bucket := range h.GetBucket() {
				bounds = append(bounds, fmt.Sprint(bucket.GetUpperBound()))
			}
			if joined := strings.Join(bounds, " "); !strings.HasPrefix(joined, "0.1 0.3 1.2 5") {
				t.Errorf("%v: classic buckets %s", labels(metric), joined)
			}
			observations, at := int64(h.GetZeroCount()), int64(0)
			for _, delta := range h.GetPositiveDelta() {
				at += delta
				observations += at
			}
			if observations != int64(h.GetSampleCount()) || observations == 0 || h.GetSchema() < 3 {
				t.Errorf("%v: native buckets of schema %d hold %d of %d", labels(metric), h.GetSchema(), observations,
					h.GetSampleCount())
			}
			if h.GetSampleSum() <= 0 {
				t.Errorf("%v: the sum is %v s", labels(metric), h.GetSampleSum())
			}
		}
	}
}
