package metrics

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestServedRequestsAreDistinguished demands that entrypoints together count by method, scheme, version and code,
// of which clients cannot make as many as they like.
func TestServedRequestsAreDistinguished(t *testing.T) {
	options := Options{Pushed: &View{Buckets: []float64{1}}}
	metrics := New(options)
	secure := &tls.ConnectionState{}
	forwarded := func(scheme string) http.Header { return http.Header{"X-Forwarded-Proto": {scheme}} }
	for i, request := range []Request{
		{Method: "GET", Version: "HTTP/1.1", Status: 200},
		{
			Method: "GET", Version: "HTTP/1.1", Status: 200, Header: forwarded("http"),
			Duration: 3 * time.Second,
		},
		{Method: "GET", Version: "HTTP/1.1", Status: 200, Header: forwarded("gopher")},
		{Method: "GET", Version: "HTTP/2.0", Status: 200, TLS: secure},
		{Method: "GET", Version: "HTTP/2.0", Status: 200, Header: forwarded("https")},
		{Method: "GET", Version: "HTTP/1.0", Status: 101, Header: forwarded("wss"), TLS: secure},
		{Method: "GET", Version: "HTTP/1.1", Status: 101, Header: forwarded("ws")},
		{Method: "TRACE", Version: "HTTP/3.0", Status: 599, TLS: secure},
		{Method: "BREW", Version: "HTTP/7.0", Status: 700},
		{Method: "TEA", Version: "", Status: -1},
	} {
		metrics.Entrypoint([]string{"web", "other"}[i%2]).Count(&request)
	}
	got := map[string]string{}
	for _, metric := range gathered(t, metrics.Pushed())[ServedDuration].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		var words []string
		for _, name := range []string{
			"http.request.method", "url.scheme", "network.protocol.version",
			"http.response.status_code", "error.type",
		} {
			words = append(words, labels[name])
		}
		h := metric.GetHistogram()
		got[strings.Join(words, " ")] = fmt.Sprint(h.GetSampleCount(), h.GetSampleSum(),
			h.GetBucket()[0].GetCumulativeCount())
	}
	want := map[string]string{
		"GET http 1.1 200 ": "3 3 2", "GET https 2 200 ": "2 0 2", "GET wss 1.0 101 ": "1 0 1", "GET ws 1.1 101 ": "1 0 1",
		"TRACE https 3 599 599": "1 0 1", "_OTHER http   _OTHER": "2 0 2",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLabelsAreKeptOnlyForPush demands that no labels are kept that are not exported, and that keeping
// apart allocates nothing.
func TestLabelsAreKeptOnlyForPush(t *testing.T) {
	if New(everything()).Entrypoint("web").served != nil {
		t.Error("requests are distinguished although nothing is pushed")
	}
	options := everything()
	options.Pushed = &View{}
	web, request := New(options).Entrypoint("web"), &Request{Method: "GET", Version: "HTTP/1.1", Status: 200}
	web.Count(request)
	if allocations := testing.AllocsPerRun(100, func() { web.Count(request) }); allocations != 0 {
		t.Errorf("%v allocations, want 0", allocations)
	}
}

// TestNamesDoNotBreakThePush demands that labels with odd names are pushed as they are shown.
func TestNamesDoNotBreakThePush(t *testing.T) {
	options := everything()
	options.HeaderLabels = map[string]string{"tenant": "X-Tenant", "a_side": "X-Side"}
	options.Pushed = &View{Buckets: []float64{.2, 7}, Routers: true}
	metrics := busy(t, options)
	names := []string{"a\"b\\c\nd@file", "\xff@file", strings.Repeat("long", 100)}
	for _, name := range names {
		metrics.Entrypoint("web").Count(&Request{
			Method: "POST", Protocol: "websocket", Status: 200,
			Header: http.Header{"X-Tenant": {name}},
			Router: metrics.Router(name, "goods@file"),
		})
	}
	var got []string
	for _, metric := range gathered(t, metrics.Pushed())["traefik_router_request_duration_seconds"].GetMetric() {
		h := metric.GetHistogram()
		if len(h.GetBucket()) != 2 || h.Schema != nil {
			t.Errorf("the histogram is %v", h)
		}
		for _, label := range metric.GetLabel() {
			if label.GetName() == "router" {
				got = append(got, label.GetValue())
			}
		}
	}
	slices.Sort(got)
	want := []string{"a\"b\\c\nd@file", strings.Repeat("long", 100), "shop@file", "\uFFFD@file"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
