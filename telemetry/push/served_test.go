package push

import (
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// pushedOnce returns what is pushed of metrics, without those that are not of requests.
func pushedOnce(t *testing.T, c static.MetricOTLP, m *metrics.Metrics) map[string]metricdata.Metrics {
	t.Helper()
	exporter := &memory{}
	push, err := New(c, m.Pushed(), exporter)
	if err != nil {
		t.Fatal(err)
	}
	if err := push.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return exporter.seen()[0]
}

// TestRequestsAreDescribedAsTheConventionsHaveIt demands the attributes of OpenTelemetry's semantic
// conventions, whichever levels are pushed, and that requests to different entrypoints are counted together.
func TestRequestsAreDescribedAsTheConventionsHaveIt(t *testing.T) {
	c := config()
	c.AddEntryPointsLabels, c.AddServicesLabels, c.ExplicitBoundaries = false, false, []float64{.1, 1}
	m := metrics.New(metrics.Options{Pushed: View(c)})
	for _, record := range []telemetry.Record{
		{Entrypoint: "web", Method: "GET", Version: "HTTP/1.1", Status: 200, Duration: 50 * time.Millisecond},
		{Entrypoint: "other", Method: "GET", Version: "HTTP/1.1", Status: 200, Duration: 250 * time.Millisecond},
		{Entrypoint: "web", Method: "BREW", Version: "HTTP/2.0", Status: 404, TLS: &tls.ConnectionState{}},
		{
			Entrypoint: "web", Method: "GET", Version: "HTTP/1.1", Status: 503,
			RequestHeader: http.Header{"X-Forwarded-Proto": {"https"}},
		},
		{Entrypoint: "web", Method: "GET", Status: 0},
	} {
		record.Protocol, record.Observe, record.Host = "http", telemetry.ObserveMetrics, "shop.example"
		telemetry.Requests{Entrypoint: m.Entrypoint(record.Entrypoint)}.Finished(&record)
	}
	pushed := pushedOnce(t, c, m)
	durations := pushed["http.server.request.duration"]
	if durations.Unit != "s" || pushed["traefik_entrypoint_requests_total"].Data != nil {
		t.Errorf("unit %q, and of entrypoints %v", durations.Unit, pushed["traefik_entrypoint_requests_total"])
	}
	got := map[string]string{}
	histogram := durations.Data.(metricdata.Histogram[float64])
	for _, point := range histogram.DataPoints {
		got[point.Attributes.Encoded(attribute.DefaultEncoder())] = fmt.Sprint(point.Bounds, point.BucketCounts, point.Count,
			point.Sum)
	}
	want := map[string]string{
		"http.request.method=GET,http.response.status_code=200,network.protocol.name=http,network.protocol.version=1.1,url.scheme=http":                 "[0.1 1] [1 1 0] 2 0.3",
		"error.type=503,http.request.method=GET,http.response.status_code=503,network.protocol.name=http,network.protocol.version=1.1,url.scheme=https": "[0.1 1] [1 0 0] 1 0",
		"http.request.method=_OTHER,http.response.status_code=404,network.protocol.name=http,network.protocol.version=2,url.scheme=https":               "[0.1 1] [1 0 0] 1 0",
		"error.type=_OTHER,http.request.method=GET,network.protocol.name=http,url.scheme=http":                                                          "[0.1 1] [1 0 0] 1 0",
	}
	if diff := cmp.Diff(want, got); diff != "" || histogram.Temporality != metricdata.CumulativeTemporality {
		t.Errorf("%v (-want +got):\n%s", histogram.Temporality, diff)
	}
	c.ExplicitBoundaries = []float64{}
	if _, ok := pushedOnce(t, c,
		counted(c))["http.server.request.duration"].Data.(metricdata.ExponentialHistogram[float64]); !ok {
		t.Error("without boundaries the histogram is not exponential")
	}
	if data := pushedOnce(t, c,
		metrics.New(metrics.Options{Pushed: View(c)}))["http.server.request.duration"].Data; data != nil {
		t.Errorf("without requests there is %v", data)
	}
}

// TestAllLevelsArePushed demands each family once, with all of its labels.
func TestAllLevelsArePushed(t *testing.T) {
	c := config()
	c.AddRoutersLabels = true
	m := metrics.New(metrics.Options{
		Pushed:       View(c),
		HeaderLabels: map[string]string{"tenant": "X-Tenant"},
	})
	for _, tenant := range []string{"blue", "red", "blue"} {
		m.Entrypoint("web").Count(&metrics.Request{
			Method: "GET", Protocol: "http", Status: 200,
			Header: http.Header{"X-Tenant": {tenant}},
			TLS:    &tls.ConnectionState{Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256},
			Router: m.Router("shop@file", "goods@file"), Service: m.Service("goods@file"), BytesReceived: 2,
		})
	}
	pushed := pushedOnce(t, c, m)
	sums := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(pushed)) {
		if sum, ok := pushed[name].Data.(metricdata.Sum[float64]); ok && len(name) > 8 && name[:8] == "traefik_" {
			for _, point := range sum.DataPoints {
				sums[name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = point.Value
			}
		}
	}
	want := map[string]float64{"traefik_config_reloads_total ": 0}
	for level, own := range map[string]string{
		"entrypoint": "entrypoint=web",
		"router":     "router=shop@file,service=goods@file", "service": "service=goods@file",
	} {
		labels := "code=200,method=GET,protocol=http," + own
		if level == "entrypoint" {
			labels = "code=200," + own + ",method=GET,protocol=http"
		}
		want["traefik_"+level+"_requests_total "+labels+",tenant=blue"] = 2
		want["traefik_"+level+"_requests_total "+labels+",tenant=red"] = 1
		want["traefik_"+level+"_requests_bytes_total "+labels] = 6
		want["traefik_"+level+"_responses_bytes_total "+labels] = 0
		want["traefik_"+level+"_requests_tls_total "+own+",tls_cipher=TLS_AES_128_GCM_SHA256,tls_version=1.3"] = 3
		points := pushed["traefik_"+level+"_request_duration_seconds"].Data.(metricdata.Histogram[float64]).DataPoints
		if len(points) != 1 || points[0].Count != 3 {
			t.Errorf("%s: durations %v", level, points)
		}
	}
	if diff := cmp.Diff(want, sums); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// manyRouters returns metrics of 1000 routers with a service each, all of which have had requests.
func manyRouters() *metrics.Metrics {
	c := config()
	c.AddRoutersLabels = true
	m := metrics.New(metrics.Options{Pushed: View(c)})
	for i := range 1000 {
		name := fmt.Sprintf("router-%05d@kubernetescrd", i)
		m.Entrypoint("web").Count(&metrics.Request{
			Method: "GET", Protocol: "http", Status: 200, Duration: time.Duration(i) * time.Microsecond,
			Router: m.Router(name, name), Service: m.Service(name),
		})
	}
	return m
}

func BenchmarkProduceOf1000Routers(b *testing.B) {
	p := newProducer(manyRouters().Pushed())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Produce(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
