package telemetry

import (
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// pushed compares pushed metrics with the requests so far.
func (o observed) pushed(t *testing.T) func(*testing.T) {
	client := o.client(t, harness.H1, "counted.test")
	const requests = 5
	for range requests {
		client.Get("/")
	}
	return func(t *testing.T) { o.arrivedMetrics(t, requests) }
}

func (o observed) arrivedMetrics(t *testing.T, requests float64) {
	t.Helper()
	harness.Until(t, "requests are in the metrics that are pushed", func() bool {
		return o.total("traefik_service_requests_total", "counted@file") == requests
	})
	h := o.collector.metric("traefik_entrypoint_request_duration_seconds").GetHistogram()
	if len(h.GetDataPoints()) == 0 || len(h.GetDataPoints()[0].GetExplicitBounds()) != 14 ||
		h.GetDataPoints()[0].GetSum() <= 0 {
		t.Errorf("durations: %v", h)
	}
	if o.collector.metric("traefik_open_connections").GetGauge() == nil ||
		o.collector.metric("traefik_router_requests_total").GetSum() == nil {
		t.Error("open connections or routers are missing")
	}
	o.arrivedConventions(t, requests)
	for _, signal := range []string{"metrics", "traces"} {
		if !o.collector.named(signal, "edge") {
			t.Errorf("%s do not come from edge", signal)
		}
	}
}

// arrivedConventions looks for the durations as OpenTelemetry's semantic conventions name them.
func (o observed) arrivedConventions(t *testing.T, requests float64) {
	t.Helper()
	metric := o.collector.metric("http.server.request.duration")
	var most uint64
	for _, point := range metric.GetHistogram().GetDataPoints() {
		got := values(point.GetAttributes())
		if got["http.request.method"] == "GET" && got["http.response.status_code"] == "200" && got["url.scheme"] == "http" &&
			got["network.protocol.version"] == "1.1" {
			most = point.GetCount()
		}
		if _, named := got["server.address"]; named || got["network.protocol.name"] != "http" ||
			len(point.GetExplicitBounds()) != 14 {
			t.Errorf("a point is %v", point)
		}
	}
	if float64(most) < requests || metric.GetUnit() != "s" {
		t.Errorf("%d requests in %q, want at least %v", most, metric.GetUnit(), requests)
	}
}

// total sums up a counter of a service.
func (o observed) total(metric, service string) float64 {
	sum := 0.0
	for _, point := range o.collector.metric(metric).GetSum().GetDataPoints() {
		if values(point.GetAttributes())["service"] == service {
			sum += point.GetAsDouble()
		}
	}
	return sum
}

// access looks for the line of a request that was traced before.
func (o observed) access(t *testing.T) func(*testing.T) {
	client := o.client(t, harness.H1, "shop.test")
	id, _ := o.sampled(t, client, with(client.Request(http.MethodGet, "/line", nil), "X-Request-Id: the-line"), 500)
	return func(t *testing.T) { o.arrivedLine(t, id) }
}

func (o observed) arrivedLine(t *testing.T, id string) {
	t.Helper()
	var got map[string]string
	harness.Until(t, "the line arrives", func() bool {
		for _, record := range o.collector.logged("access") {
			got = values(record.GetAttributes())
			if got["RequestId"] != "the-line" {
				continue
			}
			var body map[string]any
			if err := json.Unmarshal([]byte(record.GetBody().GetStringValue()), &body); err != nil ||
				body["RequestPath"] != "/line" {
				t.Errorf("the body is %s: %v", record.GetBody().GetStringValue(), err)
			}
			if hex.EncodeToString(record.GetTraceId()) != id || len(record.GetSpanId()) != 8 || record.GetTimeUnixNano() == 0 {
				t.Errorf("the record is %v", record)
			}
			return true
		}
		return false
	})
	if got["RouterName"] != "shop@file" || got["DownstreamStatus"] != "200" || got["trace_id"] != id {
		t.Errorf("attributes %v", got)
	}
	if strings.Contains(o.sluice.Log.String(), "the-line") {
		t.Error("the line is on standard output, too")
	}
}

// own looks for Sluice's own lines, from the first to the last.
func (o observed) own(t *testing.T) {
	records := map[string]map[string]string{}
	for _, record := range o.collector.logged("own") {
		records[record.GetBody().GetStringValue()] = values(record.GetAttributes())
		if record.GetSeverityText() == "" || record.GetTimeUnixNano() == 0 {
			t.Errorf("a line says too little: %v", record)
		}
	}
	for message, subsystem := range map[string]string{
		"listening": "main", "request failed": "requests",
		"stopping: entrypoints drain": "main",
	} {
		if records[message]["subsystem"] != subsystem {
			t.Errorf("%q comes from %q, want %q", message, records[message]["subsystem"], subsystem)
		}
	}
}
