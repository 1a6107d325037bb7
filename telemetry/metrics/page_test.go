package metrics

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestPageIsWellFormed demands that Prometheus' own parser reads the page with everything on it, and its linter
// has nothing to say.
func TestPageIsWellFormed(t *testing.T) {
	metrics := busy(t, everything())
	problems, err := testutil.GatherAndLint(metrics.page)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(scrape(t, metrics)))
	if err != nil {
		t.Fatal(err)
	}
	for family, labels := range traefikFamilies() {
		for _, metric := range families[family].GetMetric() {
			var names []string
			for _, label := range metric.GetLabel() {
				names = append(names, label.GetName())
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != labels {
				t.Errorf("%s has the labels %s, want %s", family, got, labels)
			}
		}
		if len(families[family].GetMetric()) == 0 {
			t.Errorf("the page lacks %s", family)
		}
	}
}

// traefikFamilies are Traefik's metrics of requests, with the labels of each.
func traefikFamilies() map[string]string {
	families := map[string]string{
		"traefik_config_reloads_total": "", "traefik_config_last_reload_success": "",
		"traefik_open_connections":  "entrypoint protocol",
		"traefik_service_server_up": "service url", "traefik_service_retries_total": "service",
		"traefik_tls_certs_not_after": "cn sans serial",
	}
	for level, own := range map[string]string{
		"entrypoint": "code entrypoint method protocol", "router": "code method protocol router service",
		"service": "code method protocol service",
	} {
		for _, metric := range []string{
			"requests_total", "request_duration_seconds", "requests_bytes_total",
			"responses_bytes_total",
		} {
			families["traefik_"+level+"_"+metric] = own
		}
		families["traefik_"+level+"_requests_tls_total"] = strings.TrimPrefix(strings.ReplaceAll(own, "code ", ""),
			"method protocol ") + " tls_cipher tls_version"
	}
	families["traefik_entrypoint_requests_tls_total"] = "entrypoint tls_cipher tls_version"
	return families
}

// busy returns metrics in which something of each kind was counted.
func busy(t *testing.T, options Options) *Metrics {
	t.Helper()
	metrics := New(options)
	_, request := counted(nil)
	request.Router, request.Service = metrics.Router("shop@file", "goods@file"), metrics.Service("goods@file")
	for i := range 20 {
		request.Duration = time.Millisecond << i
		metrics.Entrypoint("web").Count(request)
	}
	metrics.Entrypoint("web").Opened()
	metrics.Entrypoint("web").CountStream(stream())
	metrics.Entrypoint("dns").CountStream(&Stream{Datagrams: true, Router: "dns@file", Service: "dns@file", End: "idle"})
	metrics.Register(DatagramServers(func() []DatagramServer {
		return []DatagramServer{{EntryPoint: "dns", Sessions: 1, Dropped: map[string]uint64{"no_route": 1}}}
	})...)
	metrics.Register(Balance(slices.Values([]BalanceCounts{{
		Protocol: "http", Service: "goods@file",
		Counts: map[string]uint64{"retries": 2},
	}})))
	metrics.Register(Servers(slices.Values([]ServerStatus{{Service: "goods@file", URL: "http://127.0.0.1:80", Up: true}})))
	metrics.Register(Certificates(slices.Values(certificates())))
	metrics.Register(Dropped("access_log", func() uint64 { return 4 }))
	metrics.Reloaded(Reload{Generation: 1, Lags: map[string]time.Duration{"file": time.Millisecond}})
	return metrics
}

// TestNativeHistogramsTravelInProtobuf sends the request of a Prometheus server that accepts native histograms.
func TestNativeHistogramsTravelInProtobuf(t *testing.T) {
	metrics := busy(t, everything())
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	recorder := httptest.NewRecorder()
	metrics.Handler().ServeHTTP(recorder, request)
	decoder := expfmt.NewDecoder(recorder.Body, expfmt.ResponseFormat(recorder.Header()))
	found := 0
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); err != nil {
			break
		}
		if !strings.HasSuffix(family.GetName(), "_request_duration_seconds") {
			continue
		}
		found++
		h := family.GetMetric()[0].GetHistogram()
		if h.GetSchema() != 3 || len(h.GetPositiveSpan()) == 0 || len(h.GetBucket()) != 4 || h.GetSampleCount() != 20 {
			t.Errorf("%s: schema %d, spans %v, %d classic buckets, count %d", family.GetName(), h.GetSchema(),
				h.GetPositiveSpan(), len(h.GetBucket()), h.GetSampleCount())
		}
	}
	if found != 3 {
		t.Errorf("%d histograms of requests, want 3", found)
	}
}

// TestOptionsDecideWhatIsShown demands that all is counted, whatever the options say, and only shown where they do.
func TestOptionsDecideWhatIsShown(t *testing.T) {
	for shown, options := range map[string]Options{
		"entrypoint": {EntryPoints: true}, "router": {Routers: true}, "service": {Services: true},
	} {
		metrics := busy(t, options)
		page := scrape(t, metrics)
		for _, level := range []string{"entrypoint", "router", "service"} {
			if got := strings.Contains(page, "traefik_"+level+"_requests_total{"); got != (level == shown) {
				t.Errorf("with %s shown, the metrics of %s are shown: %v", shown, level, got)
			}
		}
		if traffic := metrics.Traffic(TrafficRouters, nil); len(traffic) != 1 || traffic[0].Requests != 20 {
			t.Errorf("with %s shown, the dashboard sees %v", shown, traffic)
		}
	}
}

// TestBothReadersHaveTheirOwnBuckets demands exact counts in the buckets of the page and in those of what is pushed.
func TestBothReadersHaveTheirOwnBuckets(t *testing.T) {
	options := Options{
		Buckets: []float64{.3, 1.2}, EntryPoints: true, Pushed: &View{Buckets: []float64{.1, .3, 2}, Routers: true},
	}
	metrics := busy(t, options)
	for want, histogram := range map[string]*dto.Histogram{
		"0.3:9 1.2:11 ": gathered(t,
			metrics.page)["traefik_entrypoint_request_duration_seconds"].GetMetric()[0].GetHistogram(),
		"0.1:7 0.3:9 2:11 ": gathered(t,
			metrics.Pushed())["traefik_router_request_duration_seconds"].GetMetric()[0].GetHistogram(),
	} {
		got := ""
		for _, bucket := range histogram.GetBucket() {
			got += fmt.Sprintf("%v:%d ", bucket.GetUpperBound(), bucket.GetCumulativeCount())
		}
		if got != want {
			t.Errorf("buckets %s, want %s", got, want)
		}
	}
	if gathered(t, metrics.Pushed())["traefik_entrypoint_requests_total"] != nil {
		t.Error("the metrics of entrypoints are pushed")
	}
	if New(Options{}).Pushed() != nil {
		t.Error("metrics are pushed without the option")
	}
}

func TestHeaderLabelsAreBounded(t *testing.T) {
	options := Options{EntryPoints: true, HeaderLabels: map[string]string{
		"tenant": "x-tenant",
		"token":  "Authorization",
	}}
	metrics := New(options)
	send := func(tenant, token string) {
		metrics.Entrypoint("web").Count(&Request{
			Method: "GET", Protocol: "http", Status: 200,
			Header: http.Header{"X-Tenant": {tenant}, "Authorization": {token}},
		})
	}
	send("blue", "Bearer secret")
	send("blue", "Bearer secret")
	send("b\xffd\n\"quote", "")
	send(strings.Repeat("x", 1000), "")
	for i := range 2 * combinationLimit {
		send(fmt.Sprint("tenant-", i), "")
	}
	page := scrape(t, metrics)
	const line = `traefik_entrypoint_requests_total{code="200",entrypoint="web",method="GET",protocol="http",tenant="%s",token="%s"} %d`
	demand(t, page, fmt.Sprintf(line, "blue", "redacted", 2), fmt.Sprintf(line, "b\uFFFDd \\\"quote", "", 1),
		fmt.Sprintf(line, strings.Repeat("x", labelLimit), "", 1), fmt.Sprintf(line, "other", "other", combinationLimit+3))
	if strings.Contains(page, "secret") {
		t.Error("a token is shown")
	}
	if lines := strings.Count(page, "traefik_entrypoint_requests_total{"); lines != combinationLimit+1 {
		t.Errorf("%d combinations, want %d", lines, combinationLimit+1)
	}
	if !strings.Contains(page,
		`traefik_entrypoint_request_duration_seconds_count{code="200",entrypoint="web",method="GET",protocol="http"} 258`) {
		t.Error("durations are distinguished by headers")
	}
}

// TestCombinationsAreDistinguishedByWhatIsShown demands that no two lines have the same labels, whatever clients send.
func TestCombinationsAreDistinguishedByWhatIsShown(t *testing.T) {
	metrics := New(Options{EntryPoints: true, HeaderLabels: map[string]string{
		"tenant": "x-tenant",
		"token":  "Authorization",
	}})
	for _, sent := range [][2]string{
		{"a\xff", "Bearer one"},
		{"a\xfe", "Bearer two"},
		{"a\uFFFD", "Basic three"},
		{"other", "other"},
		{"", ""},
		{"", ""},
		{strings.Repeat("x", labelLimit-1) + "\u00fc", ""},
		{strings.Repeat("x", labelLimit-1) + "\u00c9", ""},
	} {
		metrics.Entrypoint("web").Count(&Request{
			Method: "GET", Status: 200,
			Header: http.Header{"X-Tenant": {sent[0]}, "Authorization": {sent[1]}},
		})
	}
	const line = `traefik_entrypoint_requests_total{code="200",entrypoint="web",method="GET",protocol="http",tenant="%s",token="%s"} %d`
	page := scrape(t, metrics)
	demand(t, page, fmt.Sprintf(line, "a\uFFFD", "redacted", 3), fmt.Sprintf(line, "other", "redacted", 1),
		fmt.Sprintf(line, "", "", 2),
		fmt.Sprintf(line, strings.Repeat("x", labelLimit-1)+"\uFFFD", "", 2))
	if lines := strings.Count(page, "traefik_entrypoint_requests_total{"); lines != 4 {
		t.Errorf("%d lines, want 4", lines)
	}
	metrics = New(Options{EntryPoints: true, HeaderLabels: map[string]string{"tenant": "x-tenant"}})
	for i := range 2 * combinationLimit {
		for _, tenant := range []string{"other", fmt.Sprint(i)} {
			metrics.Entrypoint("web").Count(&Request{
				Method: "GET", Status: 200, Header: http.Header{"X-Tenant": {tenant}},
			})
		}
	}
	if lines := strings.Count(scrape(t, metrics), `tenant="other"`); lines != 1 {
		t.Errorf("%d lines of other tenants, want 1", lines)
	}
}

// FuzzNamesNeverBreakThePage demands that a page can be read whatever names there are.
func FuzzNamesNeverBreakThePage(f *testing.F) {
	f.Add("shop@file", "goods@file", "blue")
	f.Add("a\"b\\c\nd", "\xff\xfe", "\u2028")
	f.Add("", "", "")
	f.Fuzz(func(t *testing.T, router, service, header string) {
		options := everything()
		options.HeaderLabels = map[string]string{"tenant": "X-Tenant"}
		metrics := New(options)
		metrics.Entrypoint("web").Count(&Request{
			Method: header, Protocol: service, Status: len(router),
			Header: http.Header{"X-Tenant": {header}},
			Router: metrics.Router(router, service), Service: metrics.Service(service),
		})
		metrics.Register(Servers(slices.Values([]ServerStatus{
			{Service: service, URL: router},
			{Service: service, URL: router, Up: true},
		})))
		metrics.Register(Balance(slices.Values([]BalanceCounts{{Service: service, Counts: map[string]uint64{"retries": 1}}})))
		metrics.Register(Middlewares(slices.Values([]MiddlewareCounts{{
			Middleware: router,
			Levels:     map[string]int64{"sources": 1},
		}})))
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(scrape(t, metrics)))
		if err != nil {
			t.Fatal(err)
		}
		for _, label := range families["traefik_router_requests_total"].GetMetric()[0].GetLabel() {
			want := map[string]string{"router": text(router), "service": text(service)}
			if value, ok := want[label.GetName()]; ok && label.GetValue() != value {
				t.Errorf("%s is %q, want %q", label.GetName(), label.GetValue(), value)
			}
		}
		if problems, err := testutil.GatherAndLint(metrics.page); err != nil || len(problems) > 0 {
			t.Error(problems, err)
		}
	})
}

// TestOptionsAreValidated demands an error that names the option.
func TestOptionsAreValidated(t *testing.T) {
	for want, options := range map[string]Options{
		"buckets":            {Buckets: []float64{1, 1}},
		"explicitBoundaries": {Pushed: &View{Buckets: []float64{2, 1}}},
		`"code"`:             {HeaderLabels: map[string]string{"code": "X-Code"}},
		`"a-b"`:              {HeaderLabels: map[string]string{"a-b": "X-Code"}},
		`"1st"`:              {HeaderLabels: map[string]string{"1st": "X-Code"}},
		`"__name__"`:         {HeaderLabels: map[string]string{"__name__": "X-Code"}},
		`""`:                 {HeaderLabels: map[string]string{"": "X-Code"}},
	} {
		if err := options.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", slices.Collect(maps.Keys(options.HeaderLabels)), err)
		}
	}
	good := everything()
	good.HeaderLabels = map[string]string{"user_agent2": "User-Agent"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}
